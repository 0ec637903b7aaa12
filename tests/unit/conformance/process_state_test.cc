#include "host/conformance/process_state.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "host/core/file.h"
#include "sim/scratch_folder.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;

TEST(ProcessStateTest, ReadsWhatTheKernelSays) {
  const ScratchFolder proc;
  const auto process = proc / "42";
  const auto write = [](const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    ASSERT_TRUE(write_file_atomically(file, text, 0600, false));
  };
  write(process / "status", "Name:\tworker\nUmask:\t0027\nSigIgn:\t0000000000001000\nSigCgt:\t0000000100000200\n");
  write(process / "stat", "42 (a (worker) 7) S 1 42 42 0 -1 4194304 523 17 0 0 1 2 3 4 20 0 2");
  write(process / "task/42/status", "Name:\tworker\nSigBlk:\t0000000000000000\n");
  write(process / "task/42/children", "43 44 ");
  write(process / "task/45/status", "Name:\tmodule\nSigBlk:\t0000000000000002\n");
  write(process / "fdinfo/7", "pos:\t0\nflags:\t02000002\n");
  std::filesystem::create_directories(process / "fd");
  std::filesystem::create_symlink("/dev/acme0", process / "fd/7");
  std::filesystem::create_symlink("/tmp", process / "cwd");
  write(process / "maps",
        "7f00-7f01 r-xp 00000000 00:01 9    /usr/lib/libc.so.6\n7f02-7f03 rw-s 0 00:05 1    /dev/acme0\n");
  const auto state = read_process(42, proc.path());
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->umask, "0027");
  EXPECT_EQ(state->folder, "/tmp");
  EXPECT_EQ(state->ignored, SignalSet{1} << (SIGPIPE - 1));
  EXPECT_EQ(state->caught, SignalSet{1} << (SIGUSR1 - 1)) << "32 belongs to the C library";
  EXPECT_THAT(state->children, ElementsAre(43, 44));
  EXPECT_EQ(state->ended_children, 17U) << "cminflt of proc_pid_stat(5)";
  EXPECT_EQ(state->threads.at(45).name, "module");
  EXPECT_EQ(state->threads.at(45).blocked, SignalSet{1} << (SIGINT - 1));
  EXPECT_EQ(state->descriptors.at(7).target, "/dev/acme0");
  EXPECT_TRUE(state->descriptors.at(7).close_on_exec);
  EXPECT_THAT(state->mappings, ElementsAre("/dev/acme0"));
}

TEST(ProcessStateTest, ADescriptorThatIsClosedMeanwhileIsLeftOut) {
  const ScratchFolder proc;
  const auto process = proc / "42";
  std::filesystem::create_directories(process / "fd");
  ASSERT_TRUE(write_file_atomically(process / "status", "Name:\tworker\n", 0600, false));
  std::filesystem::create_symlink("anon_inode:[eventfd]", process / "fd/7");  // its fdinfo is gone already
  const auto state = read_process(42, proc.path());
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_TRUE(state->descriptors.empty());
}

TEST(ProcessStateTest, AProcessThatHasExitedIsAnError) {
  const ScratchFolder proc;
  EXPECT_FALSE(read_process(42, proc.path()));
}

TEST(ProcessStateTest, ReadsThisProcess) {
  const int descriptor = ::open("/dev/null", O_RDONLY);
  const auto state = read_process(::getpid());
  ::close(descriptor);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->folder, std::filesystem::current_path());
  EXPECT_TRUE(state->threads.contains(::getpid()));
  EXPECT_FALSE(state->descriptors.at(descriptor).close_on_exec);
}

TEST(ProcessStateTest, DescribesWhatChanged) {
  ProcessState before, after;
  before.threads[1] = {"worker", 0};
  before.descriptors[3] = {"socket:[1]", true};
  before.umask = after.umask = "0022";
  after.folder = before.folder = "/";
  after = before;
  EXPECT_EQ(new_threads(before, after) + new_descriptors(before, after) + changed_settings(before, after), "");
  after.threads[2] = {"poller", ~SignalSet{0}};
  after.threads[3] = {"timer", 0};
  after.descriptors[3] = {"/dev/acme0", true};
  after.descriptors[4] = {"/dev/null", false};
  after.umask = "0000";
  after.folder = "/tmp";
  after.caught = SignalSet{1} << (SIGTERM - 1);
  after.threads[1].blocked = SignalSet{1} << (SIGINT - 1);
  EXPECT_EQ(new_threads(before, after), "thread 'poller', thread 'timer'");
  EXPECT_EQ(threads_that_take_signals(before, after), "thread 'timer'");
  EXPECT_EQ(new_descriptors(before, after), "descriptor 3 (/dev/acme0), descriptor 4 (/dev/null)");
  EXPECT_EQ(descriptors_for_children(before, after), "descriptor 4 (/dev/null)");
  EXPECT_EQ(changed_settings(before, after),
            "the handling of SIGTERM, the mask of SIGINT, umask 0022 to 0000, working folder '/' to '/tmp'");
  after.mappings = {"/sys/bus/pci/devices/0000:3b:00.0/resource0"};
  EXPECT_EQ(open_hardware(before, after),
            "descriptor 3 (/dev/acme0), mapping of /sys/bus/pci/devices/0000:3b:00.0/resource0");
}

TEST(ProcessStateTest, NamesOnlyTheFirstOfMany) {
  ProcessState before, after;
  for (int number = 10; number < 110; ++number) after.descriptors[number] = {"/dev/null", true};
  EXPECT_EQ(new_descriptors(before, after),
            "descriptor 10 (/dev/null), descriptor 11 (/dev/null), descriptor 12 (/dev/null), descriptor 13 "
            "(/dev/null) and 96 more");
}

}  // namespace
}  // namespace cardcage
