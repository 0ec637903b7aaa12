// No line in the file of claims in doubt and no row of the ledger crashes the daemon, and a record that was read is
// unchanged after it is written and read again.
//   build/fuzz/bin/ledger_fuzz -max_len=4096 CORPUS
#include <cstdint>
#include <cstdlib>

#include "host/ledger/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace cardcage;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto part = part_from_json(text); !part && part.error().code != Code::kDataLoss) std::abort();
  const auto record = record_from_json(text);
  if (!record) {
    if (record.error().code != Code::kDataLoss || record.error().message.empty()) std::abort();
    return 0;
  }
  const auto again = record_from_json(record_to_json(*record));
  if (!again || *again != *record) std::abort();
  return 0;
}
