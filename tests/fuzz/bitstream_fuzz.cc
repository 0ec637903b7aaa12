// No bitstream, overlay or manifest crashes the module that reads the catalogue, each refusal has a printable reason,
// and accepted parts lie inside the file.
//   build/fuzz/bin/bitstream_fuzz -max_len=8192 CORPUS
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "modules/fpga/bitstream/bitstream.h"
#include "modules/fpga/bitstream/manifest.h"
#include "modules/fpga/bitstream/overlay.h"
#include "tests/fpga/memory_file.h"

namespace {

using namespace cardcage::fpga;

void must(bool holds) {
  if (!holds) std::abort();
}

bool is_uuid_or_empty(std::string_view text) { return text.empty() || text.size() == 32; }

template <class Read>
void expect_reason(Read&& read) {
  try {
    read();
  } catch (const cage::Error& error) {
    must(error.status() == CAGE_FAILED_PRECONDITION && *error.what() != '\0' && is_printable(error.what()));
  }
}

void read_bitstream(std::string_view bytes) {
  const Bitstream found = parse_bitstream(in_memory(bytes));
  must(found.data_size > 0 && found.data_start <= bytes.size() && found.data_size <= bytes.size() - found.data_start);
  must(is_uuid_or_empty(found.interface_id) && is_uuid_or_empty(found.function_id));
  must(found.platform.size() <= 64 && is_printable(found.platform));
  must(found.clock_high_mhz.value_or(1) <= 1200 && found.clock_low_mhz.value_or(1) <= 1200);
  must(found.watts.value_or(0) <= 60);
}

void read_manifest(std::string_view bytes) {
  const Manifest found = parse_manifest(bytes);
  must(found.sha256.size() == 64 && is_uuid_or_empty(found.interface_id) && is_uuid_or_empty(found.function_id));
  must(!found.file.empty() && found.file.find('/') == std::string::npos && found.file != "..");
  must(found.overlay.find('/') == std::string::npos && found.nodes.size() <= 16);
  for (const std::string& node : found.nodes) must(node.starts_with("/dev/") && node.find("/..") == std::string::npos);
}

}  // namespace

// The first byte chooses the reader.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  expect_reason([&] {
    if (data[0] % 3 == 0) read_bitstream(bytes);
    if (data[0] % 3 == 1) read_manifest(bytes);
    if (data[0] % 3 == 2) firmware_names(bytes);
  });
  return 0;
}
