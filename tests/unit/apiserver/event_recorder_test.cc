#include "host/apiserver/event_recorder.h"

#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_cluster.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Verb = FakeCluster::Verb;

class EventRecorderTest : public CoreFixture {
 protected:
  void SetUp() override {
    asio::co_spawn(core, recorder.run(),
                   asio::bind_cancellation_slot(stop.slot(), [this](std::exception_ptr) { ended = true; }));
    settle();
  }
  void TearDown() override {
    stop.emit(asio::cancellation_type::all);
    settle();
    EXPECT_TRUE(ended);
  }
  HealthEvent event(HealthEventKind kind, int gpu = 0, HealthState state = HealthState::kUnhealthy,
                    const std::string& cause = "Xid79") {
    return {.time = clock.wall(),
            .kind = kind,
            .device = {"gpus", fmt::format("GPU-{}", gpu)},
            .name = fmt::format("gpu-{}", gpu),
            .cause = cause,
            .state = state,
            .reason = "FellOffTheBus",
            .message = "the GPU has fallen off the bus",
            .by = ""};
  }
  HealthEvent began(int gpu = 0, const std::string& cause = "Xid79") {
    return event(HealthEventKind::kBegan, gpu, HealthState::kUnhealthy, cause);
  }
  HealthEvent ended_event(int gpu = 0, const std::string& cause = "Xid79") {
    return event(HealthEventKind::kEnded, gpu, HealthState::kHealthy, cause);
  }
  void pass(Duration time) {
    clock.advance(time);
    settle();
  }
  void record(const HealthEvent& one) {
    recorder.record(one);
    settle();
  }
  // The Event of one health event; it must not be a repetition.
  NodeEvent written(const HealthEvent& one) {
    const std::size_t before = cluster.node_events().size();
    record(one);
    pass(1s);
    EXPECT_EQ(cluster.node_events().size(), before + 1);
    return cluster.node_events().empty() ? NodeEvent{} : cluster.node_events().back();
  }
  std::size_t writes() const { return cluster.count(Verb::kEvent); }

  FakeClock clock;
  FakeCluster cluster{core, clock};
  EventRecorder recorder{core, clock, cluster, "node1"};
  asio::cancellation_signal stop;
  bool ended = false;
};

TEST_F(EventRecorderTest, LinesAreKept) {
  HealthEvent failure = began();
  failure.message = "the link is down\nreplug the cable";
  record(failure);
  pass(1s);
  ASSERT_THAT(cluster.node_events(), SizeIs(1));
  EXPECT_THAT(cluster.node_events().front().note, HasSubstr("the link is down\nreplug the cable"));
}

TEST_F(EventRecorderTest, ADeviceThatFailsBecomesAWarning) {
  const HealthEvent failure = began();
  record(failure);
  EXPECT_EQ(writes(), 0u) << "more may follow";
  pass(1s);
  ASSERT_THAT(cluster.node_events(), SizeIs(1));
  const NodeEvent& event = cluster.node_events().front();
  EXPECT_EQ(event.type, NodeEvent::Type::kWarning);
  EXPECT_EQ(event.node, "node1");
  EXPECT_THAT(event.name, MatchesRegex("node1\\.[0-9a-f]+"));
  EXPECT_EQ(event.reason, "DeviceUnhealthy");
  EXPECT_EQ(event.note, "gpu-0 is unhealthy: Xid79: the GPU has fallen off the bus; see 'cagectl health' on the node");
  EXPECT_EQ(event.first, failure.time);
  EXPECT_EQ(event.last, failure.time);
  EXPECT_EQ(event.count, 1);
  pass(1h);
  EXPECT_EQ(writes(), 1u) << "no health event occurred";
}

