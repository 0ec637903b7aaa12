// No request to the admin socket crashes the daemon, and every number read from one is within its bounds.
//   build/fuzz/bin/admin_fuzz -max_len=256 CORPUS
#include <cstdint>
#include <cstdlib>

#include "host/admin/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace cardcage;
  if (admin::v1::ModuleCommandRequest request; request.ParseFromArray(bytes, static_cast<int>(size))) {
    const ModuleCommand command = module_command(ModuleVerb::kQuiesce, request);
    if (command.limit <= Duration::zero() || command.limit > std::chrono::minutes(10)) std::abort();
  }
  if (admin::v1::ListHistoryRequest request; request.ParseFromArray(bytes, static_cast<int>(size))) {
    const HistoryQuery query = history_query(request);
    if (query.limit <= 0 || query.limit > 10'000 || query.since < WallTime()) std::abort();
  }
  return 0;
}
