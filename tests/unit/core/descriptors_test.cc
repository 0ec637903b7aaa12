// Descriptors that are passed over a unix socket.
#include "host/core/descriptors.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <string>

namespace cardcage {
namespace {

using ::testing::SizeIs;

class DescriptorsTest : public ::testing::Test {
 protected:
  DescriptorsTest() {
    std::array<int, 2> pair{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
    ours = UniqueFd(pair[0]);
    theirs = UniqueFd(pair[1]);
  }
  static SharedFd open(const char* path) {
    return std::make_shared<const UniqueFd>(::open(path, O_RDONLY | O_CLOEXEC));
  }
  static ino_t inode_of(const SharedFd& descriptor) {
    struct stat its{};
    EXPECT_EQ(::fstat(descriptor->get(), &its), 0);
    return its.st_ino;
  }
  std::string receive() {
    std::array<char, 64> piece{};
    const ssize_t size = receive_with(theirs.get(), piece, received);
    return size < 0 ? "failed" : std::string(piece.data(), static_cast<std::size_t>(size));
  }

  UniqueFd ours, theirs;
  std::deque<SharedFd> received;
};

TEST_F(DescriptorsTest, ArriveInOrderWithTheFirstByte) {
  const SharedFd first = open("/"), second = open("/proc/self/status");
  EXPECT_EQ(send_with(ours.get(), std::string_view("none"), {}), 4);
  EXPECT_EQ(send_with(ours.get(), std::string_view("two"), {first, second}), 3);
  std::string text;
  while (text.size() < 7) text += receive();
  EXPECT_EQ(text, "nonetwo");
  ASSERT_THAT(received, SizeIs(2));
  EXPECT_EQ(inode_of(received[0]), inode_of(first));
  EXPECT_NE(received[0]->get(), first->get());
  EXPECT_EQ(::fcntl(received[1]->get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(DescriptorsTest, TheEndIsNoError) {
  ours = UniqueFd();
  EXPECT_EQ(receive(), "");
  EXPECT_THAT(received, SizeIs(0));
}

TEST_F(DescriptorsTest, LostOnesAreAnError) {
  ASSERT_EQ(send_with(ours.get(), std::string_view("x"), Descriptors(kMaxPassedDescriptors, open("/"))), 1);
  // The process has no free descriptor number for them.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string text = receive();
  const int error = errno;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(text, "failed");
  EXPECT_EQ(error, EMFILE);
}

}  // namespace
}  // namespace cardcage
