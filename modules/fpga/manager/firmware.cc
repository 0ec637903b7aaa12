#include "modules/fpga/manager/firmware.h"

#include <sys/utsname.h>

#include <climits>
#include <system_error>

#include "modules/common/kernel_files.h"
#include "modules/fpga/bitstream/bitstream.h"

namespace cardcage::fpga {

namespace fs = std::filesystem;

std::vector<fs::path> firmware_folders(const fs::path& sysfs) {
  std::vector<fs::path> folders;
  const std::string first = hardware::text_in(sysfs / "module/firmware_class/parameters/path");
  if (!first.empty()) folders.emplace_back(first);
  const fs::path all = "/lib/firmware";
  utsname kernel{};
  const std::string release = ::uname(&kernel) == 0 ? kernel.release : "";
  if (!release.empty()) folders.push_back(all / "updates" / release);
  folders.push_back(all / "updates");
  if (!release.empty()) folders.push_back(all / release);
  folders.push_back(all);
  return folders;
}

std::string firmware_name(const fs::path& file, const std::vector<fs::path>& folders) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(file, error);
  for (auto folder = folders.begin(); folder != folders.end(); ++folder) {
    const fs::path name = real.lexically_relative(fs::weakly_canonical(*folder, error));
    if (name.empty() || *name.begin() == "..") continue;
    for (auto earlier = folders.begin(); earlier != folder; ++earlier)
      if (fs::exists(*earlier / name, error))
        refuse("the kernel would load " + (*earlier / name).native() + " instead of " + file.native() +
               "; remove one of them");
    // The drivers that have the attribute `firmware` keep the name in NAME_MAX bytes.
    if (name.native().size() >= NAME_MAX) refuse("the name of " + file.native() + " is too long for the kernel");
    return name;
  }
  refuse("the kernel looks for bitstreams in /lib/firmware, and this one is " + file.native() +
         "; move the catalogue there, or add firmware_class.path=" + file.parent_path().native() +
         " to the kernel's command line");
}

}  // namespace cardcage::fpga
