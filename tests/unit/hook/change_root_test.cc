// The hook's program on the root of a container, in a mount namespace like a runtime's. ldconfig checks the caches.
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <regex>

#include "host/core/file.h"
#include "host/hook/library_cache.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/built_files.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ChangeRootTest : public ::testing::Test {
 protected:
  struct Ended {
    int status = -1;
    std::string said;  // output of the hook, and of the script after it
  };

  void SetUp() override {
    if (std::system("unshare --mount true 2>/dev/null") != 0) GTEST_SKIP() << "no mount namespace can be made here";
    for (const char* const one : {"proc", "etc/ld.so.conf.d", "lib", "lib64", "usr/lib64", "usr/local/cuda/compat"})
      fs::create_directories(root / one);
    std::ofstream(bundle / "config.json") << R"({"ociVersion":"1.0.2","root":{"path":"rootfs"}})";
    add_text("lib64/ld-linux-x86-64.so.2", "");
    add_text("lib/ld-linux-aarch64.so.1", "");
    add_text("etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n/lib\n");
  }

  void add_text(const fs::path& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  // Adds a copy of a real library, whose SONAME is libz.so.1 or libcap.so.2.
  void add_library(const fs::path& path, const std::string& soname = "libz.so.1") const {
    const LibraryCache machine = LibraryCache::read(read_file("/etc/ld.so.cache", 64u << 20).value()).value();
    ASSERT_FALSE(machine.find(soname).empty()) << soname;
    fs::create_directories((root / path).parent_path());
    fs::copy_file(fs::canonical(machine.find(soname)), root / path);
  }
  // Adds a library that run() mounts into the container, as a driver's is.
  void mount_library(const fs::path& path) {
    add_library(path);
    mounts += fmt::format("mount --bind '{0}' '{0}'\n", (root / path).native());
  }
  // Makes the root's cache as the image's build does.
  void bake_cache() const { ASSERT_EQ(std::system(fmt::format("/sbin/ldconfig -r '{}'", root.native()).c_str()), 0); }
  // Runs the hook as a runtime runs the hook of a CDI file. `before` and `after` run in the same namespace.
  Ended run(const std::string& changes, const std::string& before = "", const std::string& after = "") {
    std::ofstream(bundle / "state.json") << fmt::format(R"({{"pid":1,"bundle":"{}"}})", bundle.path().native());
    std::ofstream(bundle / "script") << fmt::format("exec 2>&1\nset -e\n{}\n{}\n'{}' change-root {} <state.json\n{}\n",
                                                    mounts, before, built_program("cardcage-hook").native(), changes,
                                                    after);
    const int status = std::system(
        fmt::format("cd '{}' && unshare --mount --propagation private sh script >said", bundle.path().native())
            .c_str());
    return {WEXITSTATUS(status), text(bundle / "said")};
  }
  static std::string text(const fs::path& path) { return read_file(path, 64u << 20).value_or("(no such file)"); }
  std::string text_of(const fs::path& inside) const { return text(root / inside); }
  // The path of the library that the container's loader finds by this name.
  std::string found(const std::string& name) const {
    const auto cache = LibraryCache::read(text_of("etc/ld.so.cache"));
    return cache ? std::string(cache->find(name)) : "(no cache)";
  }

  ScratchFolder bundle;
  const fs::path root = bundle / "rootfs";
  std::string mounts;
};

TEST_F(ChangeRootTest, LibrariesThatAreMountedAreFoundByFileNameAndSoname) {
  mount_library("usr/lib64/libdriver.so.580.65.06");
  add_library("usr/lib64/libother.so.3", "libcap.so.2");
  bake_cache();
  const std::string baked = text_of("etc/ld.so.cache");
  const Ended ended = run("ld-path /usr/lib64", "", "/sbin/ldconfig -p -C rootfs/etc/ld.so.cache");
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_THAT(ended.said, HasSubstr("libdriver.so.580.65.06 (libc6,x86-64) => /usr/lib64/libdriver.so.580.65.06"));
  EXPECT_EQ(found("libz.so.1"), "/usr/lib64/libdriver.so.580.65.06");
  EXPECT_EQ(found("libother.so.3"), std::string(LibraryCache::read(baked)->find("libother.so.3")))
      << "a library of the image is unchanged";
  EXPECT_EQ(text_of("etc/ld.so.conf.d/00-cardcage.conf"), "/usr/lib64\n");
}

// Programs look into the folder that the cache names for a file of that name.
TEST_F(ChangeRootTest, ASonameIsThatOfTheFileWithThisName) {
  for (const char* const name : {"libz.so", "libz.so.1", "libz.so.1.2.13"}) mount_library(fs::path("usr/lib64") / name);
  EXPECT_EQ(run("ld-path /usr/lib64").status, 0);
  EXPECT_EQ(found("libz.so.1"), "/usr/lib64/libz.so.1");
}

