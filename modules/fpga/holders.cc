#include "modules/fpga/holders.h"

#include <algorithm>
#include <cctype>

#include "modules/common/kernel_files.h"
#include "modules/fpga/bitstream/bitstream.h"

namespace cardcage::fpga {

namespace fs = std::filesystem;

static bool has_open(const fs::path& process, const fs::path& node) {
  std::error_code error;
  for (const auto& descriptor : fs::directory_iterator(process / "fd", error))
    if (fs::read_symlink(descriptor.path(), error) == node) return true;
  return false;
}

std::string holders_of(const fs::path& procfs, const fs::path& node) {
  constexpr int kMost = 3;
  std::string text;
  int count = 0;
  for (const std::string& pid : hardware::names_in(procfs)) {
    if (!std::ranges::all_of(pid, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    if (count == kMost || !has_open(procfs / pid, node)) continue;
    ++count;
    text += (text.empty() ? "process " : ", process ") + pid + " (" +
            printable(hardware::text_in(procfs / pid / "comm")) + ")";
  }
  return text;
}

}  // namespace cardcage::fpga
