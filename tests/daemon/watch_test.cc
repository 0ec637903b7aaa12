// A message in the kernel's log wakes a module.
#include <fcntl.h>

#include <cstring>

#include "host/core/file.h"
#include "host/core/unique_fd.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/built_files.h"

namespace cardcage {
namespace {

class WatchTest : public DaemonTest, public ::testing::WithParamInterface<const char*> {
 protected:
  WatchTest() { configure("devices = [\"gpu:2\"]", kDriver, GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Isolation, WatchTest, ::testing::Values("in-process", "process"), name_of_isolation);

TEST_P(WatchTest, AKernelMessageMakesADeviceUnhealthy) {
  const UniqueFd log(::open("/dev/kmsg", O_RDWR | O_CLOEXEC));
  const std::string message = "<7>cardcage-mock: health gpu-1 bad XidError Xid 79\n";
  if (!log) GTEST_SKIP() << "/dev/kmsg cannot be opened: " << std::strerror(errno);
  const auto watching = read_file(built_module("mock_watch"), std::size_t{64} << 20);
  ASSERT_TRUE(watching) << watching.error().message;
  install_module(*watching);
  start_and_register();
  if (::write(log.get(), message.data(), message.size()) < 0)
    GTEST_SKIP() << "/dev/kmsg cannot be written: " << std::strerror(errno);
  EXPECT_TRUE(shows("devices", "XidError")) << daemon.log();
  EXPECT_TRUE(logged("kernel message: cardcage-mock: health gpu-1 bad XidError Xid 79"));
}

}  // namespace
}  // namespace cardcage