TEST_F(ChangeRootTest, AMountedLibraryGoesBeforeThoseThatTheImageHasBakedIn) {
  add_library("usr/local/cuda/compat/libz.so.1");
  add_text("etc/ld.so.conf.d/000_cuda.conf", "/usr/local/cuda/compat\n");
  mount_library("usr/lib64/libz.so.1");
  bake_cache();
  ASSERT_EQ(found("libz.so.1"), "/usr/local/cuda/compat/libz.so.1");
  const Ended ended =
      run("ld-path /usr/lib64", "", "/sbin/ldconfig -r rootfs; /sbin/ldconfig -p -C rootfs/etc/ld.so.cache");
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_THAT(ended.said, HasSubstr("libz.so.1 (libc6,x86-64) => /usr/lib64/libz.so.1"))
      << "also after a later ldconfig";
}

TEST_F(ChangeRootTest, ANewerLibraryOfTheImageGoesFirst) {
  mount_library("usr/lib64/libcuda.so.1");
  add_library("usr/local/cuda/compat/libcuda.so.595.10");
  bake_cache();
  const std::string changes = "newer-than libcuda.so.{} /usr/local/cuda/compat ld-path /usr/lib64";
  ASSERT_EQ(run(fmt::format(fmt::runtime(changes), 595)).status, 0);
  EXPECT_EQ(found("libz.so.1"), "/usr/lib64/libcuda.so.1") << "the node's is as new";
  ASSERT_EQ(run(fmt::format(fmt::runtime(changes), 580)).status, 0);
  EXPECT_EQ(found("libz.so.1"), "/usr/local/cuda/compat/libcuda.so.595.10");
  EXPECT_EQ(text_of("etc/ld.so.conf.d/00-cardcage.conf"), "/usr/local/cuda/compat\n/usr/lib64\n");
  add_library("usr/local/cuda/compat/libcuda.so.600.1");
  ASSERT_EQ(run(fmt::format(fmt::runtime(changes), 580)).status, 0);
  EXPECT_EQ(found("libcuda.so.1"), "/usr/lib64/libcuda.so.1") << "a mix of versions is never intended";
}

TEST_F(ChangeRootTest, AnImageWithoutCacheGetsOne) {
  fs::remove_all(root / "etc");
  fs::create_directory(root / "etc");
  mount_library("usr/lib64/libcuda.so.1");
  const Ended ended = run("ld-path /usr/lib64");
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_EQ(found("libcuda.so.1"), "/usr/lib64/libcuda.so.1");
  EXPECT_EQ(text_of("etc/ld.so.conf"), "include /etc/ld.so.conf.d/*.conf\n");
}

TEST_F(ChangeRootTest, WhereTheImageCannotBeWrittenTheCacheIsMounted) {
  mount_library("usr/lib64/libcuda.so.1");
  bake_cache();
  const std::string baked = text_of("etc/ld.so.cache");
  const Ended ended =
      run("ld-path /usr/lib64", "mount --bind rootfs rootfs\n" + mounts + "mount -o remount,bind,ro rootfs",
          "/sbin/ldconfig -p -C rootfs/etc/ld.so.cache; echo x >rootfs/etc/ld.so.cache || echo read only");
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_THAT(ended.said,
              AllOf(HasSubstr("libcuda.so.1 (libc6,x86-64) => /usr/lib64/libcuda.so.1"), HasSubstr("read only")));
  EXPECT_EQ(text_of("etc/ld.so.cache"), baked) << "outside the container's namespace";
  EXPECT_FALSE(fs::exists(root / "etc/ld.so.conf.d/00-cardcage.conf"));
}

// A pod may mount the node's /etc.
TEST_F(ChangeRootTest, AFolderOfTheNodeInTheContainerStaysAsItIs) {
  mount_library("usr/lib64/libcuda.so.1");
  bake_cache();
  const fs::path etc = bundle / "etc-of-the-node";
  fs::copy(root / "etc", etc, fs::copy_options::recursive);
  const std::string before = text(etc / "ld.so.cache");
  const std::string mount = fmt::format("mount --bind '{}' rootfs/etc", etc.native());
  const Ended ended = run("ld-path /usr/lib64", mount, "/sbin/ldconfig -p -C rootfs/etc/ld.so.cache");
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_THAT(ended.said,
              AllOf(HasSubstr("the hook leaves /etc/ld.so.cache alone: it is not a regular file of the image"),
                    Not(HasSubstr("libcuda"))));
  EXPECT_EQ(text(etc / "ld.so.cache"), before);
  EXPECT_FALSE(fs::exists(etc / "ld.so.conf.d/00-cardcage.conf"));
}

