// Collects the devices that choose() prefers: copies and checks each id, and keeps the first refusal.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "cardcage/module.h"
#include "host/core/result.h"
#include "host/sinks/sink_guard.h"

namespace cardcage {

// [module thread] between open() and finish(); its C function refuses other threads and other times.
class IdSink : public SinkGuard {
 public:
  explicit IdSink(const std::string& module);

  // Accepts at most `most` of `available`, each once. Borrows `available` until finish().
  cage_id_sink* open(const std::vector<std::string>& available, std::size_t most);
  // The ids in the module's order, or the first refusal even if the module ignored it.
  Result<std::vector<std::string>> finish();

 private:
  Status add(cage_str id);

  cage_id_sink table_{};
  std::unordered_set<std::string_view> free_;  // available and not chosen yet
  std::size_t most_ = 0;
  std::vector<std::string> chosen_;
};

}  // namespace cardcage
