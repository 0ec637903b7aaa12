// No bytes from a container runtime crash the daemon, and what arrives does not depend on the size of the pieces.
//   build/fuzz/bin/nri_fuzz -max_len=4096 CORPUS
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "host/nri/multiplexer.h"
#include "host/nri/sandbox_message.h"
#include "host/nri/ttrpc_frame.h"
#include "ttrpc/ttrpc.pb.h"

namespace {

using namespace cardcage;

using Frames = std::map<Channel, std::vector<TtrpcFrame>>;

Frames frames(std::string_view bytes, std::size_t piece) {
  Demultiplexer demultiplexer;
  std::map<Channel, TtrpcReader> readers;
  Frames all;
  const Demultiplexer::Take take = [&](Channel channel, std::string_view part) -> Status {
    TtrpcReader& reader = readers[channel];
    reader.append(part);
    while (true) {
      auto frame = reader.next();
      if (!frame) return std::unexpected(frame.error());
      if (!*frame) return {};
      all[channel].push_back(std::move(**frame));
    }
  };
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    if (!demultiplexer.read(bytes.substr(0, piece), take)) break;
  return all;
}

void use(const api::nri::PodSandbox& message) {
  const auto sandbox = read_pod_sandbox(message);
  if (!sandbox || !*sandbox) return;
  const PodSandbox& pod = (*sandbox)->pod;
  if (pod.uid.empty() || pod.uid.contains('/') || pod.network_namespace.contains("..")) std::abort();
}

void use(const TtrpcFrame& frame) {
  TtrpcReader reader;
  reader.append(*encode_ttrpc_frame(frame));
  if (reader.next().value() != frame) std::abort();
  ttrpc::Request request;
  if (!request.ParseFromString(frame.message)) return;
  if (api::nri::StateChangeEvent event; event.ParseFromString(request.payload())) use(event.pod());
  if (api::nri::SynchronizeRequest told; told.ParseFromString(request.payload()))
    for (const auto& pod : told.pods()) use(pod);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  const Frames whole = frames(input, size + 1);
  if (whole != frames(input, 3)) std::abort();
  for (const auto& [channel, all] : whole)
    for (const TtrpcFrame& frame : all) use(frame);
  // The messages themselves, which the fuzzer would seldom reach behind two headers.
  TtrpcFrame frame;
  frame.message = input;
  use(frame);
  if (api::nri::PodSandbox pod; pod.ParseFromString(frame.message)) use(pod);
  return 0;
}
