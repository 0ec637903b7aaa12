// The driver's files in a container, wherever distributions install them.
//
// The fake driver's files are those of a node with 575.57.08; the lists below come from the same node's CDI file, which
// NVIDIA's container toolkit wrote (see sim/nvml/driver_files.cc).
#include <dlfcn.h>

#include <fstream>
#include <map>

#include "sim/nvml/shared_library.h"
#include "tests/fakes/source_folder.h"
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

const std::string kVersion = "575.57.08";
// Folders that glibc searches in Red Hat's images and in Debian's.
const std::string kRedHat = "/usr/lib64/", kDebian = "/usr/lib/x86_64-linux-gnu/";

class NvidiaDriverFiles : public NvidiaFixture {
 protected:
  using Mounts = std::map<std::string, std::string>;  // by the path in the container: the path below the driver's root

  NvidiaDriverFiles() { gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.driver = kVersion}); }

  fs::path in_root(const std::string& inside) const { return gpus->driver_root() / fs::path(inside).relative_path(); }
  void write(const std::string& inside, const std::string& text = "text\n") const {
    fs::create_directories(in_root(inside).parent_path());
    std::ofstream(in_root(inside)) << text;
  }
  void write_library(const std::string& inside, const std::string& soname) const {
    write(inside, fake_nvml::shared_library(soname));
  }
  void link(const std::string& inside, const std::string& target) const {
    fs::create_directories(in_root(inside).parent_path());
    fs::remove(in_root(inside));
    fs::create_symlink(target, in_root(inside));
  }
  void move(const std::string& from, const std::string& to) const {
    fs::create_directories(in_root(to).parent_path());
    fs::rename(in_root(from), in_root(to));
  }

  // Prepares a claim for the only GPU and returns its mounts. Each has a file of the root, and each place is unique.
  Mounts mounts(const std::vector<std::string>& capabilities, const std::string& params = {}) {
    Mounts found;
    if (const Status started = start_again({{"driver_capabilities", capabilities}}); !started) {
      ADD_FAILURE() << started.error().message;
      return found;
    }
    ModuleClaim wanted = claim_of("u1", {"gpu-0"}, params);
    edits = prepare(wanted);
    if (!edits) {
      ADD_FAILURE() << edits.error().message;
      return found;
    }
    const std::string root = gpus->driver_root().native();
    for (const Mount& mount : edits->claim.mounts) {
      EXPECT_THAT(mount.host_path, StartsWith(root + "/")) << mount.container_path;
      EXPECT_TRUE(fs::exists(mount.host_path)) << mount.container_path;
      EXPECT_FALSE(fs::is_symlink(mount.host_path)) << mount.container_path << " leads out of the root";
      const bool is_new = found.emplace(mount.container_path, mount.host_path.substr(root.size())).second;
      EXPECT_TRUE(is_new) << mount.container_path << " is mounted twice";
    }
    return found;
  }

  Result<PreparedEdits> edits = std::unexpected(Error{});
};
// The files do not depend on the isolation.
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaDriverFiles, ::testing::Values(Isolation::kInProcess), name_of_isolation);

TEST_P(NvidiaDriverFiles, TheLoaderOfLibrariesTakesTheFakeOnes) {
  write_library("/libfakeneeded.so.1.2", "libfakeneeded.so.1");
  write("/libfake32.so.1", fake_nvml::shared_library_32());
  void* const opened = ::dlopen(in_root("/libfakeneeded.so.1.2").c_str(), RTLD_NOW);
  ASSERT_NE(opened, nullptr) << ::dlerror();
  void* const again = ::dlopen("libfakeneeded.so.1", RTLD_NOW | RTLD_NOLOAD);
  EXPECT_EQ(opened, again) << "by its SONAME";
  if (again != nullptr) ::dlclose(again);
  ::dlclose(opened);
  EXPECT_EQ(::dlopen(in_root("/libfake32.so.1").c_str(), RTLD_NOW), nullptr);
}

