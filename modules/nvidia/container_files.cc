#include "modules/nvidia/container_files.h"

#include <algorithm>
#include <array>
#include <map>

namespace cardcage::nvidia {
namespace {

namespace fs = std::filesystem;

struct Wanted {
  std::string_view name;  // of a library up to ".so", of a program, a file or the capability itself
  Capability capability;
};

constexpr std::array kCapabilities{
    Wanted{"compute", Capability::compute}, Wanted{"utility", Capability::utility},
    Wanted{"video", Capability::video},     Wanted{"graphics", Capability::graphics},
    Wanted{"display", Capability::display},
};
constexpr std::array kLibraries{
    Wanted{"libcuda", Capability::compute},
    Wanted{"libcudadebugger", Capability::compute},
    Wanted{"libnvidia-allocator", Capability::compute},
    Wanted{"libnvidia-gpucomp", Capability::compute},
    Wanted{"libnvidia-nscq", Capability::compute},
    Wanted{"libnvidia-nvvm", Capability::compute},
    Wanted{"libnvidia-nvvm70", Capability::compute},
    Wanted{"libnvidia-opencl", Capability::compute},
    Wanted{"libnvidia-pkcs11", Capability::compute},
    Wanted{"libnvidia-pkcs11-openssl3", Capability::compute},
    Wanted{"libnvidia-ptxjitcompiler", Capability::compute},
    Wanted{"libnvidia-sandboxutils", Capability::compute},
    Wanted{"libnvidia-cfg", Capability::utility},
    Wanted{"libnvidia-ml", Capability::utility},
    Wanted{"libnvcuvid", Capability::video},
    Wanted{"libnvidia-encode", Capability::video},
    Wanted{"libnvidia-opticalflow", Capability::video},
    Wanted{"libEGL_nvidia", Capability::graphics},
    Wanted{"libGLESv1_CM_nvidia", Capability::graphics},
    Wanted{"libGLESv2_nvidia", Capability::graphics},
    Wanted{"libGLX_nvidia", Capability::graphics},
    Wanted{"libnvidia-eglcore", Capability::graphics},
    Wanted{"libnvidia-egl-gbm", Capability::graphics},
    Wanted{"libnvidia-egl-wayland", Capability::graphics},
    Wanted{"libnvidia-egl-wayland2", Capability::graphics},
    Wanted{"libnvidia-egl-xcb", Capability::graphics},
    Wanted{"libnvidia-egl-xlib", Capability::graphics},
    Wanted{"libnvidia-fbc", Capability::graphics},
    Wanted{"libnvidia-glcore", Capability::graphics},
    Wanted{"libnvidia-glsi", Capability::graphics},
    Wanted{"libnvidia-glvkspirv", Capability::graphics},
    Wanted{"libnvidia-ngx", Capability::graphics},
    Wanted{"libnvidia-rtcore", Capability::graphics},
    Wanted{"libnvidia-tls", Capability::graphics},
    Wanted{"libnvidia-vulkan-producer", Capability::graphics},
    Wanted{"libnvoptix", Capability::graphics},
};
constexpr std::array kPrograms{
    Wanted{"nvidia-smi", Capability::utility},
    Wanted{"nvidia-debugdump", Capability::utility},
    Wanted{"nvidia-persistenced", Capability::utility},
    Wanted{"nvidia-cuda-mps-control", Capability::compute},
    Wanted{"nvidia-cuda-mps-server", Capability::compute},
};
constexpr std::array kProgramFolders{"usr/bin", "opt/bin", "usr/sbin", "bin", "sbin"};
// Where loaders of Vulkan, EGL and OpenCL look for drivers.
constexpr std::array kFiles{
    Wanted{"etc/OpenCL/vendors/nvidia.icd", Capability::compute},
    Wanted{"usr/share/nvidia/nvoptix.bin", Capability::graphics},
    Wanted{"usr/share/vulkan/icd.d/nvidia_icd.json", Capability::graphics},
    Wanted{"etc/vulkan/icd.d/nvidia_icd.json", Capability::graphics},
    Wanted{"usr/share/vulkan/implicit_layer.d/nvidia_layers.json", Capability::graphics},
    Wanted{"etc/vulkan/implicit_layer.d/nvidia_layers.json", Capability::graphics},
    Wanted{"usr/share/glvnd/egl_vendor.d/10_nvidia.json", Capability::graphics},
    Wanted{"usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json", Capability::graphics},
    Wanted{"usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json", Capability::graphics},
};
constexpr std::array kSockets{
    Wanted{"run/nvidia-persistenced/socket", Capability::utility},
    Wanted{"run/nvidia-fabricmanager/socket", Capability::compute},
};
// Folders below which the kernel looks for firmware.
constexpr std::array kFirmwareFolders{"lib/firmware/updates", "lib/firmware", "usr/lib/firmware"};
// Searched by the glibc of images that know nothing of NVIDIA.
#ifdef __aarch64__
constexpr std::array kContainerFolders{"/usr/lib64", "/usr/lib/aarch64-linux-gnu"};
#else
constexpr std::array kContainerFolders{"/usr/lib64", "/usr/lib/x86_64-linux-gnu"};
#endif

// Where CUDA images have them (CUDA Compatibility, "Forward Compatibility").
constexpr const char* kCudaCompat = "/usr/local/cuda/compat";

const std::vector<std::string> kReadOnly{"ro", "nosuid", "nodev", "rbind", "rprivate"};
const std::vector<std::string> kSocketOptions{"nosuid", "nodev", "noexec", "rbind", "rprivate"};

class Collector {
 public:
  Collector(const Node& node, const Capabilities& wanted) : root_(node.driver_root), wanted_(wanted) {}

