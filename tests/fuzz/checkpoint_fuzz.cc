// No bytes in the kubelet's checkpoint crash the daemon, and the result does not depend on the size of the pieces read.
//   build/fuzz/bin/checkpoint_fuzz -max_len=4096 CORPUS
#include <cstdint>
#include <cstdlib>

#include "host/pods/device_checkpoint.h"

namespace {

using namespace cardcage;

Result<CheckpointHolders> parse(std::string_view text, std::size_t piece) {
  static const std::set<ResourceDevice> wanted{{"r", "a"}, {"r", "b"}};
  CheckpointParser parser(wanted);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    if (const Status fed = parser.feed(text.substr(0, piece)); !fed) return std::unexpected(fed.error());
  return parser.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto whole = parse(text, size + 1);
  const auto pieces = parse(text, 3);
  if (whole.has_value() != pieces.has_value()) std::abort();
  if (!whole) {
    if (whole.error().message.empty() || whole.error().code != Code::kDataLoss) std::abort();
    return 0;
  }
  if (*whole != *pieces) std::abort();
  for (const auto& [device, pods] : *whole)
    if (device.resource != "r" || pods.empty() || pods.contains("")) std::abort();
  return 0;
}
