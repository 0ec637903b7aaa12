#include "modules/nvidia/driver_libraries.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>

#include "modules/nvidia/node.h"
#include "modules/nvidia/shared_object.h"

namespace cardcage::nvidia {
namespace {

namespace fs = std::filesystem;

// Libraries load each other by name, so a capability needs more libraries than its own: video and graphics load CUDA's
// (libnvcuvid, libnvoptix, libnvidia-rtcore), and CUDA's debugger loads NVML. tools/test drivers reads the names out of
// real drivers.
enum class Purpose { management, cuda, video, graphics, elsewhere };

struct KnownLibrary {
  std::string_view stem;  // the name up to ".so", such as libcuda
  Purpose purpose;
};

// Sorted as in nvc_info.c of libnvidia-container, and as the README of NVIDIA's installer describes them.
constexpr std::array kKnownLibraries{
    KnownLibrary{"libnvidia-cfg", Purpose::management},
    KnownLibrary{"libnvidia-ml", Purpose::management},
    KnownLibrary{"libnvidia-nscq", Purpose::management},
    KnownLibrary{"libnvidia-sandboxutils", Purpose::management},
    KnownLibrary{"libnvsdm", Purpose::management},
    KnownLibrary{"libcuda", Purpose::cuda},
    KnownLibrary{"libcudadebugger", Purpose::cuda},
    KnownLibrary{"libnvidia-allocator", Purpose::cuda},
    KnownLibrary{"libnvidia-compiler", Purpose::cuda},
    KnownLibrary{"libnvidia-fatbinaryloader", Purpose::cuda},
    KnownLibrary{"libnvidia-gpucomp", Purpose::cuda},
    KnownLibrary{"libnvidia-nvvm", Purpose::cuda},
    KnownLibrary{"libnvidia-nvvm70", Purpose::cuda},
    KnownLibrary{"libnvidia-opencl", Purpose::cuda},
    KnownLibrary{"libnvidia-pkcs11", Purpose::cuda},
    KnownLibrary{"libnvidia-pkcs11-openssl3", Purpose::cuda},
    KnownLibrary{"libnvidia-ptxjitcompiler", Purpose::cuda},
    KnownLibrary{"libnvidia-tileiras", Purpose::cuda},
    KnownLibrary{"libnvcuvid", Purpose::video},
    KnownLibrary{"libnvidia-encode", Purpose::video},
    KnownLibrary{"libnvidia-ifr", Purpose::video},  // captures frames of OpenGL for libnvidia-encode
    KnownLibrary{"libnvidia-opticalflow", Purpose::video},
    KnownLibrary{"libvdpau_nvidia", Purpose::video},
    KnownLibrary{"libEGL_nvidia", Purpose::graphics},
    KnownLibrary{"libGLESv1_CM_nvidia", Purpose::graphics},
    KnownLibrary{"libGLESv2_nvidia", Purpose::graphics},
    KnownLibrary{"libGLX_nvidia", Purpose::graphics},
    KnownLibrary{"libnvidia-api", Purpose::graphics},
    KnownLibrary{"libnvidia-cbl", Purpose::graphics},
    KnownLibrary{"libnvidia-egl-gbm", Purpose::graphics},
    KnownLibrary{"libnvidia-egl-wayland", Purpose::graphics},
    KnownLibrary{"libnvidia-egl-wayland2", Purpose::graphics},
    KnownLibrary{"libnvidia-egl-xcb", Purpose::graphics},
    KnownLibrary{"libnvidia-egl-xlib", Purpose::graphics},
    KnownLibrary{"libnvidia-eglcore", Purpose::graphics},
    KnownLibrary{"libnvidia-fbc", Purpose::graphics},
    KnownLibrary{"libnvidia-glcore", Purpose::graphics},
    KnownLibrary{"libnvidia-glsi", Purpose::graphics},
    KnownLibrary{"libnvidia-glvkspirv", Purpose::graphics},
    KnownLibrary{"libnvidia-ngx", Purpose::graphics},
    KnownLibrary{"libnvidia-present", Purpose::graphics},
    KnownLibrary{"libnvidia-rtcore", Purpose::graphics},
    KnownLibrary{"libnvidia-tls", Purpose::graphics},
    KnownLibrary{"libnvidia-vksc-core", Purpose::graphics},
    KnownLibrary{"libnvidia-vulkan-producer", Purpose::graphics},
    KnownLibrary{"libnvoptix", Purpose::graphics},
    KnownLibrary{"libglxserver_nvidia", Purpose::elsewhere},  // a module of the X server
    KnownLibrary{"libnvidia-gtk2", Purpose::elsewhere},       // only nvidia-settings loads these
    KnownLibrary{"libnvidia-gtk3", Purpose::elsewhere},
    KnownLibrary{"libnvidia-wayland-client", Purpose::elsewhere},
};

// Libraries of the driver that have a version of their own.
constexpr std::array<std::string_view, 8> kOwnVersions{
    "libnvidia-api",          "libnvidia-egl-gbm", "libnvidia-egl-wayland",
    "libnvidia-egl-wayland2", "libnvidia-egl-xcb", "libnvidia-egl-xlib",
    "libnvidia-nvvm",  // 470: libnvidia-nvvm.so.4.0.0
    "libnvidia-nvvm70",
};

// Names that programs load and that a driver root may lack. The toolkit makes them in each container.
struct AddedName {
  std::string_view stem, name;
};
constexpr std::array kAddedNames{
    AddedName{"libcuda", "libcuda.so"},
    AddedName{"libGLX_nvidia", "libGLX_indirect.so.0"},  // GLVND's for indirect rendering
    AddedName{"libnvidia-opticalflow", "libnvidia-opticalflow.so"},
    AddedName{"libnvidia-vulkan-producer", "libnvidia-vulkan-producer.so"},
};
// Libraries that programs load by a name without a version. Such a name of any other library is for linking.
constexpr std::array<std::string_view, 3> kLoadedPlain{"libnvidia-ml", "libnvcuvid", "libnvidia-encode"};
constexpr std::string_view kNvvm = "libnvidia-nvvm";
constexpr std::string_view kVdpau = "libvdpau_nvidia", kVdpauFolder = "vdpau";

std::string_view stem_of(std::string_view name) { return name.substr(0, name.find(".so")); }

// The version in a name: "580.65.06" for libcuda.so.580.65.06; empty for libcuda.so.
std::string_view suffix_of(std::string_view name) {
  const auto at = name.find(".so.");
  return at == std::string_view::npos ? std::string_view() : name.substr(at + 4);
}

const KnownLibrary* find_known(std::string_view stem) {
  const auto found = std::ranges::find(kKnownLibraries, stem, &KnownLibrary::stem);
  return found == kKnownLibraries.end() ? nullptr : found;
}

// A library's own version is small, such as 1.1.13. That of another driver that was not removed has three digits:
// 535.261.03.
bool is_own_version(std::string_view suffix) {
  return !suffix.empty() && suffix.substr(0, suffix.find('.')).size() < 3;
}

bool is_of_driver(std::string_view name, const std::string& version) {
  const std::string_view stem = stem_of(name), suffix = suffix_of(name);
  if (version.empty()) return find_known(stem) != nullptr;
  return suffix == version || (is_own_version(suffix) && std::ranges::find(kOwnVersions, stem) != kOwnVersions.end());
}

// A library that is not in the table serves everything, because the toolkit's CDI files give each container every
// library of the driver's version: a needless one costs a mount, a missing one breaks the programs of a new driver.
bool serves(std::string_view stem, const Capabilities& wanted) {
  const KnownLibrary* known = find_known(stem);
  if (known == nullptr || known->purpose == Purpose::management) return !wanted.empty();
  switch (known->purpose) {
    case Purpose::video: return wanted.contains(Capability::video);
    case Purpose::graphics: return serves_graphics(wanted);
    case Purpose::elsewhere: return false;
    default: return std::ranges::any_of(wanted, [](Capability one) { return one != Capability::utility; });
  }
}

struct FoundLibrary {
  fs::path file;
  std::set<std::string> links;  // names that lead to it, including its own
};

void look_into(const fs::path& root, const fs::path& folder, const std::string& version,
               std::vector<FoundLibrary>& found) {
  const auto here = resolve(root, folder);
  if (!here) return;
  std::error_code error;
  std::set<std::string> names;
  for (fs::directory_iterator entry(*here, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    if (name.starts_with("lib") && name.find(".so") != std::string::npos) names.insert(name);
  }
  for (const std::string& name : names) {
    const auto file = resolve(root, folder / name);
    if (!file || !fs::is_regular_file(*file, error)) continue;
    // RPM packages have libGLX_nvidia.so.0 as the file and libGLX_nvidia.so.580.65.06 as the link.
    const std::string own = file->filename().native();
    const bool is_versioned_link = is_of_driver(name, version) && stem_of(name) == stem_of(own);
    if (!is_of_driver(own, version) && !is_versioned_link) continue;
    auto known = std::ranges::find(found, *file, &FoundLibrary::file);
    if (known == found.end()) known = found.insert(found.end(), {.file = *file, .links = {}});
    known->links.insert(name);
  }
}

std::vector<FoundLibrary> look_everywhere(const fs::path& root, const std::vector<fs::path>& folders,
                                          const std::string& version) {
  std::vector<FoundLibrary> found;
  for (const fs::path& folder : folders) {
    look_into(root, folder, version, found);
    look_into(root, folder / kVdpauFolder, version, found);
  }
  return found;
}

DriverLibrary describe(const FoundLibrary& found, const std::string& soname, const std::string& version) {
  const std::string own = found.file.filename().native();
  const std::string stem(stem_of(own)), plain = stem + ".so";
  const std::string full = found.links.contains(plain + "." + version) ? plain + "." + version : own;
  DriverLibrary library{
      .file = found.file, .names = {soname.empty() ? full : soname}, .other_names = {}, .subfolder = {}};
  if (stem == kVdpau) library.subfolder = kVdpauFolder;
  const auto has = [&](const std::string& name) {
    return std::ranges::find(library.names, name) != library.names.end();
  };
  const auto add = [&](const std::string& name) {
    if (!has(name)) library.names.push_back(name);
  };
  for (const AddedName& added : kAddedNames)
    if (added.stem == stem) add(std::string(added.name));
  const bool is_loaded_plain = std::ranges::find(kLoadedPlain, stem) != kLoadedPlain.end();
  if (is_loaded_plain && found.links.contains(plain)) add(plain);
  // libcuda of 470 loads it without a version, libnvidia-opencl since 525.85 by its full name.
  if (stem == kNvvm) add(is_own_version(suffix_of(full)) ? plain : full);
  if (!has(full)) library.other_names.push_back(full);
  if (!has(plain) && found.links.contains(plain)) library.other_names.push_back(plain);
  return library;
}

// Whether a link in the folders gives the SONAME to this file.
bool is_linked(const FoundLibrary& found, const std::string& soname) {
  return soname.empty() || found.links.contains(soname);
}

}  // namespace

std::vector<DriverLibrary> find_driver_libraries(const fs::path& root, const std::vector<fs::path>& folders,
                                                 const std::string& version, const Capabilities& wanted) {
  std::vector<DriverLibrary> linked, others;
  for (const FoundLibrary& found : look_everywhere(root, folders, version)) {
    if (!serves(stem_of(found.file.filename().native()), wanted)) continue;
    const auto soname = read_soname(found.file);
    if (!soname) continue;
    (is_linked(found, *soname) ? linked : others).push_back(describe(found, *soname, version));
  }
  std::ranges::move(others, std::back_inserter(linked));
  std::set<std::string> taken;
  std::erase_if(linked, [&](DriverLibrary& library) {
    if (taken.contains(library.names.front())) return true;  // left by an earlier version, or another copy
    for (auto* names : {&library.names, &library.other_names})
      std::erase_if(*names, [&](const std::string& name) { return !taken.insert(name).second; });
    return false;
  });
  std::ranges::sort(linked, {}, &DriverLibrary::file);
  return linked;
}

}  // namespace cardcage::nvidia
