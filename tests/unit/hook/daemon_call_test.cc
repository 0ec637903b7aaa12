// The hook's call of a daemon that does not respond: it always ends at its deadline.
#include "host/hook/daemon_call.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "sim/scratch_folder.h"
#include "tests/fakes/deaf_socket.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DaemonCallTest : public ::testing::Test {
 protected:
  Status ask(std::chrono::milliseconds limit = 300ms) const {
    const auto any_file = std::make_shared<const UniqueFd>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return ask_daemon(run_dir.path(), request, any_file, std::chrono::steady_clock::now() + limit);
  }
  static UniqueFd accept_within(const UniqueFd& listener, std::chrono::milliseconds limit) {
    pollfd polled{.fd = listener.get(), .events = POLLIN, .revents = 0};
    ::poll(&polled, 1, static_cast<int>(limit.count()));
    return UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  static std::string text_of(const Status& status) { return status ? "ok" : status.error().message; }

  const HookRequest request{"nic.example.com", "u1", "", "", "", "77aa"};
  ScratchFolder run_dir;
  const std::filesystem::path socket = run_dir / std::string(kHookSocket);
};

TEST_F(DaemonCallTest, ADaemonThatIsStoppedWithAFullQueueDoesNotHoldTheContainer) {
  const DeafSocket stopped(socket);
  ASSERT_TRUE(stopped.works());
  EXPECT_THAT(text_of(ask()), HasSubstr("the cardcage daemon does not accept connections at " + socket.native()));
}

TEST_F(DaemonCallTest, ADaemonThatIsAwayIsNamed) {
  EXPECT_THAT(text_of(ask()), HasSubstr("the cardcage daemon does not serve " + socket.native()));
}

TEST_F(DaemonCallTest, ADaemonThatAcceptsAndSaysNothingIsGivenUp) {
  const DeafSocket slow(socket);
  ASSERT_TRUE(slow.works());
  const UniqueFd first = slow.accept();
  EXPECT_EQ(text_of(ask()), "the cardcage daemon does not respond: out of time");
}

// A daemon of the first protocol ends the connection when it gets a message with six lines or more.
TEST_F(DaemonCallTest, ADaemonOfTheFirstProtocolIsAskedInItsWay) {
  const UniqueFd listener = new_unix_socket();
  ASSERT_EQ(bind_unix(listener, *unix_address(socket)), 0);
  ASSERT_EQ(::listen(listener.get(), 4), 0);
  std::vector<std::string> messages;
  std::thread daemon([&] {
    for (int i = 0; i < 2; ++i) {
      const UniqueFd hook = accept_within(listener, 10s);
      messages.push_back(read_all(hook.get(), kMaxHookMessage, std::chrono::steady_clock::now() + 10s).value_or("-"));
      if (std::ranges::count(messages.back(), '\n') != 5) continue;
      EXPECT_EQ(::write(hook.get(), "ok", 2), 2);
    }
  });
  EXPECT_EQ(text_of(ask(10s)), "ok");
  daemon.join();
  EXPECT_THAT(messages,
              ElementsAre("cardcage-hook/2\nnic.example.com\nu1\n\n\n\n77aa\n", "nic.example.com\nu1\n\n\n\n"));
}

TEST_F(DaemonCallTest, EachByteOfAnAnswerDoesNotStartTheTimeAnew) {
  const auto [reader, writer] = [] {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    return std::pair(std::make_unique<UniqueFd>(ends[0]), std::make_unique<UniqueFd>(ends[1]));
  }();
  std::atomic<bool> done = false;
  std::thread drips([&done, end = writer->get()] {
    while (!done && ::write(end, "x", 1) == 1) std::this_thread::sleep_for(10ms);
  });
  const auto read = read_all(reader->get(), kMaxHookMessage, std::chrono::steady_clock::now() + 200ms);
  done = true;
  drips.join();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace cardcage
