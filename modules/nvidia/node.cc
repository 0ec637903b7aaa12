#include "modules/nvidia/node.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <tuple>

#include "modules/common/text.h"
#include "modules/nvidia/library_folders.h"
#include "modules/nvidia/shared_object.h"

namespace cardcage::nvidia {
namespace {

constexpr std::size_t kDomainDigits = 4;  // digits in a PCI address: 0000:3b:00.0

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // the kernel's limit

// Keeps the first libnvidia-ml.so.1 in `found`, unless a later one is the first that can be loaded.
bool look_for_nvml(const fs::path& root, const std::vector<fs::path>& folders, std::optional<fs::path>& found) {
  for (const fs::path& folder : folders) {
    const auto file = resolve(root, folder / "libnvidia-ml.so.1");
    std::error_code error;
    if (!file || !fs::is_regular_file(*file, error)) continue;
    const bool loadable = is_loadable(*file);
    if (loadable || !found) found = file;
    if (loadable) return true;
  }
  return false;
}

// The version at the start of `text`: digits and dots, beginning with a digit.
std::string_view leading_version(std::string_view text) {
  const auto end = text.find_first_not_of("0123456789.");
  return text.substr(0, end);
}

}  // namespace

std::optional<fs::path> resolve(const fs::path& root, const fs::path& inside) {
  fs::path left = inside.relative_path(), done;
  for (int links = 0; !left.empty();) {
    const fs::path part = *left.begin();
    left = left.lexically_relative(part);
    if (left == ".") left.clear();
    if (part == "..") {
      done = done.parent_path();
      continue;
    }
    std::error_code error;
    const fs::path here = root / done / part;
    const auto status = fs::symlink_status(here, error);
    if (!fs::exists(status)) return std::nullopt;
    if (!fs::is_symlink(status)) {
      done /= part;
      continue;
    }
    const fs::path target = fs::read_symlink(here, error);
    if (error || ++links > kMaxLinks) return std::nullopt;
    if (target.is_absolute()) done.clear();
    left = target.relative_path() / left;
  }
  return root / done;
}

std::optional<DriverFile> find_nvml(const fs::path& root) {
  std::optional<fs::path> found;
  // This runs often, and most nodes have it in one of the usual folders.
  std::ignore = look_for_nvml(root, usual_library_folders(), found) ||
                look_for_nvml(root, packaged_library_folders(root), found) ||
                look_for_nvml(root, cached_library_folders(root), found);
  if (!found) return std::nullopt;
  return DriverFile{*found, "/" / found->lexically_relative(root)};
}

std::string kernel_driver_version(const fs::path& procfs) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ..."; the open module has more words.
  std::ifstream file(procfs / "driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const bool is_version = word.find('.') != std::string::npos && leading_version(word).size() == word.size();
    if (is_version) return word;
  }
  return {};
}

std::string version_of_library(const fs::path& file) {
  const std::string name = file.filename().native();
  const auto at = name.find(".so.");
  if (at == std::string::npos) return {};
  std::string version = name.substr(at + 4);
  const bool is_version = leading_version(version).size() == version.size() && version.find('.') != std::string::npos;
  return is_version ? version : std::string();
}

Majors read_majors(const fs::path& procfs) {
  Majors majors;
  std::ifstream file(procfs / "devices");
  for (std::string line; std::getline(file, line) && !line.starts_with("Block");) {
    std::istringstream words(line);
    unsigned major = 0;
    std::string name;
    if (words >> major >> name) majors.try_emplace(name, major);
  }
  return majors;
}

std::vector<KernelGpu> read_kernel_gpus(const fs::path& procfs) {
  std::vector<KernelGpu> gpus;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(procfs / "driver/nvidia/gpus", error)) {
    KernelGpu gpu{.bus_id = normal_bus_id(entry.path().filename().native()), .uuid = {}, .model = {}};
    std::ifstream file(entry.path() / "information");
    std::optional<unsigned> minor;
    bool excluded = false;
    for (std::string line; std::getline(file, line);) {
      const auto colon = line.find(':');
      if (colon == std::string::npos) continue;
      const std::string_view key = hardware::trimmed(std::string_view(line).substr(0, colon));
      const std::string_view value = hardware::trimmed(std::string_view(line).substr(colon + 1));
      if (key == "GPU UUID" && value.find('?') == std::string_view::npos) gpu.uuid = value;
      if (key == "Model") gpu.model = value;
      if (key == "Device Minor") minor = hardware::number_of<unsigned>(value);
      if (key == "GPU Excluded") excluded = value == "Yes";
    }
    if (!minor || excluded) continue;
    gpu.minor = *minor;
    gpus.push_back(std::move(gpu));
  }
  std::ranges::sort(gpus, {}, &KernelGpu::bus_id);
  return gpus;
}

bool has_short_domain(std::string_view bus_id) { return bus_id.find(':') == kDomainDigits; }

std::string normal_bus_id(std::string_view bus_id) {
  const std::size_t digits = std::min(bus_id.find(':'), bus_id.size());
  if (digits > kDomainDigits) {
    const std::string_view zeros = bus_id.substr(0, digits - kDomainDigits);
    bus_id.remove_prefix(std::min(zeros.find_first_not_of('0'), zeros.size()));  // as the kernel writes it
  }
  std::string normal(bus_id);
  std::ranges::transform(normal, normal.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return normal;
}

}  // namespace cardcage::nvidia
