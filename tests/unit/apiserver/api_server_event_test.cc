#include "tests/unit/apiserver/api_server_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ApiServerEventTest : public ApiServerFixture {
 protected:
  static constexpr const char* kEvents = "namespaces/default/events";

  static NodeEvent event(std::int64_t count = 1) {
    const std::chrono::system_clock::time_point first(1'800'000'000s);
    return {.type = NodeEvent::Type::kWarning,
            .node = "n1",
            .name = "n1.18f",
            .reason = "DeviceUnhealthy",
            .note = fmt::format("gpu-0 is unhealthy, time {}", count),
            .first = first,
            .last = first + (count - 1) * 60s,
            .count = count};
  }
  Status write_event(NodeEvent made) { return run(api->write_event(std::move(made), within_time(20s))); }
  json::object stored() { return server.get(kEvents, "n1.18f").value_or(json::object()); }
};

TEST_F(ApiServerEventTest, IsFoundByKubectlDescribeNode) {
  const Status written = write_event(event());
  ASSERT_TRUE(written) << written.error().message;
  json::object expected = json::parse(R"({"apiVersion":"v1","kind":"Event","type":"Warning","reason":"DeviceUnhealthy",
    "message":"gpu-0 is unhealthy, time 1","count":1,
    "involvedObject":{"apiVersion":"v1","kind":"Node","name":"n1","uid":"n1"},
    "source":{"component":"cardcage","host":"n1"},
    "reportingComponent":"cardcage.dev/cardcage","reportingInstance":"n1",
    "firstTimestamp":"2027-01-15T08:00:00Z","lastTimestamp":"2027-01-15T08:00:00Z"})")
                              .as_object();
  json::object found = stored();
  found.erase("metadata");
  EXPECT_EQ(found, expected);
  EXPECT_THAT(server.requests(), SizeIs(1)) << "it needs no version of resource.k8s.io";
}

TEST_F(ApiServerEventTest, ARepetitionChangesTheSameEvent) {
  ASSERT_TRUE(write_event(event()));
  ASSERT_TRUE(write_event(event(3)));
  EXPECT_THAT(server.names(kEvents), SizeIs(1));
  EXPECT_EQ(stored().at("count"), 3);
  EXPECT_EQ(stored().at("firstTimestamp"), "2027-01-15T08:00:00Z");
  EXPECT_EQ(stored().at("lastTimestamp"), "2027-01-15T08:02:00Z");
  EXPECT_EQ(stored().at("message"), "gpu-0 is unhealthy, time 3");
  EXPECT_EQ(count_requests("POST", kEvents), 1u);
  EXPECT_EQ(count_requests("PATCH", kEvents), 1u);
}

TEST_F(ApiServerEventTest, ARepetitionOfAnExpiredOneIsCreated) {
  ASSERT_TRUE(write_event(event()));
  server.remove(kEvents, "n1.18f");
  ASSERT_TRUE(write_event(event(2)));
  EXPECT_EQ(stored().at("count"), 2);
  EXPECT_EQ(stored().at("firstTimestamp"), "2027-01-15T08:00:00Z");
}

TEST_F(ApiServerEventTest, OneWhoseResponseWasLostMayBeWrittenAgain) {
  server.inject({.kind = Fault::Kind::kActAndReset, .method = "POST"});
  const Status lost = write_event(event());
  if (!lost) {
    EXPECT_EQ(lost.error().code, Code::kUnavailable);
    EXPECT_TRUE(write_event(event()));
  }
  EXPECT_THAT(server.names(kEvents), SizeIs(1));
  EXPECT_EQ(stored().at("count"), 1);
}

TEST_F(ApiServerEventTest, InvalidOnesNeverReachTheServer) {
  const auto refused = [&](auto change) {
    NodeEvent changed = event();
    change(changed);
    const Status status = write_event(std::move(changed));
    return status ? "" : status.error().message;
  };
  EXPECT_THAT(refused([](NodeEvent& one) { one.name = "../nodes/n1"; }), HasSubstr("Event name"));
  EXPECT_THAT(refused([](NodeEvent& one) { one.node = "N 1"; }), HasSubstr("node name"));
  EXPECT_THAT(refused([](NodeEvent& one) { one.reason = "not a token"; }), HasSubstr("CamelCase"));
  EXPECT_THAT(refused([](NodeEvent& one) { one.reason = std::string(129, 'R'); }), HasSubstr("128"));
  EXPECT_THAT(refused([](NodeEvent& one) { one.note = std::string(1025, 'n'); }), HasSubstr("1024"));
  EXPECT_THAT(refused([](NodeEvent& one) { one.note = "\xff"; }), HasSubstr("UTF-8"));
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(ApiServerEventTest, ARefusalIsReportedAndNotRetried) {
  server.inject({.status = 403, .method = "POST"});
  const Status refused = write_event(event());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("create Event 'n1.18f'"));
  EXPECT_THAT(server.requests(), SizeIs(1));
}

}  // namespace
}  // namespace cardcage
