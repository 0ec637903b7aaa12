#include "modules/fpga/holders.h"

#include <algorithm>
#include <cctype>

#include "modules/common/kernel_files.h"
#include "modules/common/process.h"
#include "modules/fpga/bitstream/bitstream.h"

namespace cardcage::fpga {

namespace fs = std::filesystem;

std::string holders_of(const fs::path& procfs, const fs::path& node) {
  constexpr int kMost = 3;
  std::string text;
  int count = 0;
  for (const std::string& pid : hardware::names_in(procfs)) {
    if (!std::ranges::all_of(pid, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    std::error_code hidden;
    if (count == kMost || !hardware::has_open(procfs / pid, node, hidden)) continue;
    ++count;
    text += (text.empty() ? "process " : ", process ") + pid + " (" +
            printable(hardware::text_in(procfs / pid / "comm")) + ")";
  }
  return text;
}

}  // namespace cardcage::fpga