TEST_F(EventRecorderTest, EachKindHasItsReason) {
  const auto expect = [&](const HealthEvent& one, NodeEvent::Type type, const std::string& reason,
                          const std::string& note) {
    const NodeEvent event = written(one);
    EXPECT_EQ(event.type, type) << reason;
    EXPECT_EQ(event.reason, reason);
    EXPECT_THAT(event.note, StartsWith(note));
  };
  const auto kWarning = NodeEvent::Type::kWarning, kNormal = NodeEvent::Type::kNormal;
  expect(event(HealthEventKind::kBegan, 0, HealthState::kDegraded), kWarning, "DeviceDegraded",
         "gpu-0 is degraded: Xid79: the");
  expect(event(HealthEventKind::kQuarantined), kWarning, "DeviceQuarantined",
         "gpu-0 is quarantined until an operator clears it");
  expect(ended_event(), kNormal, "DeviceHealthy", "gpu-0 is healthy again: Xid79");
  expect(event(HealthEventKind::kGone), kWarning, "DeviceGone", "gpu-0 is gone; see");
  expect(event(HealthEventKind::kBack), kNormal, "DeviceBack", "gpu-0 is back");
  HealthEvent by_operator = event(HealthEventKind::kCordoned, 1);
  by_operator.by = "uid 0";
  by_operator.message.clear();
  by_operator.reason = "fan replaced";
  by_operator.cause.clear();
  expect(by_operator, kNormal, "DeviceCordoned", "gpu-1 is cordoned: uid 0: fan replaced");
  by_operator.kind = HealthEventKind::kUncordoned;
  expect(by_operator, kNormal, "DeviceUncordoned", "gpu-1 is not cordoned any more: uid 0: fan replaced");
  by_operator.kind = HealthEventKind::kReset;
  expect(by_operator, kNormal, "DeviceReset", "gpu-1 was reset: uid 0: fan replaced");
  expect(event(HealthEventKind::kResetFailed), kWarning, "DeviceResetFailed",
         "gpu-0 could not be reset: Xid79: the GPU");
}

TEST_F(EventRecorderTest, WhatNobodyKnowsIsNoEvent) {
  for (const HealthState state : {HealthState::kUnknown, HealthState::kUnmonitored}) {
    record(event(HealthEventKind::kBegan, 0, state));
    record(ended_event());
  }
  pass(1min);
  EXPECT_EQ(writes(), 0u);
}

TEST_F(EventRecorderTest, ADeviceIsHealthyOnceItsLastCauseHasEnded) {
  recorder.remember({.device = {"gpus", "GPU-0"},
                     .health = {.state = HealthState::kUnhealthy, .cause = "Older"},
                     .changed = {},
                     .stated = {},
                     .relapses = {}});
  record(began());
  pass(1s);
  record(ended_event());
  pass(1s);
  EXPECT_EQ(writes(), 1u) << "another cause counts";
  EXPECT_EQ(written(ended_event(0, "Older")).reason, "DeviceHealthy");
}

TEST_F(EventRecorderTest, DevicesThatFailTogetherShareAnEvent) {
  for (int gpu = 0; gpu < 12; ++gpu) record(began(gpu));
  record(event(HealthEventKind::kGone, 20));
  pass(1s);
  ASSERT_THAT(cluster.node_events(), SizeIs(2));
  const NodeEvent& event = cluster.node_events().front();
  EXPECT_THAT(event.note,
              StartsWith("12 devices are unhealthy: gpu-0 (Xid79: the GPU has fallen off the bus), gpu-1 ("));
  EXPECT_THAT(event.note, EndsWith("; see 'cagectl health' on the node"));
  EXPECT_EQ(event.count, 1);
  EXPECT_EQ(cluster.node_events().back().reason, "DeviceGone");
}

TEST_F(EventRecorderTest, ANoteIsNeverTooLong) {
  for (int gpu = 0; gpu < 500; ++gpu) record(began(gpu));
  HealthEvent long_one = event(HealthEventKind::kResetFailed);
  long_one.message.clear();
  for (int i = 0; i < 341; ++i) long_one.message += "\u20ac";
  record(long_one);
  pass(1s);
  ASSERT_THAT(cluster.node_events(), SizeIs(2));
  const NodeEvent& many = cluster.node_events().front();
  EXPECT_THAT(many.note, AllOf(StartsWith("500 devices are unhealthy: gpu-0 ("),
                               MatchesRegex(".*\\), and 4[0-9][0-9] more; see 'cagectl health' on the node")));
  EXPECT_THAT(many.note, SizeIs(Le(kMaxEventNote)));
  const NodeEvent& one = cluster.node_events().back();
  EXPECT_THAT(one.note, SizeIs(Le(kMaxEventNote)));
  EXPECT_THAT(one.note, EndsWith("\u20ac; see 'cagectl health' on the node")) << "cut between characters";
}

