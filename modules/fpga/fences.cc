#include "modules/fpga/fences.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "modules/common/kernel_files.h"

namespace cardcage::fpga {

namespace fs = std::filesystem;

// The id of the device, which has no '_', with that in place of '/'.
fs::path Fences::file_of(const std::string& device) const {
  std::string name = device;
  std::ranges::replace(name, '/', '_');
  return folder_ / name;
}

void Fences::add(const std::string& device, const std::string& why) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  std::ofstream file(file_of(device));
  if (file << why << std::flush) return;
  throw cage::Error(CAGE_FAILED_PRECONDITION, "device '" + device + "' cannot be marked in " + folder_.native() + ": " +
                                                  (error ? error.message() : std::strerror(errno)) +
                                                  "; make the folder writable, or change the module's option fences");
}

void Fences::remove(const Identity& device) const {
  for (const std::string& name : files_of(device)) {
    if (device.kind != "card" && folder_ / name != file_of(device.id)) continue;
    std::error_code error;
    fs::remove(folder_ / name, error);
    if (error)
      throw cage::Error(CAGE_INTERNAL, "the mark of device '" + device.id + "' cannot be removed from " +
                                           folder_.native() + ": " + error.message());
  }
}

std::optional<std::string> Fences::find(const Identity& device) const {
  const auto files = files_of(device);
  return files.empty() ? std::nullopt : std::optional(hardware::text_in(folder_ / files.front()));
}

std::vector<std::string> Fences::files_of(const Identity& device) const {
  std::vector<std::string> files = hardware::names_in(folder_);
  std::erase_if(files, [&](const std::string& name) {
    const bool is_part = device.kind == "card" && name.substr(0, name.find('_')) == device.card;
    return folder_ / name != file_of(device.id) && name != device.card && !is_part;
  });
  return files;
}

}  // namespace cardcage::fpga
