#include "host/sinks/id_sink.h"

#include <algorithm>

#include "host/sinks/borrowed.h"

namespace cardcage {

IdSink::IdSink(const std::string& module) : SinkGuard(module, "cage_id_sink") {
  table_.struct_size = sizeof table_;
  table_.host_data = this;
  table_.id = call<&IdSink::add>;
}

cage_id_sink* IdSink::open(const std::vector<std::string>& available, std::size_t most) {
  free_ = std::unordered_set<std::string_view>(available.begin(), available.end());
  most_ = most;
  chosen_.clear();
  SinkGuard::open();
  return &table_;
}

Result<std::vector<std::string>> IdSink::finish() {
  close();
  free_.clear();
  if (refusal()) return std::unexpected(*refusal());
  return std::move(chosen_);
}

Status IdSink::add(cage_str id) {
  auto copy = ruled_text(id, is_device_id, "device id", "1 to 253 printable ASCII characters without spaces");
  if (!copy) return std::unexpected(copy.error());
  if (free_.erase(*copy) == 0) {
    const bool twice = std::ranges::find(chosen_, *copy) != chosen_.end();
    return fail(Code::kInvalidArgument, "device '{}' is {}", *copy, twice ? "chosen twice" : "not available");
  }
  if (chosen_.size() == most_) return fail(Code::kInvalidArgument, "more than {} devices are chosen", most_);
  chosen_.push_back(std::move(*copy));
  return {};
}

}  // namespace cardcage
