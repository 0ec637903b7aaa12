// Collects the catalogues of modules on an operator's request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/core/clock.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// Time that a module may take.
constexpr std::chrono::seconds kCatalogueLimit{5};

struct CatalogueSource {
  std::string module;                        // name in the configuration
  Result<std::shared_ptr<Module>> instance;  // or the reason why none runs
};

// [core] Asks all modules at once and reports in their order.
Task<std::vector<CatalogueReport>> collect_catalogues(asio::io_context& core, Clock& clock,
                                                      std::vector<CatalogueSource> sources);

}  // namespace cardcage
