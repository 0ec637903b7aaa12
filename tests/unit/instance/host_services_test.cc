#include "host/instance/host_services.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <thread>

#include "host/instance/call_context.h"
#include "host/instance/claim_view.h"
#include "host/instance/snapshot_sink.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

using ::testing::SizeIs;

// Borrows the id.
cage_health health_of(std::string_view id) {
  cage_health made{};
  made.struct_size = sizeof made;
  made.state = CAGE_HEALTH_BAD;
  made.device_id = {id.data(), id.size()};
  return made;
}

TEST(HostServicesTest, TellsOnceAndKeepsTheLatestReportOfADevice) {
  std::atomic<int> told = 0;
  HostServices services("m", [&] { ++told; });
  const cage_host* const host = services.table();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, id = fmt::format("d{}", thread)] {
      for (int i = 0; i < 100; ++i) {
        const cage_health health = health_of(id);
        host->health(host, &health);
        host->rescan(host);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, 1);
  const ModuleNews news = services.take();
  EXPECT_TRUE(news.rescan);
  EXPECT_THAT(news.health, SizeIs(4));
  host->rescan(host);
  EXPECT_EQ(told, 2);
}

TEST(HostServicesTest, IgnoresInvalidReportsAndEverythingAfterTheEnd) {
  HostServices services("m", [] { FAIL() << "nothing should arrive"; });
  const cage_host* const host = services.table();
  host->health(host, nullptr);
  cage_health health = health_of("");
  host->health(host, &health);
  health = health_of("d");
  health.state = 9;
  host->health(host, &health);
  host->log(host, 77, {nullptr, 5});
  EXPECT_EQ(host->extension(host, "cage.unknown/1"), nullptr);
  services.close();
  host->rescan(host);
}

TEST(HostServicesTest, KeepsTheLastLines) {
  HostServices services("m", [] {});
  const cage_host* const host = services.table();
  for (int i = 0; i < 60; ++i) {
    const std::string line = fmt::format("line\n{}", i);
    host->log(host, CAGE_LOG_INFO, {line.data(), line.size()});
  }
  const auto lines = services.last_lines();
  ASSERT_THAT(lines, SizeIs(50));
  EXPECT_EQ(lines.front().text, "line?10");
  EXPECT_EQ(lines.back().text, "line?59");
}

TEST(HostServicesTest, KeepsAtMostOneReportForEachPossibleDevice) {
  HostServices services("m", [] {});
  const cage_host* const host = services.table();
  for (std::size_t i = 0; i < kMaxDevices + 10; ++i) {
    const std::string id = fmt::format("d{}", i);
    const cage_health health = health_of(id);
    host->health(host, &health);
  }
  EXPECT_THAT(services.take().health, SizeIs(kMaxDevices));
}

TEST(CallContextTest, CancelsThroughTheFunctionAndTheDescriptor) {
  CallContext context("prepare", 7, Instant(std::chrono::seconds(3)));
  const cage_call* const call = context.table();
  EXPECT_EQ(std::string_view(call->id.data, call->id.size), "prepare-7");
  EXPECT_EQ(call->deadline_ns, 3'000'000'000u);
  EXPECT_EQ(call->cancelled(call), 0);
  pollfd readable = {.fd = call->cancel_fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&readable, 1, 0), 0);
  context.cancel();
  context.cancel();
  EXPECT_EQ(call->cancelled(call), 1);
  EXPECT_EQ(::poll(&readable, 1, 0), 1);
}

TEST(CallContextTest, KeepsTheLastExplanationCutAndPrintable) {
  const CallContext context("prepare", 1, Instant::max());
  const cage_call* const call = context.table();
  EXPECT_EQ(call->deadline_ns, 0u);
  const std::string_view first = "first", last = "second\n\xff";
  call->explain(call, {first.data(), first.size()});
  call->explain(call, {last.data(), last.size()});
  EXPECT_EQ(context.explanation(), "second??");
  const std::string flood(5000, 'x');
  call->explain(call, {flood.data(), flood.size()});
  EXPECT_EQ(context.explanation(), std::string(kMaxExplanation, 'x'));
  call->explain(call, {nullptr, 9});
  EXPECT_THAT(context.explanation(), SizeIs(kMaxExplanation));
}

