#include "modules/fpga/holders.h"

#include "modules/common/kernel_files.h"
#include "modules/common/process.h"
#include "modules/fpga/bitstream/bitstream.h"

namespace cardcage::fpga {

namespace fs = std::filesystem;

std::string holders_of(const fs::path& procfs, const fs::path& node) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (const std::string& pid : hardware::pids_with_open(procfs, node, kMost))
    text += (text.empty() ? "process " : ", process ") + pid + " (" +
            printable(hardware::text_in(procfs / pid / "comm")) + ")";
  return text;
}

}  // namespace cardcage::fpga
