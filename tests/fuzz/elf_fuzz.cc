// No file in modules_dir crashes the daemon while it is inspected, and each refusal has a reason.
//   build/fuzz/bin/elf_fuzz -max_len=65536 CORPUS build/fuzz/test-modules
#include <cstdint>
#include <cstdlib>

#include "host/loader/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto facts = cardcage::inspect_elf(std::as_bytes(std::span(bytes, size)));
  if (!facts && facts.error().message.empty()) std::abort();
  if (facts && !cardcage::check_entry(*facts) && cardcage::check_entry(*facts).error().message.empty()) std::abort();
  return 0;
}