TEST_P(NvidiaDriverFiles, AllIsWhatTheContainerToolkitGives) {
  const Mounts found = mounts({"all"});
  // The CDI file's mounts, for programs of the driver's version.
  for (const char* name : {"libEGL_nvidia",
                           "libGLESv1_CM_nvidia",
                           "libGLESv2_nvidia",
                           "libGLX_nvidia",
                           "libcuda",
                           "libcudadebugger",
                           "libnvcuvid",
                           "libnvidia-allocator",
                           "libnvidia-cfg",
                           "libnvidia-eglcore",
                           "libnvidia-encode",
                           "libnvidia-fbc",
                           "libnvidia-glcore",
                           "libnvidia-glsi",
                           "libnvidia-glvkspirv",
                           "libnvidia-gpucomp",
                           "libnvidia-ml",
                           "libnvidia-ngx",
                           "libnvidia-nvvm",
                           "libnvidia-opencl",
                           "libnvidia-opticalflow",
                           "libnvidia-pkcs11",
                           "libnvidia-pkcs11-openssl3",
                           "libnvidia-present",
                           "libnvidia-ptxjitcompiler",
                           "libnvidia-rtcore",
                           "libnvidia-sandboxutils",
                           "libnvidia-tls",
                           "libnvidia-vksc-core",
                           "libnvoptix",
                           "vdpau/libvdpau_nvidia"})
    EXPECT_THAT(found, Contains(Key(kRedHat + name + ".so." + kVersion)));
  // The links that the CDI file's hook makes.
  for (const char* name : {"libEGL_nvidia.so.0",
                           "libGLESv1_CM_nvidia.so.1",
                           "libGLESv2_nvidia.so.2",
                           "libGLX_indirect.so.0",
                           "libGLX_nvidia.so.0",
                           "libcuda.so",
                           "libcuda.so.1",
                           "libcudadebugger.so.1",
                           "libnvcuvid.so.1",
                           "libnvcuvid.so",
                           "libnvidia-allocator.so.1",
                           "libnvidia-cfg.so.1",
                           "libnvidia-encode.so.1",
                           "libnvidia-encode.so",
                           "libnvidia-fbc.so.1",
                           "libnvidia-ngx.so.1",
                           "libnvidia-nvvm.so.4",
                           "libnvidia-opencl.so.1",
                           "libnvidia-opticalflow.so.1",
                           "libnvidia-opticalflow.so",
                           "libnvidia-ptxjitcompiler.so.1",
                           "libnvidia-sandboxutils.so.1",
                           "libnvidia-vksc-core.so.1",
                           "libnvoptix.so.1",
                           "vdpau/libvdpau_nvidia.so.1",
                           "gbm/nvidia-drm_gbm.so"}) {
    EXPECT_THAT(found, Contains(Key(kRedHat + name)));
    EXPECT_THAT(found, Contains(Key(kDebian + name)));
  }
  EXPECT_THAT(found,
              IsSupersetOf(Mounts{
                  {"/usr/lib64/libnvidia-egl-gbm.so.1", "/usr/lib64/libnvidia-egl-gbm.so.1.1.2"},
                  {"/usr/lib64/libnvidia-egl-wayland.so.1", "/usr/lib64/libnvidia-egl-wayland.so.1.1.19"},
                  {"/usr/lib64/gbm/nvidia-drm_gbm.so", "/usr/lib64/libnvidia-allocator.so." + kVersion},
                  {"/usr/lib64/xorg/modules/drivers/nvidia_drv.so", "/usr/lib64/xorg/modules/drivers/nvidia_drv.so"},
                  {"/usr/lib64/xorg/modules/extensions/libglxserver_nvidia.so",
                   "/usr/lib64/xorg/modules/extensions/libglxserver_nvidia.so." + kVersion},
                  {"/usr/share/nvidia/nvoptix.bin", "/usr/share/nvidia/nvoptix.bin"},
                  {"/etc/vulkan/icd.d/nvidia_icd.json", "/usr/share/vulkan/icd.d/nvidia_icd.json"}}));
  EXPECT_THAT(found, Not(Contains(Key(HasSubstr("libnvidia-gtk"))))) << "only nvidia-settings loads it";
  EXPECT_THAT(found, Not(Contains(Key(HasSubstr("libnvidia-wayland-client")))));
}

