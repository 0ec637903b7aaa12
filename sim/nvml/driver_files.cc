#include <fstream>
#include <stdexcept>

#include "sim/nvml/built_files.h"
#include "sim/nvml/shared_library.h"
#include "sim/nvml/tree.h"
#include "sim/nvml/world.h"

namespace cardcage::fake_nvml {
namespace {

namespace fs = std::filesystem;

// A library, its SONAME, and whether the packages have a link without a version, as on a node with 575.57.08: the log
// of `nvidia-ctk cdi generate` of ssst0n3/docker_archive, nvidia-container-toolkit/v1.19.0.
struct Library {
  const char* name;
  const char* soname;  // null if it equals the file name
  bool plain = false;
  const char* version = nullptr;  // the library's own version
};

const Library kLibraries[] = {
    // CUDA.
    {"libcuda.so", "libcuda.so.1", true},
    {"libcudadebugger.so", "libcudadebugger.so.1"},
    {"libnvidia-allocator.so", "libnvidia-allocator.so.1", true},
    {"libnvidia-cfg.so", "libnvidia-cfg.so.1", true},
    {"libnvidia-gpucomp.so", nullptr},
    {"libnvidia-nvvm.so", "libnvidia-nvvm.so.4", true},
    {"libnvidia-opencl.so", "libnvidia-opencl.so.1"},
    {"libnvidia-pkcs11.so", nullptr},
    {"libnvidia-pkcs11-openssl3.so", nullptr},
    {"libnvidia-ptxjitcompiler.so", "libnvidia-ptxjitcompiler.so.1", true},
    {"libnvidia-sandboxutils.so", "libnvidia-sandboxutils.so.1", true},
    // Video.
    {"libnvcuvid.so", "libnvcuvid.so.1", true},
    {"libnvidia-encode.so", "libnvidia-encode.so.1", true},
    {"libnvidia-opticalflow.so", "libnvidia-opticalflow.so.1"},
    {"vdpau/libvdpau_nvidia.so", "libvdpau_nvidia.so.1"},
    // Graphics.
    {"libEGL_nvidia.so", "libEGL_nvidia.so.0"},
    {"libGLESv1_CM_nvidia.so", "libGLESv1_CM_nvidia.so.1"},
    {"libGLESv2_nvidia.so", "libGLESv2_nvidia.so.2"},
    {"libGLX_nvidia.so", "libGLX_nvidia.so.0"},
    {"libnvidia-egl-gbm.so", "libnvidia-egl-gbm.so.1", false, "1.1.2"},
    {"libnvidia-egl-wayland.so", "libnvidia-egl-wayland.so.1", false, "1.1.19"},
    {"libnvidia-eglcore.so", nullptr},
    {"libnvidia-fbc.so", "libnvidia-fbc.so.1", true},
    {"libnvidia-glcore.so", nullptr},
    {"libnvidia-glsi.so", nullptr},
    {"libnvidia-glvkspirv.so", nullptr},
    {"libnvidia-gtk2.so", nullptr},
    {"libnvidia-gtk3.so", nullptr},
    {"libnvidia-ngx.so", "libnvidia-ngx.so.1"},
    {"libnvidia-present.so", nullptr},
    {"libnvidia-rtcore.so", nullptr},
    {"libnvidia-tls.so", nullptr},
    {"libnvidia-vksc-core.so", "libnvidia-vksc-core.so.1"},
    {"libnvidia-wayland-client.so", nullptr},
    {"libnvoptix.so", "libnvoptix.so.1"},
    {"xorg/modules/extensions/libglxserver_nvidia.so", nullptr, true},
};

const char* const kPrograms[] = {"nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-server"};

struct Text {
  const char *path, *text;
};
const Text kTexts[] = {
    {"usr/share/glvnd/egl_vendor.d/10_nvidia.json",
     R"({"file_format_version": "1.0.0", "ICD": {"library_path": "libEGL_nvidia.so.0"}})"},
    {"usr/share/vulkan/icd.d/nvidia_icd.json",
     R"({"file_format_version": "1.0.1", "ICD": {"library_path": "libGLX_nvidia.so.0", "api_version": "1.4.303"}})"},
    {"usr/share/vulkan/implicit_layer.d/nvidia_layers.json", R"({"file_format_version": "1.0.0", "layers": []})"},
    {"usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json",
     R"({"file_format_version": "1.0.0", "ICD": {"library_path": "libnvidia-egl-gbm.so.1"}})"},
    {"usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json",
     R"({"file_format_version": "1.0.0", "ICD": {"library_path": "libnvidia-egl-wayland.so.1"}})"},
    {"usr/share/nvidia/nvoptix.bin", "nvoptix.bin\n"},
    {"etc/OpenCL/vendors/nvidia.icd", "libnvidia-opencl.so.1\n"},
};

void replace_link(const fs::path& link, const fs::path& target) {
  fs::remove(link);
  fs::create_symlink(target, link);
}

// Makes a new file, because a mapped library must not change.
void copy_new(const fs::path& from, const fs::path& to) {
  fs::remove(to);
  if (!fs::exists(from)) throw std::runtime_error("not built: " + from.native());
  fs::copy_file(from, to);
}

void install_library(const fs::path& folder, const Library& library, const std::string& driver) {
  const fs::path plain = folder / library.name;
  const std::string base = plain.filename();
  const std::string file = base + "." + (library.version == nullptr ? driver : library.version);
  const std::string soname = library.soname == nullptr ? file : library.soname;
  write_file(plain.parent_path() / file, shared_library(soname) + "\n" + file + "\n");  // distinguishes drivers
  if (soname != file) replace_link(plain.parent_path() / soname, file);
  if (library.plain) replace_link(plain, soname);
}

void write_program(const fs::path& file) {
  write_file(file, "#!/bin/sh\nexit 0\n");
  fs::permissions(file, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                            fs::perms::others_exec);
}

}  // namespace

void write_file(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
  if (!fs::exists(file)) throw std::runtime_error("cannot write " + file.native());
}

void install_driver(const fs::path& root, const std::string& version) {
  const fs::path driver = root / "driver", libraries = driver / "usr/lib64", programs = driver / "usr/bin";
  fs::create_directories(libraries);
  for (const Library& library : kLibraries) install_library(libraries, library, version);
  write_file(libraries / "xorg/modules/drivers/nvidia_drv.so", shared_library("nvidia_drv.so"));
  fs::create_directories(libraries / "gbm");
  replace_link(libraries / "gbm/nvidia-drm_gbm.so", "../libnvidia-allocator.so.1");
  copy_new(built_library(branch_of(version.c_str())), libraries / ("libnvidia-ml.so." + version));
  replace_link(libraries / "libnvidia-ml.so.1", "libnvidia-ml.so." + version);
  for (const char* program : kPrograms) write_program(programs / program);
  copy_new(built_smi(), programs / "nvidia-smi");
  copy_new(built_mps_control(), programs / "nvidia-cuda-mps-control");
  // Folders that every root file system has.
  for (const char* folder : {"mnt", "dev/shm"}) fs::create_directories(driver / folder);
  for (const char* name : {"gsp_ga10x.bin", "gsp_tu10x.bin"})
    write_file(driver / "lib/firmware/nvidia" / version / name, std::string(name) + " " + version + "\n");
  for (const Text& text : kTexts) write_file(driver / text.path, text.text);
}

void uninstall_driver(const fs::path& root) {
  const fs::path libraries = root / "driver/usr/lib64";
  for (const auto& entry : fs::directory_iterator(libraries)) {
    if (entry.path().filename().native().starts_with("lib")) fs::remove(entry.path());
  }
  for (const char* folder : {"gbm", "vdpau", "xorg"}) fs::remove_all(libraries / folder);
  fs::remove_all(root / "driver/lib/firmware/nvidia");
}

}  // namespace cardcage::fake_nvml
