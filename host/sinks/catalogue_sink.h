// Collects the names that a module lets claims use: copies and checks each entry, and leaves out those that break a
// rule [R22].
#pragma once

#include <set>
#include <string>
#include <utility>

#include "cardcage/module.h"
#include "host/model/catalogue.h"
#include "host/sinks/sink_guard.h"

namespace cardcage {

// [module thread] between open() and finish(); its C function refuses other threads and other times.
class CatalogueSink : public SinkGuard {
 public:
  explicit CatalogueSink(const std::string& module);

  cage_catalogue_sink* open();
  Catalogue finish();

 private:
  Status add(const cage_catalogue_entry* given);
  Status keep(CatalogueEntry entry);

  cage_catalogue_sink table_{};
  Catalogue collected_;
  std::set<std::pair<std::string, std::string>> usable_;  // kinds and names
  std::size_t text_ = 0;
  bool full_ = false;
};

}  // namespace cardcage