TEST_P(NvidiaDriverFiles, EachCapabilityBringsWhatItsLibrariesLoad) {
  const Mounts utility = mounts({"utility"});
  EXPECT_THAT(utility, Contains(Key(kRedHat + "libnvidia-ml.so.1")));
  EXPECT_THAT(utility, Not(Contains(Key(HasSubstr("libcuda.so")))));
  const Mounts compute = mounts({"compute", "utility"});
  EXPECT_THAT(compute, Not(Contains(Key(HasSubstr("GL")))));
  EXPECT_THAT(compute, Not(Contains(Key(HasSubstr("nvcuvid")))));
  EXPECT_THAT(compute, Not(Contains(Key(HasSubstr("xorg")))));
  const Mounts video = mounts({"video"}), graphics = mounts({"graphics"}), display = mounts({"display"});
  for (const Mounts* each : {&video, &graphics, &display})
    for (const char* name : {"libcuda.so.1", "libnvidia-ptxjitcompiler.so.1", "libnvidia-ml.so.1"})
      EXPECT_THAT(*each, Contains(Key(kRedHat + name)));
  EXPECT_THAT(video, Not(Contains(Key(HasSubstr("glcore")))));
  for (const std::string& name : {"libnvidia-gpucomp.so." + kVersion, std::string("libnvidia-allocator.so.1")})
    EXPECT_THAT(graphics, Contains(Key(kRedHat + name)));
  EXPECT_THAT(graphics, Not(Contains(Key(HasSubstr("xorg")))));
  EXPECT_THAT(display, AllOf(Contains(Key(HasSubstr("nvidia_drv.so"))), Contains(Key(kRedHat + "libGLX_nvidia.so.0"))));
}

TEST_P(NvidiaDriverFiles, AFullNameIsMountedOnceButWhereALibraryLoadsIt) {
  const Mounts found = mounts({"compute", "utility"});
  EXPECT_THAT(found, Contains(Key(kRedHat + "libcuda.so." + kVersion)));
  EXPECT_THAT(found, Not(Contains(Key(kDebian + "libcuda.so." + kVersion))))
      << "it would cost a mount in every container";
  EXPECT_THAT(found, Contains(Key(kDebian + "libnvidia-nvvm.so." + kVersion))) << "libnvidia-opencl loads it";
}

TEST_P(NvidiaDriverFiles, ALibraryOfALaterDriverIsNotLost) {
  write_library("/usr/lib64/libnvidia-later.so." + kVersion, "libnvidia-later.so.3");
  const Mounts found = mounts({"compute", "utility"});
  EXPECT_THAT(found,
              IsSupersetOf({Pair(kRedHat + "libnvidia-later.so.3", "/usr/lib64/libnvidia-later.so." + kVersion),
                            Pair(kDebian + "libnvidia-later.so.3", "/usr/lib64/libnvidia-later.so." + kVersion)}));
}

TEST_P(NvidiaDriverFiles, WhatIsNotOfThisDriverStaysOut) {
  write_library("/usr/lib64/libnvidia-eglcore.so.535.261.03", "libnvidia-eglcore.so.535.261.03");
  write_library("/usr/lib64/libnvidia-nvvm.so.535.261.03", "libnvidia-nvvm.so.4");
  write_library("/usr/lib64/libnvidia-egl-wayland.so.1.1.7", "libnvidia-egl-wayland.so.1");
  write_library("/usr/lib64/libGL.so.1.7.0", "libGL.so.1");
  write("/usr/lib64/libnvidia-text.so." + kVersion, "INPUT(libcuda.so.1)\n");
  write("/usr/lib64/libnvidia-empty.so." + kVersion, "");
  const std::string whole = fake_nvml::shared_library("libnvidia-cut.so.1");
  write("/usr/lib64/libnvidia-cut.so." + kVersion, whole.substr(0, whole.size() / 2));
  const Mounts found = mounts({"all"});
  for (const auto& [target, source] : found) {
    EXPECT_THAT(source, Not(HasSubstr("535"))) << target;
    EXPECT_THAT(source, Not(HasSubstr("libGL.so"))) << "the image has its own";
    EXPECT_THAT(source, Not(HasSubstr("libnvidia-text"))) << target;
    EXPECT_THAT(source, Not(HasSubstr("libnvidia-empty"))) << target;
    EXPECT_THAT(source, Not(HasSubstr("wayland.so.1.1.7"))) << "the SONAME leads to the newer one";
  }
}

