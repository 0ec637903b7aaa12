#include "modules/nvidia/container_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "modules/common/kernel_files.h"
#include "modules/nvidia/driver_libraries.h"
#include "modules/nvidia/library_folders.h"

namespace cardcage::nvidia {
namespace {

namespace fs = std::filesystem;

struct Wanted {
  std::string_view name;  // a program, or a file below the folders where it may be
  Capability capability;
};

constexpr std::array kPrograms{
    Wanted{"nvidia-smi", Capability::utility},
    Wanted{"nvidia-debugdump", Capability::utility},
    Wanted{"nvidia-persistenced", Capability::utility},
    Wanted{"nvidia-imex", Capability::utility},
    Wanted{"nvidia-imex-ctl", Capability::utility},
    Wanted{"nvidia-cuda-mps-control", Capability::compute},
    Wanted{"nvidia-cuda-mps-server", Capability::compute},
    Wanted{"nvidia-xconfig", Capability::display},
};
constexpr std::array kProgramFolders{"/usr/bin", "/opt/bin", "/usr/sbin", "/bin", "/sbin"};

// Folders where the loaders of OpenCL, Vulkan and EGL and the X server look for drivers. The container gets each file
// where the loader of every distribution looks, wherever the node has it. As the container toolkit's
// discover/graphics.go.
#ifdef __aarch64__
constexpr std::string_view kRpmVulkanDriver = "vulkan/icd.d/nvidia_icd.aarch64.json";
#else
constexpr std::string_view kRpmVulkanDriver = "vulkan/icd.d/nvidia_icd.x86_64.json";
#endif
constexpr std::array kEtcFiles{
    Wanted{"OpenCL/vendors/nvidia.icd", Capability::compute},
    Wanted{"vulkan/icd.d/nvidia_icd.json", Capability::graphics},
    Wanted{kRpmVulkanDriver, Capability::graphics},
    Wanted{"vulkan/icd.d/nvidia_layers.json", Capability::graphics},
    Wanted{"vulkan/implicit_layer.d/nvidia_layers.json", Capability::graphics},
};
constexpr std::array kShareFiles{
    Wanted{"glvnd/egl_vendor.d/10_nvidia.json", Capability::graphics},
    Wanted{"egl/egl_external_platform.d/09_nvidia_wayland2.json", Capability::graphics},
    Wanted{"egl/egl_external_platform.d/10_nvidia_wayland.json", Capability::graphics},
    Wanted{"egl/egl_external_platform.d/15_nvidia_gbm.json", Capability::graphics},
    Wanted{"egl/egl_external_platform.d/20_nvidia_xcb.json", Capability::graphics},
    Wanted{"egl/egl_external_platform.d/20_nvidia_xlib.json", Capability::graphics},
    Wanted{"nvidia/nvoptix.bin", Capability::graphics},
    Wanted{"X11/xorg.conf.d/10-nvidia.conf", Capability::display},
    Wanted{"X11/xorg.conf.d/nvidia-drm-outputclass.conf", Capability::display},
};
// The last one is for Google's container-optimized system, which has vulkan/ at the top.
constexpr std::array kConfigFolders{"/etc", "/usr/local/share", "/usr/share", "/"};

// Modules of the X server, which loads them from its ModulePath. They keep their place: the node's configuration, which
// the container gets as well, may name it.
constexpr std::array kServerModules{"nvidia_drv.so", "libglxserver_nvidia.so"};
constexpr std::array kServerFolders{"nvidia/xorg", "xorg/modules/drivers", "xorg/modules/extensions",
                                    "xorg/modules/updates/drivers", "xorg/modules/updates/extensions"};
// Mesa's libgbm loads this library for the kernel driver nvidia-drm. Debian has it beside the other libraries.
constexpr std::array kGbmNames{"gbm/nvidia-drm_gbm.so", "nvidia-drm_gbm.so"};

constexpr std::array kSockets{
    Wanted{"nvidia-persistenced/socket", Capability::utility},
    Wanted{"nvidia-fabricmanager/socket", Capability::compute},
};
constexpr std::array kSocketFolders{"/run", "/var/run"};
constexpr const char* kNodeMps = "/tmp/nvidia-mps";  // MPS and CUDA look here without CUDA_MPS_PIPE_DIRECTORY

// Folders that glibc searches in images without any NVIDIA configuration.
#ifdef __aarch64__
constexpr std::array kContainerFolders{"/usr/lib64", "/usr/lib/aarch64-linux-gnu"};
#else
constexpr std::array kContainerFolders{"/usr/lib64", "/usr/lib/x86_64-linux-gnu"};
#endif

// The folder of CUDA images for these libraries (CUDA Compatibility, "Forward Compatibility").
constexpr const char* kCudaCompat = "/usr/local/cuda/compat";

const std::vector<std::string> kReadOnly{"ro", "nosuid", "nodev", "rbind", "rprivate"};
const std::vector<std::string> kSocketOptions{"nosuid", "nodev", "noexec", "rbind", "rprivate"};

class Collector {
 public:
  Collector(const Node& node, const Capabilities& wanted) : root_(node.driver_root), wanted_(wanted) {}

