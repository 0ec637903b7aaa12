// Installation of the hook's program on the node, and its protection from changes.
#include "host/sandbox/hook_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <mutex>

#include "sim/fuse/fuse_server.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/live_core.h"
#include "tests/fakes/small_disk.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A disk with the hook's program, on which reads block until respond().
class HangingDisk : private FuseServer::Files {
 public:
  explicit HangingDisk(const std::filesystem::path& folder) : server_(folder, "hanging-disk", *this) {}
  bool mounted() const { return server_.mounted(); }
  void respond() {
    const std::lock_guard lock(mutex_);
    hangs_ = false;
    for (const FuseServer::Request& request : waiting_) server_.reply(request, content());
  }

 private:
  static FuseServer::Reply content() { return {.error = 0, .body = "this version"}; }
  unsigned mode(const std::string& path) override {
    if (path.empty()) return S_IFDIR | 0755;
    return path == "cardcage-hook" ? S_IFREG | 0755 : 0;
  }
  std::string link(const std::string&) override { return ""; }
  std::vector<std::string> list(const std::string&) override { return {"cardcage-hook"}; }
  FuseServer::Answer read(const FuseServer::Request& request, const std::string&) override {
    const std::lock_guard lock(mutex_);
    if (!hangs_) return content();
    waiting_.push_back(request);
    return std::nullopt;
  }
  FuseServer::Answer write(const FuseServer::Request&, const std::string&, std::string) override {
    return FuseServer::Reply{.error = EROFS, .body = {}};
  }

  std::mutex mutex_;
  bool hangs_ = true;
  std::vector<FuseServer::Request> waiting_;
  FuseServer server_;
};

class HookFileTest : public ::testing::Test {
 protected:
  HookFileTest() { write(program, "this version"); }
  static void write(const std::filesystem::path& file, std::string_view text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    std::filesystem::permissions(file, std::filesystem::perms(0755));
  }
  // Installs at the place where it can be executed.
  std::shared_ptr<HookFile> hook_file() { return hook_file(hooks); }
  std::shared_ptr<HookFile> hook_file(const std::filesystem::path& in) {
    return std::make_shared<HookFile>(core.context(), clock, HookFile::Places{program, in, "/run/cardcage"});
  }
  // Begins a check unless one is in progress. Returns the result of the last check; waits for the first one, and for
  // one after a failure.
  Status look(HookFile& files) {
    core.call([&] {
      files.check();
      return true;
    });
    return ready(files);
  }
  Status ready(HookFile& files, Duration limit = 8s) { return core.run(files.ready(clock.now() + limit)); }
  static std::string text_of(const Status& status) { return status ? "ok" : status.error().message; }
  static std::string content(const std::filesystem::path& file) { return read_file(file, 1 << 20).value_or("-"); }

  ScratchFolder folder;
  const std::filesystem::path program = folder / "bin/cardcage-hook", hooks = folder / "hooks",
                              copy = hooks / "cardcage-hook";
  SystemClock clock;
  LiveCore core;
};

TEST_F(HookFileTest, IsInstalledBeforeAnyClaimNeedsIt) {
  const auto files = hook_file();
  EXPECT_EQ(text_of(look(*files)), "ok");
  EXPECT_EQ(content(copy), "this version");
  EXPECT_EQ(std::filesystem::status(copy).permissions(), std::filesystem::perms(0755));
}

TEST_F(HookFileTest, AnotherVersionOfTheSameSizeIsReplaced) {
  write(copy, "that version");
  std::filesystem::last_write_time(copy, std::filesystem::file_time_type::clock::now() + 1h);
  EXPECT_EQ(text_of(ready(*hook_file())), "ok");
  EXPECT_EQ(content(copy), "this version");
}

TEST_F(HookFileTest, TheSameVersionStaysTheSameFile) {
  write(copy, "this version");
  const FileStamp before = stamp_of(copy);
  EXPECT_EQ(text_of(ready(*hook_file())), "ok");
  EXPECT_EQ(stamp_of(copy), before) << "a runtime may be starting it";
}