// Multilib: i386 in /usr/lib, with the same names.
TEST_P(NvidiaDriverFiles, LibrariesOf32BitsAreLeft) {
  for (const std::string& name :
       {"libcuda.so." + kVersion, "libnvidia-ml.so." + kVersion, "libGL32only.so." + kVersion})
    write("/usr/lib/" + name, fake_nvml::shared_library_32());
  link("/usr/lib/libnvidia-ml.so.1", "libnvidia-ml.so." + kVersion);
  link("/usr/lib/libcuda.so.1", "libcuda.so." + kVersion);
  // Here the driver is found behind the folder with 32-bit libraries.
  fs::rename(in_root("/usr/lib64"), in_root("/driver"));
  move("/driver", "/run/opengl-driver/lib");
  for (const auto& [target, source] : mounts({"all"})) EXPECT_THAT(source, Not(StartsWith("/usr/lib/"))) << target;
}

// As Debian 12 packages them: some libraries in nvidia/current, reached by absolute links of its alternatives, and
// others in the multiarch folder.
class NvidiaDebianFiles : public NvidiaDriverFiles {
 protected:
  NvidiaDebianFiles() {
    const fs::path current = "/usr/lib/x86_64-linux-gnu/nvidia/current";
    const std::vector<std::string> beside{"libnvidia-eglcore", "libnvidia-glcore",          "libnvidia-glsi",
                                          "libnvidia-tls",     "libnvidia-glvkspirv",       "libnvidia-gpucomp",
                                          "libnvidia-rtcore",  "libnvidia-pkcs11-openssl3", "libnvidia-egl-gbm"};
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(in_root("/usr/lib64"))) files.push_back(entry.path().filename());
    for (const fs::path& file : files) {
      const std::string stem = file.native().substr(0, file.native().find(".so"));
      const bool is_beside = std::ranges::find(beside, stem) != beside.end();
      move("/usr/lib64" / file, is_beside ? fs::path(kDebian) / file : current / file);
    }
    for (const char* name : {"libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1", "libGLX_nvidia.so.0"}) {
      link(kDebian + name, std::string("/etc/alternatives/nvidia--") + name);
      link(std::string("/etc/alternatives/nvidia--") + name, current / name);
    }
    fs::remove(in_root("/usr/lib64"));
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaDebianFiles, ::testing::Values(Isolation::kInProcess), name_of_isolation);

TEST_P(NvidiaDebianFiles, LibrariesOfBothFoldersAreMounted) {
  const Mounts found = mounts({"all"});
  const std::string current = kDebian + "nvidia/current/";
  EXPECT_THAT(
      found,
      IsSupersetOf({Pair(kRedHat + "libcuda.so.1", current + "libcuda.so." + kVersion),
                    Pair(kDebian + "libcuda.so.1", current + "libcuda.so." + kVersion),
                    Pair(kRedHat + "libnvidia-rtcore.so." + kVersion, kDebian + "libnvidia-rtcore.so." + kVersion),
                    Pair(kRedHat + "libnvidia-egl-gbm.so.1", kDebian + "libnvidia-egl-gbm.so.1.1.2"),
                    Pair(kDebian + "vdpau/libvdpau_nvidia.so.1", current + "vdpau/libvdpau_nvidia.so." + kVersion),
                    Pair(kDebian + "gbm/nvidia-drm_gbm.so", current + "libnvidia-allocator.so." + kVersion)}));
}

TEST_P(NvidiaDebianFiles, TheAlternativesAreNotNeeded) {
  const Mounts with = mounts({"all"});
  fs::remove_all(in_root("/etc/alternatives"));
  for (const char* name : {"libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1", "libGLX_nvidia.so.0"})
    fs::remove(in_root(kDebian + name));
  EXPECT_EQ(mounts({"all"}), with);
}

