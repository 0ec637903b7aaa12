// Times at which events wake a module.
#include "tests/unit/supervision/supervisor_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SupervisorEventsTest : public SupervisorFixture {
 protected:
  SupervisorEventsTest() {
    module->about.families.add(Family::kWatch);
    module->about.watch = {.kernel_log = {"card: "}, .uevents = {}};
  }

  static std::vector<std::string> texts(const EventBatch& batch) {
    std::vector<std::string> all;
    for (const Event& event : batch.events)
      all.push_back(event.type == EventType::kDescriptor ? std::to_string(event.descriptor) : event.text);
    return all;
  }
  // Waits until the supervisor has all events.
  void hear_all() {
    bool heard = false;
    EventSources::Listener listener;
    listener.kernel_message = [&heard](const KernelMessage& message) { heard |= message.text == "mark"; };
    const auto subscription = sources.subscribe(std::move(listener));
    kernel.say("mark");
    ASSERT_TRUE(runs_until([&heard] { return heard; }));
    settle();
  }
  void say(const std::string& message) {
    kernel.say(message);
    hear_all();
  }
};

TEST_F(SupervisorEventsTest, WhatHappensWhileACallRunsComesInTheNextOne) {
  settle();
  module->block<EventsCall>();
  say("card: one");
  say("other: two");
  say("card: three");
  say("card: four");
  ASSERT_THAT(module->batches, SizeIs(1));
  EXPECT_THAT(texts(module->batches[0]), ElementsAre("card: one"));
  module->unblock<EventsCall>();
  settle();
  ASSERT_THAT(module->batches, SizeIs(2));
  EXPECT_THAT(texts(module->batches[1]), ElementsAre("card: three", "card: four"));
  EXPECT_FALSE(module->batches[1].lost);
}

TEST_F(SupervisorEventsTest, ADescriptorIsToldWithTheRest) {
  settle();
  module->events.descriptor(7);
  settle();
  ASSERT_THAT(module->batches, SizeIs(1));
  EXPECT_THAT(texts(module->batches[0]), ElementsAre("7"));
}

TEST_F(SupervisorEventsTest, WhatHappensDuringTheStartWaitsForItsEnd) {
  module->block<DiscoverCall>();
  settle();
  say("card: early");
  module->events.descriptor(7);
  settle();
  EXPECT_THAT(module->batches, IsEmpty());
  module->unblock<DiscoverCall>();
  settle();
  ASSERT_THAT(module->batches, SizeIs(1));
  EXPECT_THAT(texts(module->batches[0]), ElementsAre("card: early", "7"));
}

TEST_F(SupervisorEventsTest, AFailedCallIsNotRepeatedAndTheNextOneSaysWhatIsLost) {
  settle();
  module->fail<EventsCall>({Code::kInternal, "the card does not answer"});
  say("card: one");
  EXPECT_THAT(module->batches, SizeIs(1));
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  say("card: two");
  ASSERT_THAT(module->batches, SizeIs(2));
  EXPECT_THAT(texts(module->batches[1]), ElementsAre("card: two"));
  EXPECT_TRUE(module->batches[1].lost);
}

TEST_F(SupervisorEventsTest, AQuiescedModuleSleepsAndHearsOfTheLossAfterwards) {
  module->about.has_quiesce = true;
  settle();
  const auto quiesced = order(ModuleVerb::kQuiesce);
  ASSERT_TRUE(*quiesced && **quiesced);
  say("card: while quiesced");
  EXPECT_THAT(module->batches, IsEmpty());
  const auto resumed = order(ModuleVerb::kResume);
  ASSERT_TRUE(*resumed && **resumed);
  EXPECT_THAT(module->batches, IsEmpty()) << "a discover has covered the events";
  say("card: after");
  ASSERT_THAT(module->batches, SizeIs(1));
  EXPECT_THAT(texts(module->batches[0]), ElementsAre("card: after"));
  EXPECT_TRUE(module->batches[0].lost);
}

TEST_F(SupervisorEventsTest, ANewInstanceGetsNothingOld) {
  settle();
  module->events.lost(Error{Code::kUnavailable, "its worker exited"});
  settle();
  say("card: while away");
  clock.advance(1min);
  settle();
  ASSERT_EQ(supervisor.state(), ModuleState::kReady);
  say("card: new");
  ASSERT_THAT(module->batches, SizeIs(1));
  EXPECT_THAT(texts(module->batches[0]), ElementsAre("card: new"));
  EXPECT_FALSE(module->batches[0].lost);
}

TEST_F(SupervisorEventsTest, AnInstanceThatTakesOverHasHeardOfEverythingSinceItsStart) {
  const auto next = std::make_shared<FakeModule>(core);
  next->about = module->about;
  next->about.sha256 = "next";
  next->devices = module->devices;
  other_builds["next"] = next;
  settle();
  module->block<EventsCall>();
  say("card: for the old one");
  next->block<DiscoverCall>();
  module->about.sha256 = "next";  // the digest of the file
  supervisor.renew();
  module->unblock<EventsCall>();
  settle();
  say("card: during the change");
  next->unblock<DiscoverCall>();
  settle();
  EXPECT_THAT(module->batches, SizeIs(1));
  ASSERT_THAT(next->batches, SizeIs(1));
  EXPECT_THAT(texts(next->batches[0]), ElementsAre("card: during the change"));
}

TEST_F(SupervisorEventsTest, ADescriptorThatStaysReadyCostsAFewCallsPerSecond) {
  settle();
  for (int i = 0; i < 1000; ++i) {
    module->events.descriptor(7);
    settle();
  }
  EXPECT_THAT(module->batches, SizeIs(100));
  clock.advance(10ms);
  settle();
  EXPECT_THAT(module->batches, SizeIs(101));
}

TEST_F(SupervisorEventsTest, AFloodKeepsNeitherCommandsNorChecksWaiting) {
  module->about.has_quiesce = module->about.has_check = true;
  settle();
  for (int i = 0; i < 40; ++i) {
    module->events.descriptor(7);
    clock.advance(1s);
    settle();
  }
  EXPECT_GE(module->count<CheckCall>(), 1);
  const auto quiesced = order(ModuleVerb::kQuiesce);
  EXPECT_TRUE(*quiesced && **quiesced);
}

TEST_F(SupervisorEventsTest, AModuleWithoutTheFamilyIsNotWoken) {
  module->about.watch.reset();
  settle();
  say("card: one");
  module->events.descriptor(7);
  settle();
  EXPECT_EQ(module->count<EventsCall>(), 0);
}

}  // namespace
}  // namespace cardcage
