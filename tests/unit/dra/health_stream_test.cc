#include "host/dra/health_stream.h"

#include "tests/unit/dra/driver_harness.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Message = api::health_v1::NodeWatchResourcesResponse;

HealthReport report(const std::string& device, HealthState state, const std::string& message = "") {
  return health_report("node-1", device,
                       {.health = {.state = state, .message = message},
                        .changed = std::chrono::system_clock::from_time_t(1'800'000'000)});
}
HealthListPtr list_of(std::size_t count, HealthState state = HealthState::kHealthy) {
  HealthList list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(report("gpu-" + std::to_string(i), state));
  return std::make_shared<const HealthList>(std::move(list));
}

// A stream whose writes the test completes.
class RecordedStream final : public HealthStream {
 public:
  std::vector<std::vector<HealthReport>> sent;
  std::vector<grpc::Status> ends;

 private:
  void write(std::span<const HealthReport> devices) override { sent.emplace_back(devices.begin(), devices.end()); }
  void end(const grpc::Status& status) override { ends.push_back(status); }
};

TEST(HealthStreamTest, KeepsOneWriteUnderWayAndOnlyTheLatestListWaiting) {
  RecordedStream stream;
  stream.offer(list_of(1));
  ASSERT_EQ(stream.sent.size(), 1u);
  for (std::size_t size = 2; size < 100; ++size) stream.offer(list_of(size));
  EXPECT_EQ(stream.sent.size(), 1u);
  stream.written();
  ASSERT_EQ(stream.sent.size(), 2u);
  EXPECT_EQ(stream.sent[1].size(), 99u);
  stream.written();
  EXPECT_EQ(stream.sent.size(), 2u);
}

TEST(HealthStreamTest, CutsALongListIntoMessagesAndEndsItBeforeTheNextOne) {
  RecordedStream stream;
  stream.offer(list_of(2500));
  stream.offer(list_of(1, HealthState::kUnhealthy));
  for (int i = 0; i < 5; ++i) stream.written();
  ASSERT_EQ(stream.sent.size(), 4u);
  EXPECT_EQ(stream.sent[0].size(), 1000u);
  EXPECT_EQ(stream.sent[1].size(), 1000u);
  EXPECT_EQ(stream.sent[2].size(), 500u);
  EXPECT_EQ(stream.sent[2].back().device, "gpu-2499");
  EXPECT_EQ(stream.sent[3], *list_of(1, HealthState::kUnhealthy));
}

TEST(HealthStreamTest, SendsAnEmptyListWhenThereAreNoDevices) {
  RecordedStream stream;
  stream.offer(list_of(0));
  EXPECT_THAT(stream.sent, ElementsAre(IsEmpty()));
}

TEST(HealthStreamTest, WritesNothingAfterItsEndAndEndsOnce) {
  RecordedStream stream;
  stream.offer(list_of(1));
  stream.offer(list_of(2));
  stream.finish(grpc::Status::CANCELLED);
  stream.finish(grpc::Status::OK);
  stream.written();
  stream.offer(list_of(3));
  EXPECT_EQ(stream.sent.size(), 1u);
  ASSERT_EQ(stream.ends.size(), 1u);
  EXPECT_EQ(stream.ends[0].error_code(), grpc::StatusCode::CANCELLED);
}

TEST(HealthBoardTest, TellsEveryListenerAboutEveryNewList) {
  HealthBoard board;
  std::vector<std::size_t> heard;
  auto token = board.subscribe([&](const HealthListPtr& list) { heard.push_back(list->size()); });
  board.set(*list_of(2));
  board.set(*list_of(2));
  board.set(*list_of(1));
  token.reset();
  board.set({});
  EXPECT_THAT(heard, ElementsAre(2, 1));
  EXPECT_THAT(*board.current(), IsEmpty());
}

class HealthServiceTest : public DriverHarness {
 protected:
  struct Watch {
    explicit Watch(const DriverClients& clients, std::unique_ptr<grpc::ClientContext> with)
        : context(std::move(with)), stream(clients.health_v1->NodeWatchResources(context.get(), {})) {}
    std::string next() {
      Message message;
      return stream->Read(&message) ? message.ShortDebugString() : "end";
    }
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::ClientReader<Message>> stream;
  };

  void SetUp() override {
    start();
    clients = std::make_unique<DriverClients>(service_socket());
  }
  void set(HealthList list) {
    live.call([&] { health.set(std::move(list)); });
  }
  Watch watch() { return Watch(*clients, context()); }

  static constexpr const char* kHealthy =
      "devices { device { pool_name: \"node-1\" device_name: \"gpu-0\" } health: HEALTHY last_updated_time: 1800000000 "
      "health_check_timeout_seconds: 30 }";
  std::unique_ptr<DriverClients> clients;
};

TEST_F(HealthServiceTest, SendsTheFullListAtOnceAndThenEveryChange) {
  set({report("gpu-0", HealthState::kHealthy)});
  auto stream = watch();
  EXPECT_EQ(stream.next(), kHealthy);
  set({report("gpu-0", HealthState::kUnhealthy, "Xid 79: fell off the bus")});
  EXPECT_EQ(stream.next(),
            "devices { device { pool_name: \"node-1\" device_name: \"gpu-0\" } health: UNHEALTHY last_updated_time: "
            "1800000000 health_check_timeout_seconds: 30 message: \"Xid 79: fell off the bus\" }");
}

TEST_F(HealthServiceTest, ADeviceThatNothingMonitorsIsUnknownToTheKubelet) {
  set({report("gpu-0", HealthState::kUnmonitored), report("gpu-1", HealthState::kUnmonitored, "no NVML events")});
  auto stream = watch();
  Message message;
  ASSERT_TRUE(stream.stream->Read(&message));
  EXPECT_EQ(message.devices(0).health(), api::health_v1::UNKNOWN);
  EXPECT_EQ(message.devices(0).message(), "not monitored");
  EXPECT_EQ(message.devices(1).message(), "no NVML events");
}

TEST_F(HealthServiceTest, RepeatsTheListBeforeTheKubeletForgetsIt) {
  set({report("gpu-0", HealthState::kHealthy)});
  auto stream = watch();
  EXPECT_EQ(stream.next(), kHealthy);
  for (int beat = 0; beat < 3; ++beat) {
    clock.advance(seconds(10));
    EXPECT_EQ(stream.next(), kHealthy);
  }
}

TEST_F(HealthServiceTest, ServesV1Alpha1WithTheSameBytes) {
  set({report("gpu-0", HealthState::kUnhealthy, "hot"), report("gpu-1", HealthState::kUnknown)});
  const auto watching = context();
  const auto old = clients->health_v1alpha1->NodeWatchResources(watching.get(), {});
  api::health_v1alpha1::NodeWatchResourcesResponse old_message;
  ASSERT_TRUE(old->Read(&old_message));
  auto stream = watch();
  Message message;
  ASSERT_TRUE(stream.stream->Read(&message));
  EXPECT_EQ(old_message.SerializeAsString(), message.SerializeAsString());
}

TEST_F(HealthServiceTest, CutsMessagesToTheKubeletsLimitBetweenCharacters) {
  set({report("gpu-0", HealthState::kUnhealthy, std::string(1020, 'x') + "€€€")});
  auto stream = watch();
  Message message;
  ASSERT_TRUE(stream.stream->Read(&message));
  EXPECT_EQ(message.devices(0).message(), std::string(1020, 'x') + "...");
}

TEST_F(HealthServiceTest, ASlowReaderGetsTheLatestListAndCostsNoQueue) {
  const std::string padding(1000, 'p');
  set({report("first", HealthState::kHealthy, padding)});
  auto stream = watch();
  ASSERT_TRUE(eventually([&] { return status().health_streams == 1; }));
  constexpr int kLists = 300;
  for (int i = 1; i <= kLists; ++i) {
    HealthList list;
    for (int device = 0; device < 200; ++device)
      list.push_back(report(std::to_string(i), HealthState::kHealthy, padding));
    set(std::move(list));
  }
  int messages = 0;
  for (Message message; stream.stream->Read(&message);) {
    ++messages;
    if (message.devices(0).device().device_name() == std::to_string(kLists)) break;
  }
  EXPECT_LT(messages, kLists / 2) << "each list is 200 KiB, and replaced lists are never sent";
}

TEST_F(HealthServiceTest, ForgetsAStreamThatTheReaderLeft) {
  auto one = watch(), two = watch();
  ASSERT_TRUE(eventually([&] { return status().health_streams == 2; }));
  one.context->TryCancel();
  EXPECT_TRUE(eventually([&] { return status().health_streams == 1; }));
  set({report("gpu-0", HealthState::kHealthy)});
  EXPECT_EQ(two.next(), "") << "the first list is empty";
  EXPECT_EQ(two.next(), kHealthy);
}

TEST_F(HealthServiceTest, ShutdownEndsOpenStreamsWithinItsBudget) {
  auto reading = watch();
  reading.next();
  // A reader that stops reading: its write blocks in flow control.
  auto stuck = watch();
  for (int i = 0; i < 6; ++i) {
    HealthList list;
    for (int device = 0; device < 900; ++device)
      list.push_back(report(std::to_string(i), HealthState::kHealthy, std::string(1000, 'p')));
    set(std::move(list));
  }
  const Instant begin = std::chrono::steady_clock::now();
  auto stopping = std::async(std::launch::async, [&] { stop(milliseconds(300)); });
  while (reading.next() != "end") {
  }
  EXPECT_EQ(reading.stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  stopping.get();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(800));
}

}  // namespace
}  // namespace cardcage