TEST_P(NvidiaDriverFiles, FoldersOfOtherDistributionsAreSearched) {
  std::string now = "/usr/lib64";
  // The fake library finds its state three folders up.
  for (const std::string place : {"/usr/lib/x86_64-linux-gnu", "/usr/lib", "/usr/lib64/nvidia", "/usr/lib/nvidia/tesla",
                                  "/run/opengl-driver/lib", "/usr/lib/wsl/lib", "/lib64"}) {
    const std::string aside = "/aside";
    move(now, aside);
    move(aside, place);
    now = place;
    EXPECT_THAT(mounts({"compute"}), Contains(Pair(kRedHat + "libcuda.so.1", place + "/libcuda.so." + kVersion)));
  }
}

// Caches that ldconfig of glibc 2.36 wrote for a root with two libraries of the driver in /opt/nvidia/lib64.
TEST_P(NvidiaDriverFiles, FoldersThatOnlyTheLoadersCacheNamesAreSearched) {
  move("/usr/lib64", "/opt/nvidia/lib64");
  for (const char* cache : {"ld.so.cache", "ld.so.cache-compat"}) {
    fs::create_directories(in_root("/etc"));
    fs::copy_file(source_folder() / "tests/golden/nvidia" / cache, in_root("/etc/ld.so.cache"),
                  fs::copy_options::overwrite_existing);
    EXPECT_THAT(mounts({"compute", "utility"}),
                Contains(Pair(kRedHat + "libcuda.so.1", "/opt/nvidia/lib64/libcuda.so." + kVersion)))
        << cache;
  }
}

TEST_P(NvidiaDriverFiles, ABrokenCacheCostsNothing) {
  const Mounts without = mounts({"all"});
  std::ifstream file(source_folder() / "tests/golden/nvidia/ld.so.cache-compat", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t size = 0; size < whole.size(); size += 13) {
    write("/etc/ld.so.cache", whole.substr(0, size));
    EXPECT_EQ(mounts({"all"}), without) << size;
  }
  write("/etc/ld.so.cache", whole.substr(0, 0x54) + "\xff\xff\xff\xff" + whole.substr(0x58));  // number of entries
  EXPECT_EQ(mounts({"all"}), without);
}

TEST_P(NvidiaDriverFiles, WhatCannotBeReadCostsNothingElse) {
  const Mounts before = mounts({"all"});
  link("/usr/lib64/libnvidia-gone.so." + kVersion, "/nowhere");
  link("/usr/lib64/libnvidia-loop.so." + kVersion, "libnvidia-loop.so." + kVersion);
  link("/usr/lib64/libnvidia-out.so." + kVersion, "../../../../../../../../../etc/passwd");
  fs::create_directories(in_root("/usr/lib64/libnvidia-folder.so." + kVersion));
  link("/usr/lib/nvidia/broken", "/nowhere");
  write("/usr/lib/wsl", "no folder\n");
  EXPECT_EQ(mounts({"all"}), before);
}

// Debian's 470: libnvidia-nvvm has a version of its own, and libcuda loads it by a name without any.
TEST_P(NvidiaDriverFiles, ADriverOf470HasItsCompilers) {
  fs::remove(in_root("/usr/lib64/libnvidia-nvvm.so"));
  fs::remove(in_root("/usr/lib64/libnvidia-nvvm.so." + kVersion));
  write_library("/usr/lib64/libnvidia-nvvm.so.4.0.0", "libnvidia-nvvm.so.4");
  link("/usr/lib64/libnvidia-nvvm.so.4", "libnvidia-nvvm.so.4.0.0");
  write_library("/usr/lib64/libnvidia-compiler.so." + kVersion, "libnvidia-compiler.so." + kVersion);
  const Mounts found = mounts({"compute", "utility"});
  for (const char* name : {"libnvidia-nvvm.so", "libnvidia-nvvm.so.4"})
    EXPECT_THAT(found, Contains(Pair(kDebian + name, "/usr/lib64/libnvidia-nvvm.so.4.0.0")));
  EXPECT_THAT(found, Contains(Key(kDebian + "libnvidia-compiler.so." + kVersion)));
}

