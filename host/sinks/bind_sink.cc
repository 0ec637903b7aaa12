#include "host/sinks/bind_sink.h"

#include "host/sinks/statement_copy.h"

namespace cardcage {

BindSink::BindSink(const std::string& module) : SinkGuard(module, "cage_bind_sink") {
  table_.struct_size = sizeof table_;
  table_.host_data = this;
  table_.condition = call<&BindSink::add>;
}

cage_bind_sink* BindSink::open(std::size_t allocations) {
  collected_.assign(allocations, {});
  SinkGuard::open();
  return &table_;
}

Result<BindProgress> BindSink::finish() {
  close();
  if (refusal()) return std::unexpected(*refusal());
  return std::exchange(collected_, {});
}

Status BindSink::add(std::int32_t allocation, const cage_condition* given) {
  if (allocation < 0 || static_cast<std::size_t>(allocation) >= collected_.size())
    return fail(Code::kInvalidArgument, "there is no allocation {}: the claim has {}", allocation, collected_.size());
  auto condition = copy_condition(given);
  if (!condition) return std::unexpected(condition.error());
  return replace_condition(collected_[static_cast<std::size_t>(allocation)], std::move(*condition));
}

}  // namespace cardcage
