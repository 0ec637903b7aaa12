#include <fstream>
#include <initializer_list>
#include <stdexcept>

#include "tests/fakes/nvml/built_files.h"
#include "tests/fakes/nvml/tree.h"
#include "tests/fakes/nvml/world.h"

namespace cardcage::fake_nvml {
namespace {

namespace fs = std::filesystem;

// A library, the link that its soname demands, and others.
struct Library {
  const char* name;
  std::initializer_list<const char*> links;
};

const Library kLibraries[] = {
    // CUDA.
    {"libcuda.so", {"libcuda.so.1", "libcuda.so"}},
    {"libnvidia-ptxjitcompiler.so", {"libnvidia-ptxjitcompiler.so.1"}},
    {"libnvidia-nvvm.so", {"libnvidia-nvvm.so.4"}},
    {"libnvidia-gpucomp.so", {}},
    {"libcudadebugger.so", {"libcudadebugger.so.1"}},
    {"libnvidia-cfg.so", {"libnvidia-cfg.so.1"}},
    {"libnvidia-opencl.so", {"libnvidia-opencl.so.1"}},
    {"libnvidia-allocator.so", {"libnvidia-allocator.so.1"}},
    {"libnvidia-sandboxutils.so", {"libnvidia-sandboxutils.so.1"}},
    // Video.
    {"libnvcuvid.so", {"libnvcuvid.so.1"}},
    {"libnvidia-encode.so", {"libnvidia-encode.so.1"}},
    {"libnvidia-opticalflow.so", {"libnvidia-opticalflow.so.1"}},
    // Graphics.
    {"libGLX_nvidia.so", {"libGLX_nvidia.so.0"}},
    {"libEGL_nvidia.so", {"libEGL_nvidia.so.0"}},
    {"libGLESv1_CM_nvidia.so", {"libGLESv1_CM_nvidia.so.1"}},
    {"libGLESv2_nvidia.so", {"libGLESv2_nvidia.so.2"}},
    {"libnvidia-fbc.so", {"libnvidia-fbc.so.1"}},
    {"libnvidia-ngx.so", {"libnvidia-ngx.so.1"}},
    {"libnvoptix.so", {"libnvoptix.so.1"}},
    {"libnvidia-eglcore.so", {}},
    {"libnvidia-glcore.so", {}},
    {"libnvidia-glsi.so", {}},
    {"libnvidia-tls.so", {}},
    {"libnvidia-glvkspirv.so", {}},
    {"libnvidia-rtcore.so", {}},
    {"libnvidia-vulkan-producer.so", {}},
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
    {"etc/OpenCL/vendors/nvidia.icd", "libnvidia-opencl.so.1\n"},
};

void replace_link(const fs::path& link, const fs::path& target) {
  fs::remove(link);
  fs::create_symlink(target, link);
}

// A library that is mapped must not change, so this is a new file.
void copy_new(const fs::path& from, const fs::path& to) {
  fs::remove(to);
  if (!fs::exists(from)) throw std::runtime_error("not built: " + from.native());
  fs::copy_file(from, to);
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
  for (const Library& library : kLibraries) {
    const std::string file = std::string(library.name) + "." + version;
    write_file(libraries / file, file + "\n");
    for (const char* link : library.links) {
      // As ldconfig makes them: libcuda.so leads to libcuda.so.1.
      const bool plain = std::string_view(link) == library.name;
      replace_link(libraries / link, plain ? std::string(*library.links.begin()) : file);
    }
  }
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
  fs::remove_all(root / "driver/lib/firmware/nvidia");
}

}  // namespace cardcage::fake_nvml