  // A file of the driver that containers see under the same name.
  void add(const fs::path& inside, const std::vector<std::string>& options) {
    if (const auto file = resolve(root_, inside)) add(*file, "/" / inside.relative_path(), options);
  }
  void add(const fs::path& file, const fs::path& in_container, const std::vector<std::string>& options) {
    mounts_.push_back({.host_path = file.native(), .container_path = in_container.native(), .options = options});
  }
  bool wants(const Wanted& one) const { return wanted_.contains(one.capability); }
  std::vector<cage::Mount> take() { return std::move(mounts_); }

 private:
  const fs::path& root_;
  const Capabilities& wanted_;
  std::vector<cage::Mount> mounts_;
};

// "libcuda" of libcuda.so.580.65.06
std::string_view stem(std::string_view file) { return file.substr(0, file.find(".so.")); }

// Programs load a library by its SONAME, which the driver's installer has made a link; one without a link has its full
// name as SONAME. libcuda.so is the name that programs use which load CUDA by themselves.
bool is_soname(const std::string& link) { return link.find(".so.") != std::string::npos || link == "libcuda.so"; }

void add_libraries(Collector& to, const fs::path& folder) {
  std::map<fs::path, std::vector<std::string>> links;  // by the file that they lead to
  std::map<std::string, fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().native();
    if (!name.starts_with("lib") || name.find(".so") == std::string::npos) continue;
    if (!entry.is_symlink(error)) {
      files.emplace(name, entry.path());
    } else if (is_soname(name)) {
      const fs::path target = fs::weakly_canonical(entry.path(), error);
      if (target.parent_path() == fs::weakly_canonical(folder, error)) links[target.filename()].push_back(name);
    }
  }
  for (const auto& [name, file] : files) {
    const auto known = std::ranges::find(kLibraries, stem(name), &Wanted::name);
    if (known == kLibraries.end() || !to.wants(*known)) continue;
    std::vector<std::string>& names = links[name];
    if (names.empty()) names.push_back(name);
    for (const char* target : kContainerFolders)
      for (const std::string& soname : names) to.add(file, fs::path(target) / soname, kReadOnly);
  }
}

void add_firmware(Collector& to, const Node& node, const std::string& version) {
  for (const char* base : kFirmwareFolders) {
    const fs::path inside = fs::path("/") / base / "nvidia" / version;
    const auto folder = resolve(node.driver_root, inside);
    if (!folder) continue;
    std::error_code error;
    std::vector<fs::path> images;
    for (const auto& entry : fs::directory_iterator(*folder, error))
      if (entry.path().filename().native().starts_with("gsp")) images.push_back(entry.path());
    std::ranges::sort(images);
    for (const fs::path& image : images)
      to.add(image, fs::path("/lib/firmware/nvidia") / version / image.filename(), kReadOnly);
    return;
  }
}

}  // namespace

Capabilities parse_capabilities(const std::vector<std::string_view>& words) {
  Capabilities found;
  for (const std::string_view word : words) {
    bool known = false;
    for (const Wanted& capability : kCapabilities) {
      if (word != capability.name && word != "all") continue;
      found.insert(capability.capability);
      known = true;
    }
    if (!known)
      throw cage::Error(CAGE_INVALID_ARGUMENT, "option driver_capabilities: '" + std::string(word) +
                                                   "' is none of compute, utility, video, graphics, display and all");
  }
  return found;
}

std::vector<cage::Mount> driver_mounts(const Node& node, const DriverFile& nvml, const Capabilities& wanted) {
  Collector mounts(node, wanted);
  add_libraries(mounts, nvml.host.parent_path());
  for (const Wanted& program : kPrograms) {
    if (!mounts.wants(program)) continue;
    for (const char* folder : kProgramFolders) {
      const auto file = resolve(node.driver_root, fs::path("/") / folder / program.name);
      if (!file) continue;
      mounts.add(*file, fs::path("/usr/bin") / program.name, kReadOnly);
      break;
    }
  }
  add_firmware(mounts, node, version_of_library(nvml.host));
  for (const Wanted& file : kFiles)
    if (mounts.wants(file)) mounts.add(fs::path("/") / file.name, kReadOnly);
  return mounts.take();
}

void show_libraries(cage::Edit edit, const std::string& driver_version, const Capabilities& wanted) {
  const std::string major = driver_version.substr(0, driver_version.find('.'));
  if (wanted.contains(Capability::compute) && !major.empty()) edit.ld_path(kCudaCompat, "libcuda.so." + major);
  for (const char* const folder : kContainerFolders) edit.ld_path(folder);
}

std::vector<cage::Mount> socket_mounts(const Node& node, const Capabilities& wanted) {
  Collector mounts(node, wanted);
  for (const Wanted& socket : kSockets)
    if (mounts.wants(socket)) mounts.add(fs::path("/") / socket.name, kSocketOptions);
  return mounts.take();
}

}  // namespace cardcage::nvidia