TEST_F(EventRecorderTest, ARepetitionRaisesTheCount) {
  const auto first = clock.wall();
  const NodeEvent event = written(began());
  for (int i = 0; i < 3; ++i) {
    record(ended_event());
    pass(1min);
    HealthEvent again = began();
    again.message = "again";
    record(again);
    pass(1min);
  }
  const NodeEvent repeated = cluster.node_events().back();
  EXPECT_EQ(repeated.name, event.name);
  EXPECT_EQ(repeated.count, 4);
  EXPECT_EQ(repeated.first, first);
  EXPECT_GT(repeated.last, first + 4min);
  EXPECT_THAT(repeated.note, HasSubstr("Xid79: again")) << "the newest message";
  EXPECT_NE(written(began(0, "Xid48")).name, event.name) << "another cause";
  EXPECT_NE(written(began(1)).name, event.name) << "another device";
  pass(10min);
  const NodeEvent later = written(began());
  EXPECT_NE(later.name, event.name);
  EXPECT_EQ(later.count, 1);
}

TEST_F(EventRecorderTest, AStormCostsAFewWrites) {
  for (int i = 0; i < 600; ++i) {
    record(began(i % 8, fmt::format("Xid{}", i)));
    pass(1s);
  }
  EXPECT_LE(writes(), 25u + 600 / 30);
  EXPECT_THAT(cluster.node_events().back().note, HasSubstr("8 devices are unhealthy"))
      << "the waiting events become one Event";
  pass(30s);
  const std::size_t before = writes();
  pass(1h);
  EXPECT_EQ(writes(), before);
}

TEST_F(EventRecorderTest, AWriteIsRepeatedOnceAndThenCounted) {
  cluster.fail_next(Verb::kEvent, 1, {Code::kUnavailable, "no response"});
  record(began());
  pass(1s);
  EXPECT_EQ(writes(), 1u);
  pass(5s);
  EXPECT_EQ(writes(), 2u);
  ASSERT_THAT(cluster.node_events(), SizeIs(1));
  cluster.fail_next(Verb::kEvent, 2, {Code::kUnavailable, "no response"});
  for (int gpu = 1; gpu < 4; ++gpu) record(began(gpu));
  pass(1s);
  pass(1h);
  EXPECT_EQ(writes(), 4u);
  EXPECT_THAT(written(began(4)).note, HasSubstr("; 3 earlier events of devices could not be written"));
  EXPECT_THAT(written(began(5)).note, Not(HasSubstr("earlier")));
}

TEST_F(EventRecorderTest, ARefusalIsNotRepeated) {
  cluster.fail_next(Verb::kEvent, 2, {Code::kPermissionDenied, "forbidden"});
  record(began(0));
  pass(1h);
  record(began(1));
  pass(1h);
  EXPECT_EQ(writes(), 2u);
  EXPECT_THAT(written(began(2)).note, HasSubstr("2 earlier events")) << "it has the permission now";
}

TEST_F(EventRecorderTest, ACreationThatFailedIsMadeUpForByTheRepetition) {
  cluster.fail_next(Verb::kEvent, 1, {Code::kInvalidArgument, "refused"});
  record(began());
  pass(1s);
  EXPECT_EQ(written(began()).count, 2) << "the cluster creates what it does not have";
}

TEST_F(EventRecorderTest, NothingWaitsForAClusterThatIsDown) {
  cluster.pause();
  for (int i = 0; i < 1'000; ++i) {
    record(began(i));
    record(ended_event(i));
    if (i % 10 == 0) pass(1s);
  }
  cluster.resume();
  pass(10s);
  pass(10s);
  EXPECT_LE(writes(), 20u);
  EXPECT_THAT(cluster.node_events(), Not(IsEmpty()));
}

TEST_F(EventRecorderTest, LongNamesOfNodesAreCut) {
  EventRecorder other(core, clock, cluster, std::string(240, 'n') + "." + std::string(12, 'm'));
  asio::cancellation_signal end;
  asio::co_spawn(core, other.run(), asio::bind_cancellation_slot(end.slot(), asio::detached));
  other.record(began());
  settle();
  pass(1s);
  EXPECT_THAT(cluster.node_events().back().name, SizeIs(Le(253u)));
  end.emit(asio::cancellation_type::all);
  settle();
}

}  // namespace
}  // namespace cardcage
