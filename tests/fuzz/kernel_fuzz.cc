// No bytes from the kernel crash the daemon, and modules get UTF-8.
//   build/fuzz/bin/kernel_fuzz -max_len=4096 CORPUS
#include <cstdint>
#include <cstdlib>

#include "host/core/utf8.h"
#include "host/events/kernel_record.h"

namespace {

void check(const std::string& text) {
  if (cardcage::cut_utf8(text, text.size()) != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto message = cardcage::read_kernel_record(text)) check(message->text);
  if (const auto event = cardcage::read_uevent(text, {})) check(event->text);
  return 0;
}
