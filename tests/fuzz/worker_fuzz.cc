// No bytes from a worker crash the daemon, and what arrives does not depend on the size of the pieces.
//   build/fuzz/bin/worker_fuzz -max_len=4096 CORPUS
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "host/wire/calls.h"
#include "host/wire/frame.h"

namespace {

using namespace cardcage;

std::vector<std::string> reports(std::span<const char> bytes, std::size_t piece) {
  FrameReader reader;
  std::vector<std::string> all;
  while (!bytes.empty()) {
    const auto next = bytes.first(std::min(piece, bytes.size()));
    bytes = bytes.subspan(next.size());
    reader.append(next);
    for (wire::Report report;;) {
      const auto read = reader.next(report);
      if (!read) return all;
      if (!*read) break;
      all.push_back(report.SerializeAsString());
    }
  }
  return all;
}

void use(const wire::Report& report) {
  if (report.has_health())
    if (const auto timeout = read(report.health()).timeout;
        timeout < std::chrono::seconds(0) || timeout > std::chrono::days(1))
      std::abort();
  if (!report.has_answer()) return;
  if (report.answer().has_identity()) (void)read(report.answer().identity());
  for (const auto request :
       {wire::Request::kDiscover, wire::Request::kChoose, wire::Request::kPrepare, wire::Request::kCollectCatalogue})
    if (const auto reply = ReplyReader(request, 1).finish(report.answer()); !reply && reply.error().message.empty())
      std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span<const char> input(reinterpret_cast<const char*>(bytes), size);
  const auto whole = reports(input, size + 1);
  if (whole != reports(input, 3)) std::abort();
  for (const std::string& bytes_of_one : whole)
    if (wire::Report report; report.ParseFromString(bytes_of_one)) use(report);
  return 0;
}