TEST_F(HookFileTest, ComesBackWhenItWasRemovedOrChanged) {
  const auto files = hook_file();
  ASSERT_EQ(text_of(look(*files)), "ok");
  const auto comes_back = [&] {
    for (const Instant end = clock.now() + 8s; clock.now() < end; std::this_thread::sleep_for(1ms)) {
      (void)look(*files);
      if (content(copy) == "this version" && ::access(copy.c_str(), X_OK) == 0) return true;
    }
    return false;
  };
  std::filesystem::remove_all(hooks);
  EXPECT_TRUE(comes_back());
  write(copy, "that version");
  EXPECT_TRUE(comes_back());
  std::filesystem::permissions(copy, std::filesystem::perms(0644));
  EXPECT_TRUE(comes_back());
}

TEST_F(HookFileTest, AFolderThatOthersMayWriteIsRefused) {
  std::filesystem::create_directory(hooks);
  std::filesystem::permissions(hooks, std::filesystem::perms(0777));
  const auto files = hook_file();
  EXPECT_THAT(text_of(look(*files)), AllOf(HasSubstr("would run " + copy.native() + " as root: "), HasSubstr("0777")));
  EXPECT_FALSE(std::filesystem::exists(copy));
  std::filesystem::permissions(hooks, std::filesystem::perms(0755));
  EXPECT_EQ(text_of(look(*files)), "ok");
}

TEST_F(HookFileTest, AFileSystemWithoutPermissionToExecuteIsNamed) {
  NoExecFolder state(folder / "state");
  if (!state.works()) GTEST_SKIP() << "no file system can be mounted here";
  const auto files = hook_file(state.path() / "hooks");
  const std::string problem =
      "containers that need the container hook cannot start: the file system of " + (state.path() / "hooks").native() +
      " is mounted noexec, and the container runtime cannot start programs there; set [node] hooks_dir to a folder of "
      "another file system";
  EXPECT_EQ(text_of(look(*files)), problem);
  EXPECT_EQ(core.call([&] { return text_of(files->state()); }), problem) << "for the status of the daemon";
  ASSERT_TRUE(state.allow());
  EXPECT_EQ(text_of(ready(*files)), "ok") << "the next prepare checks again";
  EXPECT_EQ(core.call([&] { return text_of(files->state()); }), "ok");
}

TEST_F(HookFileTest, AProgramThatIsMissingBesideTheDaemonIsNamed) {
  std::filesystem::remove(program);
  EXPECT_THAT(text_of(ready(*hook_file())), HasSubstr("install cardcage-hook beside cardcage"));
}

TEST_F(HookFileTest, ADiskThatHangsHoldsNeitherTheCoreNorAPrepare) {
  std::filesystem::create_directories(hooks);
  HangingDisk disk(hooks);
  if (!disk.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  const auto files = hook_file();
  EXPECT_EQ(text_of(ready(*files, 50ms)), "the program of the container hook is still being written to " +
                                              hooks.native() + "; check the disk of this folder");
  disk.respond();
  EXPECT_EQ(text_of(ready(*files)), "ok");
  EXPECT_EQ(content(copy), "this version");
}

TEST_F(HookFileTest, AHookNamesTheCopyAndItsArguments) {
  const auto files = hook_file();
  const Hook hook = files->sandbox_hook("d", "u");
  EXPECT_EQ(hook.name, "createRuntime");
  EXPECT_EQ(hook.path, copy);
  EXPECT_THAT(hook.args, ElementsAre(copy, "/run/cardcage", "d", "u"));
  Edits edits;
  edits.locked_memory = {4096};
  edits.ld_paths = {{"/usr/lib64", ""}, {"/compat", "libcuda.so.580"}};
  edits.proc_texts = {{"/proc/driver/x", "a: 1\n"}};
  files->make_hooks(edits);
  ASSERT_THAT(edits.hooks, SizeIs(2));
  EXPECT_EQ(edits.hooks[0].name, "createRuntime");
  EXPECT_THAT(edits.hooks[0].args, ElementsAre(copy, "lock-memory", "4096"));
  EXPECT_EQ(edits.hooks[1].name, "createContainer");
  EXPECT_THAT(edits.hooks[1].args, ElementsAre(copy, "change-root", "ld-path", "/usr/lib64", "newer-than",
                                               "libcuda.so.580", "/compat", "proc-text", "/proc/driver/x", "a: 1\n"));
  edits.hooks.clear();
  EXPECT_TRUE(edits.empty()) << "edits that became a hook are removed";
}

}  // namespace
}  // namespace cardcage
