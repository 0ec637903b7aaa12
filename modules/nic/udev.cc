#include "modules/nic/udev.h"

#include <sstream>

#include "modules/common/kernel_files.h"

namespace cardcage::nic {

// "I:" has the time at which udev was done with the interface. ID_RENAMING is set from before udev asks the kernel to
// rename it until udev has seen the new name.
bool Udev::has_named(std::uint64_t index) const {
  std::error_code error;
  if (!std::filesystem::exists(folder_ / "control", error)) return true;
  std::istringstream lines(hardware::text_in(folder_ / "data" / ("n" + std::to_string(index))));
  bool is_initialized = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("E:ID_RENAMING=")) return false;
    is_initialized = is_initialized || line.starts_with("I:");
  }
  return is_initialized;
}

void Udev::wait_for_name(const cage::Call& call, const Netdev& netdev) const {
  constexpr std::chrono::milliseconds kPause{20};
  if (!call.wait_for(limit_, kPause, [&] { return has_named(netdev.index); }))
    host_.warn() << "udev has not named interface '" << netdev.name << "' in " << limit_.count()
                 << " ms; if it does so later, the interface does not come back under that name";
}

}  // namespace cardcage::nic
