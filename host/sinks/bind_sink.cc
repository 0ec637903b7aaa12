#include "host/sinks/bind_sink.h"

#include "host/sinks/statement_copy.h"

namespace cardcage {

BindSink::BindSink(const std::string& module) : guard_(module, "cage_bind_sink") {
  table_.struct_size = sizeof table_;
  table_.host_data = this;
  table_.condition = [](cage_bind_sink* table, std::int32_t allocation, const cage_condition* given) -> cage_status {
    BindSink& self = *static_cast<BindSink*>(table->host_data);
    return self.guard_.run([&] { return self.add(allocation, given); });
  };
}

cage_bind_sink* BindSink::open(std::size_t allocations) {
  collected_.assign(allocations, {});
  guard_.open();
  return &table_;
}

Result<BindProgress> BindSink::finish() {
  guard_.close();
  if (guard_.refusal()) return std::unexpected(*guard_.refusal());
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
