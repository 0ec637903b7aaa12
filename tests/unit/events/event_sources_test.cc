#include "host/events/event_sources.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_kernel_log.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class EventSourcesTest : public CoreFixture {
 protected:
  EventSources::Listener kernel_messages() {
    EventSources::Listener listener;
    listener.kernel_message = [this](const KernelMessage& message) { messages.push_back(message.text); };
    listener.lost = [this] { ++losses; };
    return listener;
  }
  EventSources::Listener uevents() {
    EventSources::Listener listener;
    listener.uevent = [this](const Uevent& event) { heard.push_back(event); };
    return listener;
  }
  [[nodiscard]] bool hears(const std::string& text) {
    return runs_until([&] { return std::ranges::find(messages, text) != messages.end(); });
  }

  FakeClock clock;
  FakeKernelLog kernel;
  std::vector<std::string> messages;
  std::vector<Uevent> heard;
  int losses = 0;
};

TEST_F(EventSourcesTest, OneReaderServesAll) {
  EventSources sources(core, clock, kernel.place());
  const auto first = sources.subscribe(kernel_messages()), second = sources.subscribe(kernel_messages());
  kernel.say("NVRM: Xid");
  ASSERT_TRUE(runs_until([this] { return messages.size() == 2; }));
  EXPECT_THAT(messages, ElementsAre("NVRM: Xid", "NVRM: Xid"));
  EXPECT_THAT(sources.problems(), IsEmpty());
}

TEST_F(EventSourcesTest, ASourceIsOpenOnlyWhileSomebodyListens) {
  EventSources sources(core, clock, kernel.place());
  auto other = sources.subscribe(uevents());
  settle();
  kernel.say("no subscriber");
  auto subscription = sources.subscribe(kernel_messages());
  ASSERT_TRUE(hears("no subscriber")) << "a pipe keeps an unread record";
  subscription.reset();
  settle();
  kernel.say("no subscriber again");
  subscription = sources.subscribe(kernel_messages());
  ASSERT_TRUE(hears("no subscriber again"));
}

TEST_F(EventSourcesTest, RecordsThatCannotBeReadAreSkipped) {
  EventSources sources(core, clock, kernel.place());
  const auto subscription = sources.subscribe(kernel_messages());
  kernel.write("no record");
  kernel.write("7,160,424069,-;pci_root PNP0A03:00: x\n SUBSYSTEM=acpi\n");
  ASSERT_TRUE(hears("pci_root PNP0A03:00: x"));
  EXPECT_THAT(messages, SizeIs(1));
}

TEST_F(EventSourcesTest, AFloodIsReadInSmallTurns) {
  EventSources sources(core, clock, kernel.place());
  const auto subscription = sources.subscribe(kernel_messages());
  for (int i = 0; i < 200; ++i) kernel.say("flood");
  ASSERT_TRUE(runs_until([this] { return !messages.empty(); }));
  settle();
  EXPECT_THAT(messages, SizeIs(128));
  clock.advance(10ms);
  EXPECT_TRUE(runs_until([this] { return messages.size() == 200; }));
}

TEST_F(EventSourcesTest, AFileThatIsMissingIsAProblemUntilItIsThere) {
  const ScratchFolder folder;
  EventSources sources(core, clock, folder / "kmsg");
  const auto subscription = sources.subscribe(kernel_messages());
  EventSources::Listener other = uevents();
  other.lost = [] { FAIL() << "no uevent is lost"; };
  const auto of_other = sources.subscribe(std::move(other));
  ASSERT_THAT(sources.problems(), SizeIs(1));
  EXPECT_THAT(sources.problems()[0], HasSubstr("modules do not hear of kernel messages: cannot read '"));
  EXPECT_THAT(sources.problems()[0], HasSubstr("needs this file, and root or CAP_SYSLOG to read it"));
  std::filesystem::create_symlink(kernel.place(), folder / "kmsg");
  settle();
  clock.advance(30s);
  settle();
  EXPECT_THAT(sources.problems(), IsEmpty());
  EXPECT_EQ(losses, 1) << "the lost records are unknown";
  kernel.say("again");
  EXPECT_TRUE(hears("again"));
}

TEST_F(EventSourcesTest, ASourceThatBreaksIsAProblemAndNotReadInALoop) {
  EventSources sources(core, clock, kernel.place());
  auto subscription = sources.subscribe(kernel_messages());
  settle();
  kernel.end();
  ASSERT_TRUE(runs_until([&] { return !sources.problems().empty(); }));
  settle();
  subscription.reset();
  EXPECT_THAT(sources.problems(), IsEmpty()) << "no module subscribes to it";
}

TEST_F(EventSourcesTest, TheRealKernelLogIsHeardFromNowOn) {
  const UniqueFd log(::open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
  if (!log || UniqueFd(::open("/dev/kmsg", O_RDONLY | O_CLOEXEC)).get() < 0)
    GTEST_SKIP() << "/dev/kmsg cannot be opened: " << std::strerror(errno);
  const std::string old = fmt::format("<7>cardcage test {}: old\n", ::getpid());
  const std::string news = fmt::format("cardcage test {}: \\ news", ::getpid());
  if (::write(log.get(), old.data(), old.size()) < 0)
    GTEST_SKIP() << "/dev/kmsg cannot be written: " << std::strerror(errno);
  EventSources sources(core, clock);
  const auto subscription = sources.subscribe(kernel_messages());
  ASSERT_THAT(sources.problems(), IsEmpty());
  const std::string record = "<7>" + news + "\n";
  ASSERT_GT(::write(log.get(), record.data(), record.size()), 0);
  ASSERT_TRUE(hears(news));
  EXPECT_THAT(messages, Not(Contains(HasSubstr(": old"))));
}

TEST_F(EventSourcesTest, ARealUeventIsHeardAndNothingThatAProgramSends) {
  EventSources sources(core, clock);
  const auto subscription = sources.subscribe(uevents());
  ASSERT_THAT(sources.problems(), IsEmpty());
  // The kernel lets only root send to the group.
  const UniqueFd forger(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
  sockaddr_nl group{};
  group.nl_family = AF_NETLINK;
  group.nl_groups = 1;
  constexpr std::string_view kForged = "change@/forged\0ACTION=change\0SUBSYSTEM=net\0FORGED=1\0"sv;
  const bool forged = ::sendto(forger.get(), kForged.data(), kForged.size(), 0,
                               reinterpret_cast<const sockaddr*>(&group), sizeof group) > 0;
  std::ofstream trigger("/sys/class/net/lo/uevent");
  trigger << "change" << std::flush;
  if (!trigger) GTEST_SKIP() << "the kernel sends no uevent of lo: " << std::strerror(errno);
  const auto of_lo = [](const Uevent& event) { return event.text.contains("INTERFACE=lo\n"); };
  if (!runs_until([&] { return std::ranges::any_of(heard, of_lo); }))
    GTEST_SKIP() << "no uevent of lo arrives in this network namespace";
  const Uevent& event = *std::ranges::find_if(heard, of_lo);
  EXPECT_EQ(event.subsystem, "net");
  EXPECT_THAT(event.text, ::testing::StartsWith("ACTION=change\nDEVPATH=/devices/virtual/net/lo\n"));
  for (const Uevent& one : heard) EXPECT_FALSE(one.text.contains("FORGED")) << forged;
}

}  // namespace
}  // namespace cardcage
