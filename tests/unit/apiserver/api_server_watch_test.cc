#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>

#include "tests/unit/apiserver/api_server_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Task<void> watch_into(ApiServer& api, std::string& version, std::vector<SliceEvent>& events,
                      std::optional<Status>& ended) {
  std::function<void(SliceEvent)> take = [&events](SliceEvent event) { events.push_back(std::move(event)); };
  ended = co_await api.watch_slices("d.example.com", "n1", version, std::move(take));
}

class ApiServerWatchTest : public ApiServerFixture {
 protected:
  void watch(std::string from) {
    version = std::move(from);
    asio::co_spawn(core, watch_into(*api, version, events, ended),
                   asio::bind_cancellation_slot(cancel.slot(), asio::detached));
    run_until([&] { return server.watches() > 0 || ended; });
  }
  void run_to_the_end() {
    run_until([&] { return ended.has_value(); });
  }
  static std::string event(const char* type, int number) {
    return fmt::format(R"({{"type":"{}","object":{{"metadata":{{"name":"s1","resourceVersion":"{}"}},)"
                       R"("spec":{{"driver":"d.example.com","nodeName":"n1","pool":{{"name":"n1"}}}}}}}})",
                       type, number);
  }

  std::string version;
  std::vector<SliceEvent> events;
  std::optional<Status> ended;
  asio::cancellation_signal cancel;
};

TEST_F(ApiServerWatchTest, EventsOfOurSlicesArrive) {
  watch(list().resource_version);
  const auto created = create();
  const auto updated = update(*created);
  ASSERT_TRUE(updated);
  server.put(kSlices, json::parse(R"({"metadata":{"name":"s9"},"spec":{"driver":"other","nodeName":"n1",
                                      "pool":{"name":"n1"}}})")
                          .as_object());
  server.remove(kSlices, created->name);
  run_until([&] { return events.size() >= 3; });
  EXPECT_EQ(events[0].kind, SliceEvent::Kind::kAdded);
  EXPECT_EQ(events[0].slice.devices, slice().devices);
  EXPECT_EQ(events[1].kind, SliceEvent::Kind::kModified);
  EXPECT_EQ(events[1].slice.resource_version, updated->resource_version);
  EXPECT_EQ(events[2].kind, SliceEvent::Kind::kDeleted);
}

TEST_F(ApiServerWatchTest, ContinuesWhereTheLastWatchEnded) {
  const auto first = create();
  watch(list().resource_version);
  server.end_watches();
  run_to_the_end();
  EXPECT_TRUE(ended->has_value());
  EXPECT_TRUE(events.empty());
  ended.reset();
  const auto second = create();
  watch(version);
  run_until([&] { return !events.empty(); });
  EXPECT_EQ(events[0].slice.name, second->name);
  EXPECT_EQ(version, second->resource_version);
}

TEST_F(ApiServerWatchTest, AWatchTakesFiveToTenMinutes) {
  watch(list().resource_version);
  const std::string target = server.requests().back().target;
  const std::string key = "timeoutSeconds=";
  ASSERT_NE(target.find(key), std::string::npos) << target;
  const int seconds = std::stoi(target.substr(target.find(key) + key.size()));
  EXPECT_GE(seconds, 300);
  EXPECT_LE(seconds, 600);
}

Task<void> start_driver(ApiServer& api, std::string driver, std::vector<SliceEvent>& events, std::string& version) {
  const Instant deadline = std::chrono::steady_clock::now() + 20s;
  const auto list = co_await api.list_slices(driver, "n1", deadline);
  EXPECT_TRUE(list);
  const auto node = co_await api.get_node("n1", deadline);
  EXPECT_TRUE(node);
  if (list) version = list->resource_version;
  std::function<void(SliceEvent)> take = [&events](SliceEvent event) { events.push_back(std::move(event)); };
  (void)co_await api.watch_slices(driver, "n1", version, std::move(take));
}

