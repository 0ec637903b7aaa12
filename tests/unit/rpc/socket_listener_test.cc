#include "host/rpc/socket_listener.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fstream>

#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

UniqueFd connected(const std::filesystem::path& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = address_of(path);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return fd;
}

// Leaves a socket file as a killed process does.
void leave_stale_socket(const std::filesystem::path& path) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = address_of(path);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
}

class SocketListenerTest : public CoreFixture {
 protected:
  auto open(const std::filesystem::path& path) {
    return SocketListener::open(core, path, 0750, [this](UniqueFd fd) { accepted.push_back(std::move(fd)); });
  }

  ScratchFolder folder;
  std::vector<UniqueFd> accepted;
};

TEST_F(SocketListenerTest, CreatesItsFolderAndAPrivateSocketWhateverTheUmask) {
  const mode_t umask = ::umask(0);
  const auto listener = open(folder / "plugins/x/dra.sock");
  ::umask(umask);
  ASSERT_TRUE(listener) << listener.error().message;
  struct stat about{};
  ASSERT_EQ(::stat((folder / "plugins/x/dra.sock").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat((folder / "plugins/x").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0750u);
}

TEST_F(SocketListenerTest, AGroupMayConnectWhateverTheUmask) {
  const mode_t umask = ::umask(077);
  const auto listener = SocketListener::open(
      core, folder / "s", 0750, [](UniqueFd) {}, SocketListener::Appearance::kListening, ::getegid());
  ::umask(umask);
  ASSERT_TRUE(listener) << listener.error().message;
  struct stat about{};
  ASSERT_EQ(::stat((folder / "s").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0660u);
  EXPECT_EQ(about.st_gid, ::getegid());
}

TEST_F(SocketListenerTest, PassesOnConnectionsThatChildrenDoNotInherit) {
  const auto listener = open(folder / "s");
  ASSERT_TRUE(listener);
  const UniqueFd one = connected(folder / "s"), two = connected(folder / "s");
  settle();
  ASSERT_EQ(accepted.size(), 2u);
  EXPECT_TRUE(::fcntl(accepted[0].get(), F_GETFD) & FD_CLOEXEC);
  EXPECT_TRUE(::fcntl(accepted[0].get(), F_GETFL) & O_NONBLOCK);
  const UniqueFd three = connected(folder / "s");
  settle();
  EXPECT_EQ(accepted.size(), 3u);
}

TEST_F(SocketListenerTest, RemovesTheSocketWhenItIsDestroyed) {
  {
    const auto listener = open(folder / "s");
    ASSERT_TRUE(listener);
    EXPECT_TRUE((*listener)->present());
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "s"));
  EXPECT_FALSE(connected(folder / "s"));
  settle();
}

TEST_F(SocketListenerTest, ReplacesTheSocketOfADeadProcess) {
  leave_stale_socket(folder / "s");
  const auto listener = open(folder / "s");
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_TRUE(connected(folder / "s"));
}

TEST_F(SocketListenerTest, LeavesALiveOwnerAloneAndNamesIt) {
  const auto owner = open(folder / "s");
  ASSERT_TRUE(owner);
  const auto intruder = open(folder / "s");
  ASSERT_FALSE(intruder);
  EXPECT_EQ(intruder.error().code, Code::kAlreadyExists);
  EXPECT_THAT(intruder.error().message, HasSubstr("is served by process " + std::to_string(::getpid())));
  EXPECT_TRUE((*owner)->present());
}

TEST_F(SocketListenerTest, NeverRemovesOtherFiles) {
  std::ofstream(folder / "s") << "precious";
  const auto refused = open(folder / "s");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is not a socket: remove it"));
  EXPECT_TRUE(std::filesystem::exists(folder / "s"));
}

TEST_F(SocketListenerTest, NoticesThatItsPathIsGoneOrReplaced) {
  auto first = open(folder / "s");
  ASSERT_TRUE(first);
  std::filesystem::remove(folder / "s");
  EXPECT_FALSE((*first)->present());
  const auto second = open(folder / "s");
  ASSERT_TRUE(second);
  EXPECT_FALSE((*first)->present());
  first->reset();
  EXPECT_TRUE((*second)->present()) << "the first one must not take away the second one's path";
}

TEST_F(SocketListenerTest, RefusesAPathThatIsTooLong) {
  const auto refused = open(folder / std::string(120, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("unix sockets allow 107"));
}

}  // namespace
}  // namespace cardcage