// NVIDIA's RPM packages (nvidia-driver.spec): the file has the SONAME, and the full name is a link to it.
TEST_P(NvidiaDriverFiles, ALibraryMayHaveItsVersionInALinkAlone) {
  fs::remove(in_root("/usr/lib64/libGLX_nvidia.so.0"));
  move("/usr/lib64/libGLX_nvidia.so." + kVersion, "/usr/lib64/libGLX_nvidia.so.0");
  link("/usr/lib64/libGLX_nvidia.so." + kVersion, "libGLX_nvidia.so.0");
  write_library("/usr/lib64/libother.so.6", "libother.so.6");
  link("/usr/lib64/libnvidia-link.so." + kVersion, "libother.so.6");
  const Mounts found = mounts({"graphics"});
  for (const std::string& name : {std::string("libGLX_nvidia.so.0"), "libGLX_nvidia.so." + kVersion})
    EXPECT_THAT(found, Contains(Pair(kRedHat + name, "/usr/lib64/libGLX_nvidia.so.0")));
  EXPECT_THAT(found, Contains(Pair(kDebian + "libGLX_nvidia.so.0", "/usr/lib64/libGLX_nvidia.so.0")));
  EXPECT_THAT(found, Not(Contains(Key(HasSubstr("libother"))))) << "the link is the driver's, and the library is not";
}

TEST_P(NvidiaDriverFiles, ConfigurationIsFoundWhereverPackagesHaveIt) {
  const std::map<std::string, std::string> where{
      {"/usr/share/vulkan/icd.d/nvidia_icd.x86_64.json", "/etc/vulkan/icd.d/nvidia_icd.x86_64.json"},
      {"/vulkan/icd.d/nvidia_layers.json", "/etc/vulkan/icd.d/nvidia_layers.json"},
      {"/usr/share/egl/egl_external_platform.d/09_nvidia_wayland2.json",
       "/usr/share/egl/egl_external_platform.d/09_nvidia_wayland2.json"},
      {"/usr/local/share/egl/egl_external_platform.d/20_nvidia_xcb.json",
       "/usr/share/egl/egl_external_platform.d/20_nvidia_xcb.json"},
      {"/etc/egl/egl_external_platform.d/20_nvidia_xlib.json",
       "/usr/share/egl/egl_external_platform.d/20_nvidia_xlib.json"}};
  for (const auto& [source, target] : where) write(source);
  write("/etc/X11/xorg.conf.d/10-nvidia.conf");
  write("/usr/share/X11/xorg.conf.d/nvidia-drm-outputclass.conf");
  const Mounts graphics = mounts({"graphics"});
  for (const auto& [source, target] : where) EXPECT_THAT(graphics, Contains(Pair(target, source)));
  EXPECT_THAT(graphics, Not(Contains(Key(HasSubstr("X11")))));
  EXPECT_THAT(mounts({"display"}),
              IsSupersetOf({Pair("/usr/share/X11/xorg.conf.d/10-nvidia.conf", "/etc/X11/xorg.conf.d/10-nvidia.conf"),
                            Pair("/usr/share/X11/xorg.conf.d/nvidia-drm-outputclass.conf",
                                 "/usr/share/X11/xorg.conf.d/nvidia-drm-outputclass.conf")}));
  EXPECT_THAT(mounts({"compute", "utility"}), Not(Contains(Key(HasSubstr(".json")))));
}

TEST_P(NvidiaDriverFiles, FirmwareIsFoundWhereTheKernelLooks) {
  const std::string image = "/nvidia/" + kVersion + "/gsp_ga10x.bin";
  const std::string in_container = "/lib/firmware" + image;
  EXPECT_THAT(mounts({"utility"}), Contains(Pair(in_container, in_container)));
  fs::create_directories(gpus->procfs() / "sys/kernel");
  std::ofstream(gpus->procfs() / "sys/kernel/osrelease") << "6.12.0-1-amd64\n";
  write("/lib/firmware/6.12.0-1-amd64" + image);
  write("/lib/firmware/6.12.0-1-amd64/nvidia/" + kVersion + "/ucodes_gb10x.bin");
  EXPECT_THAT(mounts({"utility"}),
              IsSupersetOf({Pair(in_container, "/lib/firmware/6.12.0-1-amd64" + image),
                            Pair("/lib/firmware/nvidia/" + kVersion + "/ucodes_gb10x.bin",
                                 "/lib/firmware/6.12.0-1-amd64/nvidia/" + kVersion + "/ucodes_gb10x.bin")}));
  fs::create_directories(gpus->sysfs() / "module/firmware_class/parameters");
  std::ofstream(gpus->sysfs() / "module/firmware_class/parameters/path") << "/opt/firmware\n";
  write("/opt/firmware" + image);
  EXPECT_THAT(mounts({"utility"}), Contains(Pair(in_container, "/opt/firmware" + image)));
}