TEST_F(ApiServerWatchTest, DriversShareTheirFirstRequestsAndTheWatch) {
  put_slices(2);
  constexpr std::array<const char*, 3> kDrivers{"d.example.com", "e.example.com", "f.example.com"};
  std::array<std::vector<SliceEvent>, 3> received;
  std::array<std::string, 3> versions;
  for (std::size_t i = 0; i < kDrivers.size(); ++i)
    spawn(core, start_driver(*api, kDrivers[i], received[i], versions[i]));
  run_until([&] { return server.watches() > 0; });
  for (const char* driver : kDrivers) {
    Slice made = slice();
    made.driver = driver;
    ASSERT_TRUE(create(made));
  }
  run_until([&] { return std::ranges::all_of(received, [](const auto& seen) { return !seen.empty(); }); });
  for (std::size_t i = 0; i < kDrivers.size(); ++i) {
    EXPECT_THAT(received[i], SizeIs(1));
    EXPECT_EQ(received[i].at(0).slice.driver, kDrivers[i]);
  }
  EXPECT_THAT(server.requests(), SizeIs(7)) << "versions, slices, Node, watch, and a create for each driver";
}

TEST_F(ApiServerWatchTest, ABookmarkOnlyAdvancesTheVersion) {
  watch(list().resource_version);
  const std::string before = version;
  server.bookmark();
  run_until([&] { return version != before; });
  EXPECT_TRUE(events.empty());
}

TEST_F(ApiServerWatchTest, AVersionThatIsTooOldMustBeListedAgain) {
  const auto old = list().resource_version;
  server.compact();
  watch(old);
  run_to_the_end();
  EXPECT_EQ(ended->error().code, Code::kOutOfRange);
  EXPECT_THAT(ended->error().message, HasSubstr("too old resource version"));
  ended.reset();
  server.inject({.status = 410, .target = "watch=1"});
  watch(list().resource_version);
  run_to_the_end();
  EXPECT_EQ(ended->error().code, Code::kOutOfRange);
}

TEST_F(ApiServerWatchTest, FramesMayBeCutAnywhere) {
  watch("");
  const std::string text = event("ADDED", 500) + "\n" + event("DELETED", 501) + "\n";
  for (std::size_t at = 0; at < text.size(); at += 7) server.send_to_watches(text.substr(at, 7));
  run_until([&] { return events.size() >= 2; });
  EXPECT_EQ(version, "501");
}

TEST_F(ApiServerWatchTest, GarbageEndsTheWatchAndUnknownEventsDoNot) {
  watch("");
  server.send_to_watches(event("SNEEZED", 500) + "\n" + R"({"type":"ADDED","object":{"metadata":{"name":7}}})" + "\n" +
                         "[]\n" + event("ADDED", 501) + "\n{\"type\":\n");
  run_to_the_end();
  EXPECT_THAT(events, SizeIs(1));
  EXPECT_EQ(version, "501");
  EXPECT_EQ(ended->error().code, Code::kUnavailable);
}

TEST_F(ApiServerWatchTest, ARotatedTokenIsReadForAWatchToo) {
  const auto from = list().resource_version;
  server.require_token("t2");
  write("token", "t2");
  watch(from);
  EXPECT_FALSE(ended);
  EXPECT_EQ(server.watches(), 1u);
}

TEST_F(ApiServerWatchTest, ALostConnectionEndsIt) {
  watch(list().resource_version);
  server.go_down();
  run_to_the_end();
  EXPECT_EQ(ended->error().code, Code::kUnavailable);
  EXPECT_THAT(ended->error().message, HasSubstr("watch ResourceSlices: API server https://127.0.0.1"));
}

TEST_F(ApiServerWatchTest, CancellingEndsItAtOnceAndTellsTheServer) {
  watch(list().resource_version);
  cancel.emit(asio::cancellation_type::terminal);
  settle();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->error().code, Code::kCancelled);
  run_until([&] { return server.watches() == 0; });
}

TEST_F(ApiServerWatchTest, ListenersMayCallTheServer) {
  std::optional<Result<Claim>> claim;
  std::function<void(SliceEvent)> take = [&](const SliceEvent&) {
    asio::co_spawn(core, api->get_claim("ns", "c1", within_time(20s)),
                   [&](const std::exception_ptr&, Result<Claim> got) { claim = std::move(got); });
  };
  version = list().resource_version;
  asio::co_spawn(core, api->watch_slices("d.example.com", "n1", version, std::move(take)), asio::detached);
  run_until([&] { return server.watches() > 0; });
  ASSERT_TRUE(create());
  run_until([&] { return claim.has_value(); });
  EXPECT_TRUE(*claim);
}

}  // namespace
}  // namespace cardcage
