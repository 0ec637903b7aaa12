#include "modules/nic/sysctls.h"

#include <fstream>
#include <initializer_list>
#include <sstream>

#include "modules/common/kernel_files.h"

namespace cardcage::nic {
namespace {

namespace fs = std::filesystem;

constexpr std::initializer_list<const char*> kFolders{"ipv4/conf", "ipv4/neigh", "ipv6/conf", "ipv6/neigh"};

// Left out, because this setting follows the MTU of the interface.
constexpr const char* kFollows = "mtu";

}  // namespace

std::vector<std::string> read_sysctls(const fs::path& procfs, const std::string& interface) {
  std::vector<std::string> settings;
  for (const char* folder : kFolders) {
    const fs::path all = procfs / "sys/net" / folder;
    for (const std::string& name : hardware::names_in(all / interface)) {
      const std::string value = hardware::text_in(all / interface / name);
      if (name != kFollows && !value.empty() && value != hardware::text_in(all / "default" / name))
        settings.push_back(std::string(folder) + ' ' + name + ' ' + value);
    }
  }
  return settings;
}

void write_sysctls(cage::Host host, const fs::path& procfs, const std::string& interface,
                   const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    std::istringstream words(setting);
    std::string folder, name, value;
    if (!(words >> folder >> name) || !std::getline(words >> std::ws, value)) continue;
    const fs::path file = procfs / "sys/net" / folder / interface / name;
    if (!(std::ofstream(file) << value << std::flush))
      host.warn() << "'" << file.native() << "' does not get its former value " << value << " back";
  }
}

}  // namespace cardcage::nic