TEST_P(NvidiaDriverFiles, ProgramsOfImexAreGiven) {
  write("/usr/bin/nvidia-imex");
  write("/usr/bin/nvidia-imex-ctl");
  write("/usr/bin/nvidia-xconfig");
  EXPECT_THAT(mounts({"compute", "utility"}),
              AllOf(Contains(Key("/usr/bin/nvidia-imex")), Contains(Key("/usr/bin/nvidia-imex-ctl")),
                    Not(Contains(Key("/usr/bin/nvidia-xconfig")))));
  EXPECT_THAT(mounts({"display"}), Contains(Key("/usr/bin/nvidia-xconfig")));
}

TEST_P(NvidiaDriverFiles, SocketsAreFoundInEitherFolder) {
  write("/var/run/nvidia-persistenced/socket");
  EXPECT_THAT(mounts({"utility"}),
              Contains(Pair("/run/nvidia-persistenced/socket", "/var/run/nvidia-persistenced/socket")));
  write("/run/nvidia-persistenced/socket");
  EXPECT_THAT(mounts({"utility"}),
              Contains(Pair("/run/nvidia-persistenced/socket", "/run/nvidia-persistenced/socket")));
}

TEST_P(NvidiaDriverFiles, MpsOfTheNodeServesClaimsWithoutTheirOwn) {
  fs::create_directories(in_root("/tmp/nvidia-mps"));
  EXPECT_THAT(mounts({"compute", "utility"}), Not(Contains(Key("/tmp/nvidia-mps")))) << "no daemon runs";
  write("/tmp/nvidia-mps/control");
  EXPECT_THAT(mounts({"compute", "utility"}), Contains(Pair("/tmp/nvidia-mps", "/tmp/nvidia-mps")));
  EXPECT_THAT(mounts({"utility"}), Not(Contains(Key("/tmp/nvidia-mps"))));
}

TEST_P(NvidiaDriverFiles, LinksToDisplayNodesAreNodes) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "l40s", .driver = kVersion});
  mounts({"graphics"});
  const std::string slot = "/dev/dri/by-path/pci-" + gpus->bus_id(0);
  EXPECT_THAT(nodes_of(edits->allocations[0]),
              UnorderedElementsAre("c 195:0 /dev/nvidia0", "c 226:1 /dev/dri/card1", "c 226:1 " + slot + "-card",
                                   "c 226:128 /dev/dri/renderD128", "c 226:128 " + slot + "-render"));
  fs::remove_all(gpus->devfs() / "dri/by-path");
  mounts({"graphics"});
  EXPECT_THAT(nodes_of(edits->allocations[0]),
              UnorderedElementsAre("c 195:0 /dev/nvidia0", "c 226:1 /dev/dri/card1", "c 226:128 /dev/dri/renderD128"));
  mounts({"compute"});
  EXPECT_THAT(nodes_of(edits->allocations[0]), ElementsAre("c 195:0 /dev/nvidia0"));
}

TEST_P(NvidiaDriverFiles, OnlyMigInstancesWithGraphicsHaveDisplayNodes) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "rtx-pro-6000", .driver = kVersion});
  gpus->set_mig_mode(0, true);
  gpus->create_instance(0, 47, 0);  // 1g.24gb+gfx
  gpus->create_instance(0, 14, 3);  // 1g.24gb
  ASSERT_TRUE(start_again({{"driver_capabilities", std::vector<std::string>{"graphics"}}}));
  ModuleClaim draws = claim_of("u1", {"gpu-0-mig-1g24gb-gfx-47-0"}),
              computes = claim_of("u2", {"gpu-0-mig-1g24gb-14-3"});
  edits = prepare(draws);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(nodes_of(edits->allocations[0]), Contains(HasSubstr("/dev/dri/renderD128")));
  edits = prepare(computes);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(nodes_of(edits->allocations[0]), Not(Contains(HasSubstr("/dev/dri"))));
}

}  // namespace
}  // namespace cardcage
