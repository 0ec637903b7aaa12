// No bytes from an API server, a claim file or a kubeconfig crash the daemon, and a slice that was read is unchanged
// after it is written and read again.
//   build/fuzz/bin/apiserver_fuzz -max_len=8192 CORPUS tests/golden/apiserver
#include <cstdint>
#include <cstdlib>

#include "host/apiserver/claim_json.h"
#include "host/apiserver/slice_json.h"
#include "host/apiserver/watch_event.h"
#include "host/apiserver/yaml.h"

namespace {

using namespace cardcage;

void try_value(const json::value& value) {
  if (const auto claim = claim_from_json(value); !claim && claim.error().message.empty()) std::abort();
  const auto slice = slice_from_json(value);
  if (!slice) return;
  for (const auto version : {ResourceApi::kV1, ResourceApi::kV1beta2, ResourceApi::kV1beta1}) {
    const auto again = slice_from_json(slice_to_json(*slice, version));
    if (!again || again->devices != slice->devices || again->shared_counters != slice->shared_counters) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto value = parse_json(text, "input")) try_value(*value);
  if (const auto value = parse_yaml(text, "input")) try_value(*value);
  std::string version;
  (void)deliver_watched_object(text, version, [](bool, const json::object& object) { try_value(object); });
  return 0;
}