// A volume mounted with Bidirectional shows its mounts to the node.
TEST_F(ChangeRootTest, NoMountReachesTheNode) {
  add_text("proc/driver/nvidia/params", "ModifyDeviceFiles: 1\n");
  const Ended ended =
      run("proc-text /proc/driver/nvidia/params x", "mount --bind rootfs rootfs && mount --make-shared rootfs",
          "cat rootfs/proc/driver/nvidia/params");
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_EQ(ended.said, "ModifyDeviceFiles: 1\n");
}

TEST_F(ChangeRootTest, LinksOfTheImageLeadNowhereElse) {
  const fs::path outside = bundle / "outside";
  fs::create_directory(outside);
  std::ofstream(outside / "ld.so.cache") << "the node's";
  mount_library("usr/lib64/libcuda.so.1");
  fs::remove_all(root / "etc/ld.so.conf.d");
  fs::create_directory_symlink(outside, root / "etc/ld.so.conf.d");
  fs::create_symlink(outside / "ld.so.cache", root / "etc/ld.so.cache");
  const Ended ended = run("ld-path /usr/lib64");
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_EQ(text(outside / "ld.so.cache"), "the node's");
  EXPECT_EQ(std::distance(fs::directory_iterator(outside), {}), 1);
  EXPECT_TRUE(fs::is_symlink(root / "etc/ld.so.cache")) << "the purpose of the link is unknown";

  fs::remove(root / "etc/ld.so.conf.d");
  fs::create_directory(root / "etc/ld.so.conf.d");
  fs::remove(root / "etc/ld.so.cache");
  fs::create_symlink("/secret", root / "etc/ld.so.conf.d/00-cardcage.conf");
  add_text("secret", "/usr/lib\nTOP SECRET\n");
  EXPECT_EQ(run("ld-path /usr/lib64").status, 0);
  EXPECT_EQ(text_of("etc/ld.so.conf.d/00-cardcage.conf"), "/usr/lib64\n") << "a file that only root may read";

  fs::remove_all(root / "etc");
  fs::create_directory_symlink("../../outside", root / "etc");
  EXPECT_EQ(run("ld-path /usr/lib64").status, 0);
  EXPECT_EQ(text(outside / "ld.so.cache"), "the node's");
  EXPECT_EQ(std::distance(fs::directory_iterator(outside), {}), 1);
}

TEST_F(ChangeRootTest, ImagesWithoutGlibcStayAsTheyAre) {
  mount_library("usr/lib64/libcuda.so.1");
  add_text("lib/ld-musl-x86_64.so.1", "");
  EXPECT_EQ(run("ld-path /usr/lib64").status, 0);
  EXPECT_FALSE(fs::exists(root / "etc/ld.so.cache"));
  fs::remove(root / "lib/ld-musl-x86_64.so.1");
  fs::remove(root / "lib64/ld-linux-x86-64.so.2");
  fs::remove(root / "lib/ld-linux-aarch64.so.1");
  EXPECT_EQ(run("ld-path /usr/lib64").status, 0);
  EXPECT_FALSE(fs::exists(root / "etc/ld.so.cache"));
}

TEST_F(ChangeRootTest, AnImageOfGlibcMayHaveMuslBesideIt) {
  mount_library("usr/lib64/libcuda.so.1");
  add_text("lib/ld-musl-x86_64.so.1", "");
  bake_cache();
  EXPECT_EQ(run("ld-path /usr/lib64").status, 0);
  EXPECT_EQ(found("libcuda.so.1"), "/usr/lib64/libcuda.so.1");
}

// Default folders have the libraries as well, so the container starts.
TEST_F(ChangeRootTest, AnOddImageStarts) {
  mount_library("usr/lib64/libcuda.so.1");
  const auto starts_with = [&](const std::string& before) {
    const Ended ended = run("ld-path /usr/lib64", before);
    EXPECT_EQ(ended.status, 0) << before << ": " << ended.said;
    return ended.said;
  };
  bake_cache();
  std::ofstream(root / "etc/ld.so.cache", std::ios::app) << std::string(100, 'x');
  const std::string whole = text_of("etc/ld.so.cache");
  fs::resize_file(root / "etc/ld.so.cache", whole.size() / 2);
  EXPECT_THAT(starts_with(""), HasSubstr("/etc/ld.so.cache of the container cannot be read, and stays as it is"));
  EXPECT_EQ(text_of("etc/ld.so.cache"), whole.substr(0, whole.size() / 2));
  starts_with("rm -rf rootfs/etc/ld.so.conf.d; mkfifo rootfs/etc/ld.so.conf.d");
  starts_with("rm -rf rootfs/etc/ld.so.conf.d; ln -s ld.so.conf.d rootfs/etc/ld.so.conf.d");
  starts_with("rm -rf rootfs/etc/ld.so.cache; mkdir rootfs/etc/ld.so.cache");
  starts_with("rm -rf rootfs/etc; echo >rootfs/etc");
  starts_with("rm -rf rootfs/etc; ln -s etc rootfs/etc");
  starts_with("rm -rf rootfs/etc rootfs/proc");
}

