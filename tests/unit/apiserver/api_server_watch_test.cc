#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>

#include "tests/unit/apiserver/api_server_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::array<const char*, 3> kThreeDrivers{"d.example.com", "e.example.com", "f.example.com"};

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
  EXPECT_FALSE(events[0].deleted);
  EXPECT_EQ(events[0].slice.devices, slice().devices);
  EXPECT_FALSE(events[1].deleted);
  EXPECT_EQ(events[1].slice.resource_version, updated->resource_version);
  EXPECT_TRUE(events[2].deleted);
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
  std::array<std::vector<SliceEvent>, 3> received;
  std::array<std::string, 3> versions;
  for (std::size_t i = 0; i < kThreeDrivers.size(); ++i)
    spawn(core, start_driver(*api, kThreeDrivers[i], received[i], versions[i]));
  run_until([&] { return server.watches() > 0; });
  for (const char* driver : kThreeDrivers) {
    Slice made = slice();
    made.driver = driver;
    ASSERT_TRUE(create(made));
  }
  run_until([&] { return std::ranges::all_of(received, [](const auto& seen) { return !seen.empty(); }); });
  for (std::size_t i = 0; i < kThreeDrivers.size(); ++i) {
    EXPECT_THAT(received[i], SizeIs(1));
    EXPECT_EQ(received[i].at(0).slice.driver, kThreeDrivers[i]);
  }
  EXPECT_THAT(server.requests(), SizeIs(7)) << "versions, slices, Node, watch, and a create for each driver";
}

class ApiServerExpiryTest : public ApiServerWatchTest {
 protected:
  using Lists = std::array<std::optional<Result<SliceList>>, kThreeDrivers.size()>;

  // All drivers list at once.
  void list_all(Lists& lists, Duration limit = 20s) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      lists[i].reset();
      begin(api->list_slices(kThreeDrivers[i], "n1", within_time(limit)), lists[i]);
    }
    run_until([&] { return std::ranges::all_of(lists, [](const auto& list) { return list.has_value(); }); });
  }
  // Each driver has a slice, and the server forgets the version of their watch.
  void publish_and_expire() {
    Lists lists;
    list_all(lists);
    for (const char* driver : kThreeDrivers) {
      Slice made = slice();
      made.driver = driver;
      const auto stored = create(made);
      ASSERT_TRUE(stored);
      newest = stored->resource_version;
    }
    server.compact();
    watch(newest);
    run_to_the_end();
    ASSERT_EQ(ended->error().code, Code::kOutOfRange);
    asked_before = server.requests().size();
  }
  std::vector<std::string> targets() {
    std::vector<std::string> found;
    const auto requests = server.requests();
    for (std::size_t i = asked_before; i < requests.size(); ++i) found.push_back(requests[i].target);
    return found;
  }

  std::string newest;
  std::size_t asked_before = 0;
};

TEST_F(ApiServerExpiryTest, DriversShareAListThatIncludesTheirWrites) {
  publish_and_expire();
  Lists lists;
  list_all(lists);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    ASSERT_TRUE(*lists[i]);
    ASSERT_THAT((*lists[i])->slices, SizeIs(1));
    EXPECT_EQ((*lists[i])->slices[0].driver, kThreeDrivers[i]);
  }
  EXPECT_THAT(targets(), ::testing::ElementsAre(HasSubstr("&resourceVersion=" + newest)));
  list_all(lists);
  EXPECT_THAT(targets(), SizeIs(4)) << "lists after a failure are exact";
}

TEST_F(ApiServerExpiryTest, AListThatLacksTheWritesOfADriverIsMadeAgain) {
  publish_and_expire();
  Lists lists;
  list_all(lists);
  Slice late = slice();
  const auto stored = create(late);
  ASSERT_TRUE(stored);
  ended.reset();
  server.compact();
  watch(newest);
  run_to_the_end();
  asked_before = server.requests().size();
  std::optional<Result<SliceList>> first, second;
  begin(api->list_slices(kThreeDrivers[1], "n1", within_time(20s)), first);
  run_until([&] { return first.has_value(); });
  late.pool.name = "n1/later";
  ASSERT_TRUE(create(late));
  begin(api->list_slices(kThreeDrivers[0], "n1", within_time(20s)), second);
  run_until([&] { return second.has_value(); });
  ASSERT_TRUE(*second);
  EXPECT_THAT((*second)->slices, SizeIs(3));
}

TEST_F(ApiServerExpiryTest, AServerInTroubleIsAskedForItsCacheAgain) {
  publish_and_expire();
  server.inject({.status = 504, .target = "resourceVersion=" + newest, .times = 1'000'000});
  Lists lists;
  list_all(lists, 300ms);
  list_all(lists, 300ms);
  for (const auto& list : lists) EXPECT_EQ((*list).error().code, Code::kUnavailable);
  EXPECT_THAT(targets(), ::testing::Each(HasSubstr("&resourceVersion=" + newest)));
}

TEST_F(ApiServerExpiryTest, AServerThatWasRestoredFromABackupIsListedExactly) {
  publish_and_expire();
  server.go_back(101);
  Lists lists;
  list_all(lists);
  for (const auto& list : lists) {
    ASSERT_TRUE(*list) << (*list).error().message;
    EXPECT_EQ((*list)->resource_version, "101");
  }
}

class ApiServerRestoreTest : public ApiServerExpiryTest {
 protected:
  // The other drivers list, one of which has written after the backup.
  void list_others() {
    for (const char* driver : {kThreeDrivers[1], kThreeDrivers[2]}) {
      std::optional<Result<SliceList>> other;
      begin(api->list_slices(driver, "n1", within_time(20s)), other);
      run_until([&] { return other.has_value(); });
      ASSERT_TRUE(*other) << (*other).error().message;
    }
  }
  void expect_to_list_again() {
    run_to_the_end();
    ASSERT_TRUE(ended && !*ended);
    EXPECT_EQ(ended->error().code, Code::kOutOfRange);
    EXPECT_THAT(ended->error().message, HasSubstr("gone back to an earlier state"));
    ended.reset();
    watch(list().resource_version);
    EXPECT_EQ(version, "101");
    ASSERT_TRUE(create());
    run_until([&] { return !events.empty(); });
  }
};

TEST_F(ApiServerRestoreTest, ADriverWhoseWatchWouldBeSilentListsAgain) {
  publish_and_expire();
  server.go_back(101);
  ended.reset();
  watch(newest);
  ASSERT_FALSE(ended);
  list_others();
  expect_to_list_again();
}

TEST_F(ApiServerRestoreTest, SoDoesOneWhoseWatchHasJustBroken) {
  publish_and_expire();
  server.go_back(101);
  ended.reset();
  list_others();
  watch(newest);
  expect_to_list_again();
}

TEST_F(ApiServerRestoreTest, ADaemonThatHasOnlyWatchedNoticesTheRestore) {
  server.put(kSlices, json::parse(R"({"metadata":{"name":"s9"},"spec":{"driver":"d.example.com","nodeName":"n1",
                                      "pool":{"name":"n1"}}})")
                          .as_object());
  watch(list().resource_version);
  server.bookmark();
  server.bookmark();
  const std::string before = version;
  run_until([&] { return version != before; });
  server.go_back(101);
  list_others();
  list_others();
  expect_to_list_again();
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
