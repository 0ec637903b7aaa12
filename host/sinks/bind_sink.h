// Collects the conditions that bind() states: copies and checks each, and keeps the first refusal.
#pragma once

#include <cstdint>
#include <string>

#include "cardcage/module.h"
#include "host/model/module_claim.h"
#include "host/sinks/sink_guard.h"

namespace cardcage {

// [module thread] between open() and finish(); its C function refuses other threads and other times.
class BindSink : public SinkGuard {
 public:
  explicit BindSink(const std::string& module);

  // Opens the sink for a claim of `allocations` devices.
  cage_bind_sink* open(std::size_t allocations);
  // The collected conditions, or the first refusal even if the module ignored it.
  Result<BindProgress> finish();

 private:
  Status add(std::int32_t allocation, const cage_condition* given);

  cage_bind_sink table_{};
  BindProgress collected_;
};

}  // namespace cardcage
