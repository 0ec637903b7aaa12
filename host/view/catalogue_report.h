// Asks modules for their catalogues when somebody wants to see them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/core/clock.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// How long a module may take.
constexpr std::chrono::seconds kCatalogueLimit{5};

struct CatalogueSource {
  std::string module;                        // in the configuration
  Result<std::shared_ptr<Module>> instance;  // or why none runs
};

// [core] Asks all of them at once and reports in their order.
Task<std::vector<CatalogueReport>> collect_catalogues(asio::io_context& core, Clock& clock,
                                                      std::vector<CatalogueSource> sources);

}  // namespace cardcage
