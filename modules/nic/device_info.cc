#include "modules/nic/device_info.h"

#include <algorithm>
#include <fstream>
#include <system_error>

#include "modules/common/pci_function.h"
#include "modules/nic/nic.h"

namespace cardcage::nic {
namespace {

namespace fs = std::filesystem;

std::string file_name(std::string_view text) {
  std::string name(text);
  std::ranges::replace(name, '/', '-');
  return name;
}

// `value` is a name or an address of the kernel, which needs no escapes.
std::string member(const char* name, const std::string& value) {
  return value.empty() ? std::string() : ",\"" + std::string(name) + "\":\"" + value + "\"";
}

}  // namespace

fs::path DeviceInfo::file_of(std::string_view resource, std::string_view device) const {
  return folder_ / "dp" / (file_name(resource) + "-" + file_name(device) + "-device.json");
}

void DeviceInfo::write(std::string_view resource, std::string_view device, const std::vector<fs::path>& rdma) const {
  const std::string bus_id = bus_id_of(device);
  std::error_code error;
  if (bus_id.empty() || resource.empty() || !fs::is_directory(folder_.parent_path(), error)) return;
  const fs::path file = file_of(resource, device);
  fs::create_directories(file.parent_path(), error);
  fs::path passing = file;
  passing += ".new";  // renamed at the end, so that readers see a whole file
  std::ofstream out(passing, std::ios::trunc);
  out << R"({"type":"pci","version":"1.1.0","pci":{"pci-address":")" << bus_id << '"'
      << member("rdma-device", rdma.empty() ? std::string() : rdma.front().filename().native())
      << member("pf-pci-address", hardware::physical_function_of(node_.sysfs, bus_id)) << "}}" << std::flush;
  if (out) {
    fs::permissions(passing, fs::perms(0444), error);
    fs::rename(passing, file, error);
  } else {
    error = std::make_error_code(std::errc::io_error);
  }
  std::error_code ignored;
  fs::remove(passing, ignored);
  if (error) host_.warn() << "the file '" << file.native() << "' for CNI plugins was not written: " << error.message();
}

void DeviceInfo::remove(std::string_view resource, std::string_view device) const {
  std::error_code error;
  if (!resource.empty()) fs::remove(file_of(resource, device), error);
  if (error) host_.warn() << "a file for CNI plugins was not removed: " << error.message();
}

}  // namespace cardcage::nic
