// Events that wake a sleeping module: those that the host delivers, and descriptors of its own.
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WatchScenarios : public ScenarioFixture {
 protected:
  Status start_watcher(const std::string& behave) { return start("watcher.so", scripted({behave})); }
  ModuleEvents told() {
    ModuleEvents all = events();
    all.descriptor = [this](std::int32_t descriptor) { descriptors.push_back(descriptor); };
    return all;
  }
  Status start_polling(const std::string& behave) {
    auto loaded = load(config("watcher.so", scripted({behave})));
    if (!loaded) return std::unexpected(loaded.error());
    module = *loaded;
    if (auto started = run(module->start(told(), soon())); !started) return started;
    return order("pipe");
  }
  Status order(const std::string& what) { return run(module->call(ResetCall{what}, soon())); }
  Status deliver(EventBatch batch) { return run(module->call(EventsCall{std::move(batch)}, soon())); }
  static EventBatch of_descriptor(std::int32_t descriptor) {
    return {.events = {{.type = EventType::kDescriptor, .time = {}, .text = {}, .descriptor = descriptor}}};
  }
  [[nodiscard]] bool reports_descriptors(std::size_t count) {
    return eventually([this, count] {
      clock.advance(milliseconds(10));  // between two reports of a module inside the daemon
      return descriptors.size() >= count;
    });
  }

  std::vector<std::int32_t> descriptors;
};

INSTANTIATE_TEST_SUITE_P(Isolation, WatchScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(WatchScenarios, TheDeclarationIsKnown) {
  ASSERT_TRUE(start_watcher(""));
  EXPECT_EQ(module->identity().watch, (WatchDeclaration{{"watcher: ", "NVRM: Xid"}, {"net"}}));
}

TEST_P(WatchScenarios, EventsArriveInTheirOrder) {
  ASSERT_TRUE(start_watcher("tell"));
  const EventBatch batch{{{EventType::kKernelLog, Instant(nanoseconds(7)), "NVRM: Xid"},
                          {EventType::kUevent, Instant(nanoseconds(9)), "ACTION=change\n"}}};
  EXPECT_EQ(deliver(batch).error().message,
            "module 'm' cannot handle events: flags 0, 1 at 7 'NVRM: Xid' none, 2 at 9 'ACTION=change\n' none");
}

TEST_P(WatchScenarios, ALossIsToldWithoutAnEvent) {
  ASSERT_TRUE(start_watcher("tell"));
  EXPECT_EQ(deliver({.events = {}, .lost = true}).error().message, "module 'm' cannot handle events: flags 1");
}

TEST_P(WatchScenarios, AModuleWithoutTheFamilyIsNotCalled) {
  ASSERT_TRUE(start("good.so"));
  EXPECT_EQ(deliver({}).error(),
            (Error{Code::kUnimplemented, "module 'm' cannot handle events: it has no cage.watch/1"}));
}

TEST_P(WatchScenarios, ACallThatNeverReturnsLosesTheInstance) {
  ASSERT_TRUE(start_watcher("hang"));
  const EventBatch batch{.events = {}, .lost = true};
  const auto delivered = begin(module->call(EventsCall{batch}, clock.now() + seconds(2)));
  ASSERT_TRUE(is_hanging());
  advance(seconds(2));
  ASSERT_TRUE(*delivered);
  EXPECT_EQ((*delivered)->error(),
            (Error{Code::kDeadlineExceeded, "module 'm' cannot handle events: it did not answer in time"}));
  advance(seconds(5));
  ASSERT_TRUE(lost);
  EXPECT_THAT(lost->message, HasSubstr("stuck in handle events"));
}

TEST_P(WatchScenarios, ADescriptorIsReportedAgainOnceTheModuleHasBeenTold) {
  ASSERT_TRUE(start_polling("tell"));
  ASSERT_TRUE(order("write"));
  ASSERT_TRUE(reports_descriptors(1));
  const std::int32_t descriptor = descriptors[0];
  EXPECT_THAT(deliver(of_descriptor(descriptor)).error().message, HasSubstr("flags 0, 3 at 0 '' mine"));
  ASSERT_TRUE(reports_descriptors(2)) << "it is still readable";
  ASSERT_TRUE(order("drain"));
  EXPECT_FALSE(deliver(of_descriptor(descriptor)));
  ASSERT_TRUE(order("write"));
  ASSERT_TRUE(reports_descriptors(3));
  EXPECT_THAT(descriptors, ElementsAre(descriptor, descriptor, descriptor));
}

TEST_P(WatchScenarios, ADescriptorThatTheModuleHasRemovedIsNotTold) {
  ASSERT_TRUE(start_polling("tell"));
  ASSERT_TRUE(order("write"));
  ASSERT_TRUE(reports_descriptors(1));
  ASSERT_TRUE(order("remove"));
  EXPECT_TRUE(deliver(of_descriptor(descriptors[0]))) << "no event is left";
  EXPECT_EQ(order("remove").error().code, Code::kNotFound);
}

TEST_P(WatchScenarios, ADescriptorThatTheModuleHasClosedIsForgotten) {
  ASSERT_TRUE(start_polling("tell"));
  ASSERT_TRUE(order("write"));
  ASSERT_TRUE(reports_descriptors(1));
  ASSERT_TRUE(order("close"));
  EXPECT_FALSE(deliver(of_descriptor(descriptors[0])));
  EXPECT_TRUE(deliver(of_descriptor(descriptors[0]))) << "no event is left";
}

TEST_P(WatchScenarios, TheMockExecutesKernelMessages) {
  modules_dir = built_modules();
  ASSERT_TRUE(start("libcardcage_mock_watch.so"));
  const EventBatch batch{{{EventType::kUevent, Instant(), "ACTION=change\n"},
                          {EventType::kKernelLog, Instant(), "cardcage-mock: nonsense"},
                          {EventType::kKernelLog, Instant(), "cardcage-mock: health gpu-1 bad XidError 79"}},
                         true};
  EXPECT_TRUE(deliver(batch));
  ASSERT_TRUE(eventually([this] {
    clock.advance(milliseconds(10));
    return !reports.empty() && rescans == 1;
  }));
  EXPECT_EQ(reports[0].first, "gpu-1");
  EXPECT_EQ(reports[0].second.reason, "XidError");
}

TEST_P(WatchScenarios, DescriptorsThatCannotBePolledAreRefused) {
  ASSERT_TRUE(start_watcher(""));
  EXPECT_EQ(order("closed").error().code, Code::kInvalidArgument);
  EXPECT_EQ(order("file").error().code, Code::kInvalidArgument) << "epoll does not accept a regular file";
  EXPECT_EQ(order("many").error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace cardcage