  // Adds a file of the driver under its own name. False if there is none.
  bool add(const fs::path& inside, const std::vector<std::string>& options) { return add_as(inside, inside, options); }
  bool add_as(const fs::path& inside, const fs::path& in_container, const std::vector<std::string>& options) {
    const auto file = resolve(root_, inside);
    if (file) add_file(*file, in_container, options);
    return file.has_value();
  }
  // The only place where a path of the node is written. The first file for a place wins.
  void add_file(const fs::path& file, const fs::path& in_container, const std::vector<std::string>& options) {
    if (!targets_.insert(in_container).second) return;
    mounts_.push_back({.host_path = file.native(), .container_path = in_container.native(), .options = options});
  }
  void add_library(const fs::path& file, const fs::path& name) {
    for (const char* folder : kContainerFolders) add_file(file, folder / name, kReadOnly);
  }
  bool wants(Capability capability) const {
    return wanted_.contains(capability) || (capability == Capability::graphics && serves_graphics(wanted_));
  }
  std::vector<cage::Mount> take() { return std::move(mounts_); }

 private:
  const fs::path& root_;
  const Capabilities& wanted_;
  std::vector<cage::Mount> mounts_;
  std::set<fs::path> targets_;
};

void add_libraries(Collector& to, const std::vector<DriverLibrary>& libraries) {
  for (const DriverLibrary& library : libraries) {
    for (const std::string& name : library.names) to.add_library(library.file, fs::path(library.subfolder) / name);
    for (const std::string& name : library.other_names)
      to.add_file(library.file, fs::path(kContainerFolders.front()) / library.subfolder / name, kReadOnly);
  }
}

void add_programs(Collector& to) {
  for (const Wanted& program : kPrograms) {
    if (!to.wants(program.capability)) continue;
    const fs::path in_container = fs::path("/usr/bin") / program.name;
    for (const char* folder : kProgramFolders)
      if (to.add_as(fs::path(folder) / program.name, in_container, kReadOnly)) break;
  }
}

template <std::size_t Size>
void add_configuration(Collector& to, const std::array<Wanted, Size>& files, const fs::path& container_folder) {
  for (const Wanted& file : files) {
    if (!to.wants(file.capability)) continue;
    for (const char* folder : kConfigFolders)
      if (to.add_as(fs::path(folder) / file.name, container_folder / file.name, kReadOnly)) break;
  }
}

void add_gbm(Collector& to, const fs::path& root, const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders)
    for (const char* name : kGbmNames)
      if (const auto file = resolve(root, folder / name)) return to.add_library(*file, kGbmNames.front());
}

void add_server_modules(Collector& to, const std::vector<fs::path>& folders) {
  for (const char* name : kServerModules) {
    const auto add = [&](const fs::path& folder) {
      return std::ranges::any_of(kServerFolders,
                                 [&](const char* inner) { return to.add(folder / inner / name, kReadOnly); });
    };
    std::ignore = std::ranges::any_of(folders, add);
  }
}

// Every user may write to /tmp, so a folder there may belong to any of them.
bool is_of_root(const fs::path& folder) {
  struct stat about{};
  return ::lstat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == 0;
}

// Folders where the kernel looks for firmware (its firmware_class), below the driver's root.
std::vector<fs::path> firmware_folders(const Node& node) {
  const std::string release = hardware::text_in(node.procfs / "sys/kernel/osrelease");
  const std::string own = hardware::text_in(node.sysfs / "module/firmware_class/parameters/path");
  std::vector<fs::path> folders;
  if (!own.empty()) folders.emplace_back(own);
  for (const char* folder : {"/lib/firmware/updates", "/lib/firmware", "/usr/lib/firmware"}) {
    if (!release.empty()) folders.push_back(fs::path(folder) / release);
    folders.emplace_back(folder);
  }
  return folders;
}

void add_firmware(Collector& to, const Node& node, const std::string& version) {
  if (version.empty()) return;
  for (const fs::path& base : firmware_folders(node)) {
    const auto folder = resolve(node.driver_root, base / "nvidia" / version);
    if (!folder) continue;
    std::error_code error;
    std::set<fs::path> images;
    for (fs::directory_iterator entry(*folder, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().native();
      if (name.starts_with("gsp") || name.starts_with("ucodes")) images.insert(entry->path());
    }
    for (const fs::path& image : images)
      to.add_file(image, fs::path("/lib/firmware/nvidia") / version / image.filename(), kReadOnly);
    return;
  }
}

}  // namespace

std::vector<cage::Mount> driver_mounts(const Node& node, const DriverFile& nvml, const Capabilities& wanted) {
  Collector mounts(node, wanted);
  const std::string version = version_of_library(nvml.host);
  const std::vector<fs::path> folders = library_folders(node.driver_root);
  add_libraries(mounts, find_driver_libraries(node.driver_root, folders, version, wanted));
  if (serves_graphics(wanted)) add_gbm(mounts, node.driver_root, folders);
  if (wanted.contains(Capability::display)) add_server_modules(mounts, folders);
  add_programs(mounts);
  add_firmware(mounts, node, version);
  add_configuration(mounts, kEtcFiles, "/etc");
  add_configuration(mounts, kShareFiles, "/usr/share");
  return mounts.take();
}

void show_libraries(cage::Edit edit, const std::string& driver_version, const Capabilities& wanted) {
  const std::string major = driver_version.substr(0, driver_version.find('.'));
  if (wanted.contains(Capability::compute) && !major.empty()) edit.ld_path(kCudaCompat, "libcuda.so." + major);
  for (const char* const folder : kContainerFolders) edit.ld_path(folder);
}

std::vector<cage::Mount> socket_mounts(const Node& node, const Capabilities& wanted) {
  Collector mounts(node, wanted);
  for (const Wanted& socket : kSockets) {
    if (!mounts.wants(socket.capability)) continue;
    for (const char* folder : kSocketFolders)
      if (mounts.add_as(fs::path(folder) / socket.name, fs::path("/run") / socket.name, kSocketOptions)) break;
  }
  return mounts.take();
}

std::optional<cage::Mount> node_mps_mount(const Node& node, const Capabilities& wanted) {
  Collector mounts(node, wanted);
  const bool runs = is_of_root(node.driver_root / fs::path(kNodeMps).relative_path()) &&
                    resolve(node.driver_root, fs::path(kNodeMps) / "control").has_value();
  if (!runs || !wanted.contains(Capability::compute) || !mounts.add(kNodeMps, kSocketOptions)) return std::nullopt;
  return mounts.take().front();
}

}  // namespace cardcage::nvidia
