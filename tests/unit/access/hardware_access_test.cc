// cardcage-access when it is missing, and when a user starts it.
#include "host/access/hardware_access.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "host/core/unique_fd.h"
#include "host/process/own_programs.h"
#include "tests/fakes/run_task.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string read_all(int descriptor) {
  std::string all;
  std::array<char, 4096> piece{};
  for (ssize_t size = 0; (size = ::read(descriptor, piece.data(), piece.size())) > 0;)
    all.append(piece.data(), static_cast<std::size_t>(size));
  return all;
}

// Makes the calling process see an empty folder instead; false without the privilege.
bool hide(const std::filesystem::path& folder) {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", folder.c_str(), "tmpfs", 0, nullptr) == 0;
}

std::string error_of_an_access() {
  asio::io_context core;
  SystemClock clock;
  auto making =
      make_access(core, clock, {.device = {"m", "gpu-0"}, .what = "a write", .message = {}},
                  clock.now() + std::chrono::seconds(5), std::make_shared<StuckDevices>(), [](const auto&) {});
  const auto made = run_task(core, std::move(making));
  return made ? "it succeeded" : to_string(made.error().code) + ": " + made.error().message;
}

TEST(HardwareAccessTest, AMissingProgramIsToBeInstalled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd from_child(ends[0]);
  UniqueFd to_parent(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string told = hide(access_file().value().parent_path()) ? error_of_an_access() : "";
    ::_exit(::write(to_parent.get(), told.data(), told.size()) < 0 ? 1 : 0);
  }
  ASSERT_GT(child, 0);
  to_parent = UniqueFd();
  const std::string told = read_all(from_child.get());
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  if (told.empty()) GTEST_SKIP() << "no file system can be mounted here";
  EXPECT_THAT(told, AllOf(StartsWith("failed precondition: cannot start '"), HasSubstr("No such file or directory"),
                          EndsWith(": install cardcage-access beside cardcage")));
}

TEST(HardwareAccessTest, TheProgramTellsAPersonWhoStartsIt) {
  const std::string command = "'" + access_file().value().native() + "' 2>&1 3>&-";
  std::FILE* const running = ::popen(command.c_str(), "re");
  ASSERT_NE(running, nullptr);
  EXPECT_EQ(read_all(::fileno(running)),
            "cardcage-access is started by the cardcage daemon, for modules with the key `writes`\n");
  EXPECT_EQ(WEXITSTATUS(::pclose(running)), 2);
}

}  // namespace
}  // namespace cardcage
