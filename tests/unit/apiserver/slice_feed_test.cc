#include "host/apiserver/slice_feed.h"

#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Reader {
  std::string driver, version;
  std::vector<std::string> seen = {};  // versions of the slices in its events
  std::optional<Status> end = {};
  asio::cancellation_signal cancel = {};
};

class SliceFeedTest : public CoreFixture {
 protected:
  static Task<Status> watch(SliceFeedTest& test, std::string since, std::function<Status(std::string_view)> on_line) {
    test.sinces.push_back(std::move(since));
    test.on_line = std::move(on_line);
    co_await test.ended.wait();
    co_return test.how;
  }
  static Task<void> follow(SliceFeed& feed, Reader& reader) {
    std::function<void(SliceEvent)> take = [&reader](const SliceEvent& event) {
      reader.seen.push_back(event.slice.resource_version);
    };
    reader.end = co_await feed.follow(reader.driver, reader.version, std::move(take));
  }
  void start(Reader& reader) {
    reader.end.reset();
    asio::co_spawn(core, follow(*feed, reader), asio::bind_cancellation_slot(reader.cancel.slot(), asio::detached));
    settle();
  }
  Status send(const std::string& driver, int version) {
    return on_line(fmt::format(R"({{"type":"ADDED","object":{{"metadata":{{"name":"s{1}","resourceVersion":"{1}"}},)"
                               R"("spec":{{"driver":"{0}","nodeName":"n1","pool":{{"name":"n1"}}}}}}}})",
                               driver, version));
  }
  void end(Status with) {
    how = std::move(with);
    ended.wake();
    settle();
  }

  FakeClock clock;
  std::vector<std::string> sinces;
  std::function<Status(std::string_view)> on_line;
  Wakeup ended{core};
  Status how;
  const std::shared_ptr<SliceFeed> feed =
      std::make_shared<SliceFeed>(core, clock, [this](std::string since, std::function<Status(std::string_view)> take) {
        return watch(*this, std::move(since), std::move(take));
      });
  Reader gpus{"gpu.example.com", "100"}, nics{"nic.example.com", "100"};
};

TEST_F(SliceFeedTest, OneWatchServesAllDrivers) {
  start(gpus);
  start(nics);
  EXPECT_TRUE(send("nic.example.com", 101));
  EXPECT_TRUE(send("gpu.example.com", 102));
  EXPECT_TRUE(send("other.example.com", 103));
  EXPECT_THAT(sinces, ElementsAre("100"));
  EXPECT_THAT(gpus.seen, ElementsAre("102"));
  EXPECT_THAT(nics.seen, ElementsAre("101"));
  EXPECT_EQ(gpus.version, "103");
  EXPECT_EQ(nics.version, "103");
}

TEST_F(SliceFeedTest, ABookmarkMovesAllVersions) {
  start(gpus);
  start(nics);
  EXPECT_TRUE(on_line(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"700"}}})"));
  EXPECT_EQ(gpus.version, "700");
  EXPECT_EQ(nics.version, "700");
}

TEST_F(SliceFeedTest, ADriverThatLacksNoEventJoins) {
  start(gpus);
  EXPECT_TRUE(send("gpu.example.com", 105));
  nics.version = "102";
  start(nics);
  EXPECT_THAT(sinces, ElementsAre("100"));
  EXPECT_TRUE(send("nic.example.com", 106));
  EXPECT_THAT(nics.seen, ElementsAre("106"));
}

TEST_F(SliceFeedTest, ADriverThatLacksAnEventStartsTheWatchAgain) {
  start(gpus);
  EXPECT_TRUE(send("gpu.example.com", 104));
  EXPECT_TRUE(send("nic.example.com", 105));
  nics.version = "102";
  start(nics);
  EXPECT_THAT(sinces, ElementsAre("100", "102"));
  EXPECT_TRUE(send("gpu.example.com", 104));
  EXPECT_TRUE(send("nic.example.com", 105));
  EXPECT_THAT(gpus.seen, ElementsAre("104")) << "not again";
  EXPECT_THAT(nics.seen, ElementsAre("105"));
}

TEST_F(SliceFeedTest, ItCanBeEndedForAllFollowers) {
  EXPECT_EQ(feed->newest_version(), "0");
  nics.version = "300";
  start(gpus);
  start(nics);
  EXPECT_EQ(feed->newest_version(), "300");
  feed->end(fail(Code::kOutOfRange, "list again"));
  settle();
  for (const Reader* reader : {&gpus, &nics}) {
    ASSERT_TRUE(reader->end);
    EXPECT_EQ(reader->end->error().code, Code::kOutOfRange);
  }
  gpus.version = nics.version = "90";
  start(gpus);
  start(nics);
  EXPECT_THAT(sinces, ElementsAre("100", "90"));
  EXPECT_TRUE(send("nic.example.com", 91));
  EXPECT_THAT(nics.seen, ElementsAre("91"));
}

TEST_F(SliceFeedTest, ADriverThatBeginsBeforeTheWatchStartsItAgain) {
  start(gpus);
  nics.version = "99";
  start(nics);
  EXPECT_THAT(sinces, ElementsAre("100", "99"));
}

TEST_F(SliceFeedTest, ADriverWithANewerListGetsNoOldEvent) {
  start(gpus);
  nics.version = "200";
  start(nics);
  EXPECT_TRUE(send("nic.example.com", 150));
  EXPECT_THAT(nics.seen, IsEmpty());
  EXPECT_EQ(nics.version, "200");
  EXPECT_TRUE(send("nic.example.com", 201));
  EXPECT_THAT(nics.seen, ElementsAre("201"));
}

TEST_F(SliceFeedTest, AnotherDriverContinuesWhenTheFirstStops) {
  start(gpus);
  start(nics);
  EXPECT_TRUE(send("gpu.example.com", 104));
  gpus.cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_EQ(gpus.end->error().code, Code::kCancelled);
  EXPECT_FALSE(nics.end);
  EXPECT_THAT(sinces, ElementsAre("100", "104"));
  EXPECT_TRUE(send("nic.example.com", 105));
  EXPECT_THAT(nics.seen, ElementsAre("105"));
}

TEST_F(SliceFeedTest, ADriverThatOnlyListensStopsQuietly) {
  start(gpus);
  start(nics);
  nics.cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_EQ(nics.end->error().code, Code::kCancelled);
  EXPECT_FALSE(gpus.end);
  EXPECT_THAT(sinces, ElementsAre("100"));
}

TEST_F(SliceFeedTest, TheEndOfTheWatchReachesAll) {
  for (const Status& with : {Status{}, Status(fail(Code::kOutOfRange, "too old"))}) {
    start(gpus);
    start(nics);
    end(with);
    EXPECT_EQ(gpus.end, with);
    EXPECT_EQ(nics.end, with);
  }
}

TEST_F(SliceFeedTest, AfterALostConnectionTheNextWatchWaits) {
  int waited = 0;
  for (std::size_t round = 1; round <= 10; ++round) {
    start(gpus);
    start(nics);
    waited += clock.sleepers() > 0 ? 1 : 0;
    clock.advance(20s);
    settle();
    ASSERT_EQ(sinces.size(), round);
    end(fail(Code::kUnavailable, "connection lost"));
  }
  EXPECT_GT(waited, 5) << "the time is random, and the first watch does not wait";
}

}  // namespace
}  // namespace cardcage
