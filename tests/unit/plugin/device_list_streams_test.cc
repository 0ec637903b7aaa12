#include "host/plugin/device_list_streams.h"

#include <fstream>

#include "host/plugin/device_list_message.h"
#include "tests/unit/plugin/resource_harness.h"

namespace cardcage {
namespace {

namespace plugin = api::device_plugin;
using std::chrono::milliseconds, std::chrono::seconds;

class DeviceListStreamsTest : public ResourceHarness {
 protected:
  struct Watch {
    Watch(const std::filesystem::path& socket, std::unique_ptr<grpc::ClientContext> with)
        : context(std::move(with)),
          stub(plugin::DevicePlugin::NewStub(
              grpc::CreateChannel("unix:" + socket.native(), grpc::InsecureChannelCredentials()))),
          stream(stub->ListAndWatch(context.get(), {})) {}
    // Returns a text such as "3/4": 3 of 4 devices are healthy.
    std::string next() {
      if (!stream->Read(&message)) return "end";
      int healthy = 0;
      for (const auto& device : message.devices()) healthy += device.health() == "Healthy" ? 1 : 0;
      return fmt::format("{}/{}", healthy, message.devices_size());
    }
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<plugin::DevicePlugin::Stub> stub;
    std::unique_ptr<grpc::ClientReader<plugin::ListAndWatchResponse>> stream;
    plugin::ListAndWatchResponse message;
  };
  void SetUp() override { start(); }
  Watch watch() { return Watch(socket(), context(seconds(60))); }
};

TEST_F(DeviceListStreamsTest, SendsTheFullListAtOnceEvenAnEmptyOne) {
  auto early = watch();
  EXPECT_EQ(early.next(), "0/0");
  list(devices_of(3));
  EXPECT_EQ(early.next(), "3/3");
  auto late = watch();
  EXPECT_EQ(late.next(), "3/3");
}

TEST_F(DeviceListStreamsTest, AChangeAfterAPauseIsSentAtOnceAndLaterOnesWait) {
  auto stream = watch();
  EXPECT_EQ(stream.next(), "0/0");
  clock.advance(kListPace);
  const Instant begun = clock.now();
  live.call([&] {
    for (std::size_t count = 1; count < 50; ++count) board.set(devices_of(count));
  });
  EXPECT_EQ(stream.next(), "1/1");
  EXPECT_EQ(stream.next(), "49/49");
  EXPECT_GE(clock.now() - begun, kListPace);
}

TEST_F(DeviceListStreamsTest, NeverSendsAnUnchangedList) {
  auto stream = watch();
  EXPECT_EQ(stream.next(), "0/0");
  clock.advance(kListPace);
  list(devices_of(1));
  EXPECT_EQ(stream.next(), "1/1");
  list(devices_of(2));
  list(devices_of(1));
  clock.advance(kListPace);
  clock.advance(kListPace);
  list(devices_of(3));
  EXPECT_EQ(stream.next(), "3/3") << "it changed back before a list could be sent";
}

TEST_F(DeviceListStreamsTest, AllStreamsGetEveryList) {
  auto one = watch(), two = watch();
  EXPECT_EQ(one.next(), "0/0");
  EXPECT_EQ(two.next(), "0/0");
  for (std::size_t count = 1; count < 5; ++count) {
    clock.advance(kListPace);
    list(devices_of(count));
    EXPECT_EQ(one.next(), fmt::format("{0}/{0}", count));
    EXPECT_EQ(two.next(), fmt::format("{0}/{0}", count));
  }
  EXPECT_EQ(status().streams, 2u);
  one.context->TryCancel();
  EXPECT_TRUE(eventually([&] { return status().streams == 1; }));
}

TEST_F(DeviceListStreamsTest, NeverExceedsTheKubeletsLimitAndReportsIt) {
  auto stream = watch();
  EXPECT_EQ(stream.next(), "0/0");
  clock.advance(kListPace);
  auto many = devices_of(80'000);
  for (auto& device : many) device.id += std::string(40, 'x');
  list(many);
  ASSERT_NE(stream.next(), "end");
  EXPECT_LE(stream.message.ByteSizeLong(), kMaxListBytes);
  const auto now = status();
  EXPECT_GT(now.left_out, 0u);
  EXPECT_EQ(now.listed + now.left_out, many.size());
  EXPECT_EQ(static_cast<std::size_t>(stream.message.devices_size()), now.listed);
}

TEST_F(DeviceListStreamsTest, ASlowReaderGetsTheLatestListAndCostsNoQueue) {
  auto slow = watch(), quick = watch();
  EXPECT_EQ(quick.next(), "0/0");
  constexpr std::size_t kLists = 30;
  for (std::size_t i = 1; i <= kLists; ++i) {
    clock.advance(kListPace);
    list(devices_of(20'000 + i));  // 500 kB
    EXPECT_EQ(quick.next(), fmt::format("{0}/{0}", 20'000 + i)) << "a slow reader does not delay the others";
  }
  std::size_t messages = 0;
  for (std::string next; next != fmt::format("{0}/{0}", 20'000 + kLists); ++messages) {
    next = slow.next();
    ASSERT_NE(next, "end");
  }
  EXPECT_LT(messages, kLists / 2) << "replaced lists are never sent";
}

// 10,000 devices, 100 changes of their health within a second.
TEST_F(DeviceListStreamsTest, ASecondOfFlappingIsTenMessages) {
  auto stream = watch();
  EXPECT_EQ(stream.next(), "0/0");
  clock.advance(seconds(1));
  auto devices = devices_of(10'000);
  const auto last = fmt::format("{}/{}", 10'000 - 100, 10'000);
  auto reading = std::async(std::launch::async, [&] {
    int messages = 1;
    while (stream.next() != last) ++messages;
    return messages;
  });
  const Instant begin = clock.now();
  for (std::size_t flap = 0; flap < 100; ++flap) {
    devices[flap].healthy = false;
    list(devices);
    clock.advance(milliseconds(10));
  }
  clock.advance(kListPace);
  ASSERT_EQ(reading.wait_for(seconds(10)), std::future_status::ready);
  static_assert(seconds(1) / kListPace + 2 == 10, "the one before the second and the one that waits at its end");
  EXPECT_LE(reading.get(), (clock.now() - begin) / kListPace + 2) << "real time passes between the steps";
}

TEST_F(DeviceListStreamsTest, ShutdownEndsTheStreamsFirst) {
  auto stream = watch();
  EXPECT_EQ(stream.next(), "0/0");
  auto stopping = std::async(std::launch::async, [&] { stop(milliseconds(500)); });
  EXPECT_EQ(stream.next(), "end");
  EXPECT_EQ(stream.stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  stopping.get();
}

}  // namespace
}  // namespace cardcage