TEST_F(ChangeRootTest, FilesThatAreNoLibrariesAreLeftOut) {
  mount_library("usr/lib64/libcuda.so.1");
  for (const char* const one : {"libtext.so.1", "libempty.so.1"}) {
    add_text(fs::path("usr/lib64") / one, std::string(one) == "libtext.so.1" ? "INPUT(-lm)" : "");
    mounts += fmt::format("mount --bind 'rootfs/usr/lib64/{0}' 'rootfs/usr/lib64/{0}'\n", one);
  }
  fs::create_directory(root / "usr/lib64/libfolder.so");
  ASSERT_EQ(std::system(fmt::format("mkfifo '{}'", (root / "usr/lib64/libfifo.so").native()).c_str()), 0);
  const Ended ended = run("ld-path /usr/lib64");
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_EQ(found("libcuda.so.1"), "/usr/lib64/libcuda.so.1");
  for (const char* const one : {"libtext.so.1", "libempty.so.1", "libfolder.so", "libfifo.so"})
    EXPECT_EQ(found(one), "");
}

TEST_F(ChangeRootTest, AnotherHookKeepsWhatTheFirstHasDone) {
  mount_library("usr/lib64/libcuda.so.1");
  mount_library("opt/vendor/libvendor.so.2");
  const std::string hook = built_program("cardcage-hook").native();
  const Ended ended =
      run("ld-path /usr/lib64", "", fmt::format("'{}' change-root ld-path /opt/vendor <state.json", hook));
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_EQ(found("libcuda.so.1"), "/usr/lib64/libcuda.so.1");
  EXPECT_EQ(found("libvendor.so.2"), "/opt/vendor/libvendor.so.2");
  EXPECT_EQ(text_of("etc/ld.so.conf.d/00-cardcage.conf"), "/opt/vendor\n/usr/lib64\n");
}

TEST_F(ChangeRootTest, AFileBelowProcHasAnotherText) {
  add_text("proc/driver/nvidia/params", "ModifyDeviceFiles: 1\nOther: 1\n");
  const Ended ended =
      run("proc-text /proc/driver/nvidia/params 'ModifyDeviceFiles: 0\nOther: 1\n' proc-text /proc/none x", "",
          "cat rootfs/proc/driver/nvidia/params; ls rootfs/proc; grep -c rootfs /proc/self/mounts");
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_EQ(ended.said, "ModifyDeviceFiles: 0\nOther: 1\ndriver\n1\n") << "one mount is left";
  EXPECT_THAT(text_of("proc/driver/nvidia/params"), HasSubstr("ModifyDeviceFiles: 1")) << "on the node";
}

TEST_F(ChangeRootTest, ErrorsNameWhatIsMissing) {
  EXPECT_THAT(run("fly /away").said, HasSubstr("'fly' is unknown or lacks arguments"));
  EXPECT_THAT(run("newer-than libcuda.so.1").said, HasSubstr("lacks arguments"));
  fs::remove(bundle / "config.json");
  const Ended ended = run("ld-path /usr/lib64");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.said, HasSubstr("config.json"));
}

// docs/performance.md has the budget, 20 ms.
TEST_F(ChangeRootTest, TwoHundredLibrariesCostLittle) {
  const LibraryCache machine = LibraryCache::read(text("/etc/ld.so.cache")).value();
  const fs::path library = fs::canonical(machine.find("libz.so.1"));
  fs::create_directories(root / "usr/local/cuda/compat");
  add_library("usr/local/cuda/compat/libcuda.so.900.1");
  for (int i = 0; i < 200; ++i)
    fs::create_hard_link(root / "usr/local/cuda/compat/libcuda.so.900.1",
                         root / fmt::format("usr/local/cuda/compat/lib{}.so.1", i));
  bake_cache();
  const std::string again = fmt::format(
      "for i in 1 2 3 4 5 6 7 8 9; do '{}' change-root newer-than libcuda.so.1 /usr/local/cuda/compat <state.json; "
      "done",
      built_program("cardcage-hook").native());
  const auto begun = std::chrono::steady_clock::now();
  const Ended ended = run("newer-than libcuda.so.1 /usr/local/cuda/compat", "", again);
  const auto each = (std::chrono::steady_clock::now() - begun) / 10;
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_EQ(found("lib7.so.1"), "/usr/local/cuda/compat/lib7.so.1");
  RecordProperty("us", static_cast<int>(each / std::chrono::microseconds(1)));
  EXPECT_LT(each, std::chrono::milliseconds(100)) << "several times the budget, for machines that do other work";
}

}  // namespace
}  // namespace cardcage
