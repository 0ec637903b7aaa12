#include "modules/fpga/fences.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "modules/common/kernel_files.h"

namespace cardcage::fpga {
namespace {

namespace fs = std::filesystem;

// "CARD_PART", or "CARD" for a card as a whole. Ids have no '_' and may have '/'.
std::string name_of(const Identity& device) {
  std::string name = device.card;
  if (device.id != device.card) name += "_" + device.id;
  std::ranges::replace(name, '/', '-');
  return name;
}

std::string card_in(const std::string& name) { return name.substr(0, name.find('_')); }

Fence fence_in(const fs::path& file) {
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::size_t end = std::min(text.find('\n'), text.size());
  return {.why = text.substr(0, end), .owed = decode_duties(std::string_view(text).substr(end))};
}

}  // namespace

void Fences::add(const Identity& device, const Fence& fence) const {
  std::string why = fence.why;
  std::ranges::replace(why, '\n', ' ');
  std::error_code error;
  fs::create_directories(folder_, error);
  const fs::path file = folder_ / name_of(device), unfinished = folder_ / ("." + name_of(device));
  if (std::ofstream(unfinished) << why << "\n" << encode(fence.owed) << std::flush) {
    fs::rename(unfinished, file, error);
    if (!error) return;
  }
  throw cage::Error(CAGE_FAILED_PRECONDITION, "device '" + device.id + "' cannot be marked in " + folder_.native() +
                                                  ": " + (error ? error.message() : std::strerror(errno)) +
                                                  "; make the folder writable, or change the module's option fences");
}

void Fences::remove(const Identity& device) const {
  for (const std::string& name : files_of(device)) {
    if (device.kind != "card" && name != name_of(device)) continue;
    std::error_code error;
    fs::remove(folder_ / name, error);
    if (error)
      throw cage::Error(CAGE_INTERNAL, "the mark of device '" + device.id + "' cannot be removed from " +
                                           folder_.native() + ": " + error.message() + "; remove it by hand");
  }
}

std::optional<Fence> Fences::find(const Identity& device) const {
  const auto files = files_of(device);
  if (files.empty()) return std::nullopt;
  Fence fence;
  for (const std::string& name : files) {
    Fence one = fence_in(folder_ / name);
    if (fence.why.empty()) fence.why = std::move(one.why);
    fence.owed = merge(std::move(fence.owed), one.owed);
  }
  return fence;
}

Duties Fences::owed() const {
  Duties all;
  for (const std::string& name : hardware::names_in(folder_))
    if (!name.starts_with('.')) all = merge(std::move(all), fence_in(folder_ / name).owed);
  return all;
}

std::vector<std::string> Fences::cards() const {
  std::vector<std::string> cards;
  for (const std::string& name : hardware::names_in(folder_))
    if (!name.starts_with('.')) cards.push_back(card_in(name));
  return cards;
}

std::vector<std::string> Fences::files_of(const Identity& device) const {
  std::vector<std::string> files = hardware::names_in(folder_);
  std::erase_if(files, [&](const std::string& name) {
    const bool is_part = device.kind == "card" && card_in(name) == device.card;
    return name != name_of(device) && name != device.card && !is_part;
  });
  return files;
}

}  // namespace cardcage::fpga