TEST(CallContextTest, RunsOnceOrIsAbandoned) {
  CallContext run("a", 1, Instant::max()), abandoned("b", 2, Instant::max());
  EXPECT_TRUE(run.begin());
  EXPECT_FALSE(run.abandon());
  run.end();
  EXPECT_TRUE(run.has_ended());
  EXPECT_TRUE(abandoned.abandon());
  EXPECT_TRUE(abandoned.abandon());
  EXPECT_FALSE(abandoned.begin());
  EXPECT_TRUE(abandoned.has_ended());
  EXPECT_TRUE(abandoned.is_abandoned());
  EXPECT_FALSE(run.is_abandoned());
}

TEST(ClaimViewTest, ShowsTheClaimAsTheModuleReadsIt) {
  ModuleClaim claim;
  claim.ref = {"ns", "c", "u1"};
  claim.state = "blob";
  claim.state_version = 4;
  claim.other_boot = true;
  ModuleAllocation& allocation = claim.allocations.emplace_back();
  allocation.device_id = "d";
  allocation.request = "main/sub";
  allocation.admin_access = true;
  allocation.consumed_capacity = {{"memory", Quantity{4, 0, Quantity::Format::kBinary}}};
  allocation.values.entries = {{"names", {OptionValue(std::vector<std::string>{"a", "b"}), true}},
                               {"on", {OptionValue(true), false}},
                               {"size", {OptionValue(std::int64_t{7}), false}},
                               {"text", {OptionValue("x"), true}}};
  claim.params.push_back({ConfigSource::kClaim, {"main"}, "{}"});

  const ClaimView view(claim, true, "m");
  const cage_claim& seen = *view.table();
  EXPECT_EQ(std::string_view(seen.uid.data, seen.uid.size), "u1");
  EXPECT_EQ(seen.flags, static_cast<std::uint32_t>(CAGE_CLAIM_OTHER_BOOT));
  EXPECT_EQ(seen.state.size, 4u);
  ASSERT_EQ(seen.alloc_count, 1u);
  EXPECT_EQ(seen.allocs[0]->flags, static_cast<std::uint32_t>(CAGE_ALLOC_ADMIN));
  EXPECT_EQ(seen.allocs[0]->consumed[0].format, static_cast<std::uint32_t>(CAGE_QTY_BINARY));
  ASSERT_EQ(seen.params_count, 1u);
  EXPECT_EQ(seen.params[0]->source, static_cast<std::uint32_t>(CAGE_PARAMS_CLAIM));
  EXPECT_EQ(seen.params[0]->request_count, 1u);

  const cage_values* const values = seen.allocs[0]->values;
  const cage_str* items = nullptr;
  EXPECT_EQ(values->list(values, "names", &items), 2u);
  EXPECT_EQ(std::string_view(items[1].data, items[1].size), "b");
  EXPECT_EQ(values->boolean(values, "on"), 1);
  EXPECT_EQ(values->integer(values, "size"), 7);
  EXPECT_STREQ(values->string(values, "text").data, "x");
  EXPECT_EQ(values->given(values, "on"), 0);
  EXPECT_EQ(values->given(values, "text"), 1);
  EXPECT_EQ(values->integer(values, "text"), 0);
  EXPECT_EQ(values->list(values, "missing", &items), 0u);
  EXPECT_EQ(values->string(values, nullptr).size, 0u);
  const ClaimView bare(claim, false, "m");
  EXPECT_EQ(bare.table()->allocs[0]->values, nullptr);
}

TEST(TextRulesTest, KnowsUtf8) {
  for (const char* good : {"", "abc", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x92\xa9", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                          "\xc3", "\xe2\x82", "\xf0\x9f\x92"})
    EXPECT_FALSE(is_utf8(bad));
  EXPECT_EQ(printable("a\tb\xff\x7f", 100), "a?b??");
  EXPECT_EQ(printable("\xe2\x82\xac\xe2\x82\xac", 5), "\xe2\x82\xac");
}

}  // namespace
}  // namespace cardcage
