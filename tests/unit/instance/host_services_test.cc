#include "host/instance/host_services.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <thread>

#include "host/instance/call_context.h"
#include "host/instance/claim_view.h"
#include "host/model/text_rules.h"
#include "host/sinks/snapshot_sink.h"
#include "tests/fakes/eventually.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The result borrows the id.
cage_health health_of(std::string_view id) {
  cage_health made{};
  made.struct_size = sizeof made;
  made.state = CAGE_HEALTH_BAD;
  made.device_id = {id.data(), id.size()};
  return made;
}

class HostServicesTest : public ::testing::Test {
 protected:
  // Replies as the daemon would.
  std::vector<ExecAsk> programs;
  Result<AskReply> answer;
  Asks asks{{.send =
                 [this](std::uint64_t number, std::uint64_t, ModuleAsk ask) {
                   programs.push_back(std::get<ExecAsk>(std::move(ask)));
                   asks.answer(number, answer);
                 },
             .attend = {}}};
};

TEST_F(HostServicesTest, TellsOnceAndKeepsTheLatestReportOfADevice) {
  std::atomic<int> told = 0;
  HostServices services("m", [&] { ++told; }, asks);
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

TEST_F(HostServicesTest, IgnoresInvalidReportsAndEverythingAfterTheEnd) {
  HostServices services("m", [] { FAIL() << "nothing should arrive"; }, asks);
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

TEST_F(HostServicesTest, PollsForModulesThatHandleEvents) {
  const auto poll_of = [](const HostServices& services) {
    return static_cast<const cage_poll*>(services.table()->extension(services.table(), CAGE_HOST_POLL));
  };
  const UniqueFd counter(::eventfd(1, EFD_CLOEXEC));
  HostServices deaf("deaf", [] {}, asks);
  ASSERT_EQ(poll_of(deaf)->struct_size, sizeof(cage_poll));
  EXPECT_EQ(poll_of(deaf)->add(deaf.table(), counter.get()), CAGE_FAILED_PRECONDITION);
  std::atomic<int> told = 0;
  HostServices services("m", [&] { ++told; }, asks, true);
  EXPECT_EQ(poll_of(services)->remove(services.table(), counter.get()), CAGE_NOT_FOUND);
  EXPECT_EQ(poll_of(services)->add(services.table(), counter.get()), CAGE_OK);
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  EXPECT_THAT(services.take().descriptors, ElementsAre(counter.get()));
  services.close();
  EXPECT_EQ(poll_of(services)->add(services.table(), counter.get()), CAGE_FAILED_PRECONDITION);
}

TEST_F(HostServicesTest, KeepsTheLastLines) {
  HostServices services("m", [] {}, asks);
  const cage_host* const host = services.table();
  for (int i = 0; i < 60; ++i) {
    const std::string line = fmt::format("line\n{}", i);
    host->log(host, CAGE_LOG_INFO, {line.data(), line.size()});
  }
  const auto lines = services.last_lines();
  ASSERT_THAT(lines, SizeIs(50));
  EXPECT_EQ(lines.front().text, "line\n10");
  EXPECT_EQ(lines.back().text, "line\n59");
}

TEST_F(HostServicesTest, KeepsAtMostOneReportForEachPossibleDevice) {
  HostServices services("m", [] {}, asks);
  const cage_host* const host = services.table();
  for (std::size_t i = 0; i < kMaxDevices + 10; ++i) {
    const std::string id = fmt::format("d{}", i);
    const cage_health health = health_of(id);
    host->health(host, &health);
  }
  EXPECT_THAT(services.take().health, SizeIs(kMaxDevices));
}

TEST_F(HostServicesTest, BoundsTheBytesOfReportsThatWait) {
  HostServices services("m", [] {}, asks);
  const cage_host* const host = services.table();
  const std::string message(kMaxHealthMessage, 'm');
  for (std::size_t i = 0; i < kMaxDevices; ++i)
    for (const std::string& cause : {std::string("Ecc"), std::string("Fan")}) {
      const std::string id = fmt::format("d{}", i);
      cage_health health = health_of(id);
      health.message = {message.data(), message.size()};
      health.cause = {cause.data(), cause.size()};
      host->health(host, &health);
    }
  std::size_t bytes = 0;
  for (const auto& [id, statements] : services.take().health)
    for (const auto& [cause, health] : statements) bytes += health.message.size();
  EXPECT_LE(bytes, KeptHealth::kMaxBytes);
  EXPECT_GT(bytes, KeptHealth::kMaxBytes / 2);
}

TEST_F(HostServicesTest, StatementsAreComparedWithWhatTheModuleDeclares) {
  std::vector<std::string> logged;
  divert_log([&](LogLevel, std::string_view message, std::initializer_list<LogField> fields) {
    for (const LogField& field : fields)
      if (field.name.text() == "cause") logged.push_back(fmt::format("{}: {}", field.value.text(), message));
  });
  HostServices services("declares", [] {}, asks, false,
                        {{.name = "Temperature", .help = "hot", .unit = "Cel"}, {.name = "Link", .help = "link"}});
  const cage_host* const host = services.table();
  for (int round = 0; round < 2; ++round)
    for (const std::string& cause :
         {std::string("Temperature"), std::string("Link"), std::string("Fan"), std::string()}) {
      cage_health health = health_of("d");
      health.cause = {cause.data(), cause.size()};
      health.value = 41;
      health.has_value = 1;
      host->health(host, &health);
    }
  divert_log({});
  const Statements stated = services.take().health.at("d");
  ASSERT_THAT(stated, SizeIs(4)) << "an undeclared cause counts, too";
  EXPECT_EQ(stated.at("Temperature").value, 41);
  for (const char* cause : {"Link", "Fan", ""}) EXPECT_EQ(stated.at(cause).value, std::nullopt) << cause;
  const std::string no_unit = "value of a statement is ignored: the module declares no unit for the cause";
  EXPECT_THAT(logged, ElementsAre("Link: " + no_unit, "Fan: module states a cause that it does not declare",
                                  "Fan: " + no_unit, ": " + no_unit));
}

TEST_F(HostServicesTest, KeepsTheLatestReportOfEachCause) {
  HostServices services("m", [] {}, asks);
  const cage_host* const host = services.table();
  const auto report = [&](const std::string& cause, std::uint32_t state) {
    cage_health health = health_of("d");
    health.cause = {cause.data(), cause.size()};
    health.state = state;
    host->health(host, &health);
  };
  report("Ecc", CAGE_HEALTH_OK);
  report("Ecc", CAGE_HEALTH_BAD);
  report("", CAGE_HEALTH_OK);
  const Statements told = services.take().health.at("d");
  EXPECT_THAT(told, SizeIs(2));
  EXPECT_EQ(told.at("Ecc").state, HealthState::kUnhealthy);
  EXPECT_EQ(told.at("").state, HealthState::kHealthy);
  for (int i = 0; i < 1000; ++i) report(fmt::format("Ok{}", i), CAGE_HEALTH_OK);
  report("Ecc", CAGE_HEALTH_BAD);
  const Statements flood = services.take().health.at("d");
  EXPECT_THAT(flood, SizeIs(kMaxCauses));
  EXPECT_EQ(flood.at("Ecc").state, HealthState::kUnhealthy);
}

class ExecTest : public HostServicesTest {
 protected:
  ExecTest() {
    command.struct_size = sizeof command;
    command.program = {"tool", 4};
  }
  cage_status run() {
    const auto* exec = static_cast<const cage_exec*>(services.table()->extension(services.table(), CAGE_HOST_EXEC));
    return exec->run(services.table(), context.table(), &command, this, [](void* user, const cage_command_result* of) {
      static_cast<ExecTest*>(user)->ended.push_back(*of);
      static_cast<ExecTest*>(user)->out.assign(static_cast<const char*>(of->out.data), of->out.size);
    });
  }
  std::string refusal() {
    EXPECT_NE(run(), CAGE_OK);
    EXPECT_THAT(programs, SizeIs(0)) << "the daemon is not asked";
    return context.explanation();
  }
  HostServices services{"m", [] {}, asks};
  CallContext context{"prepare", 7, Instant::max()};
  cage_command command{};
  std::vector<cage_command_result> ended;
  std::string out;
};

TEST_F(ExecTest, PassesTheCommandOnAndTheResultBack) {
  const cage_str arguments[] = {{"-q", 2}, {"", 0}}, environment[] = {{"A=b=c", 5}};
  command.args = arguments;
  command.arg_count = 2;
  command.env = environment;
  command.env_count = 1;
  command.timeout_ms = 1500;
  command.input = {"{}\0", 3};
  answer = ExecResult{.exit_status = 3, .signal = 0, .timed_out = true, .cut = true, .out = "text", .err = ""};
  ASSERT_EQ(run(), CAGE_OK) << context.explanation();
  ASSERT_THAT(programs, SizeIs(1));
  EXPECT_EQ(programs[0].program, "tool");
  EXPECT_THAT(programs[0].arguments, ElementsAre("-q", ""));
  EXPECT_THAT(programs[0].environment, ElementsAre("A=b=c"));
  EXPECT_EQ(programs[0].input, std::string("{}\0", 3));
  EXPECT_EQ(programs[0].limit, std::chrono::milliseconds(1500));
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].exit_status, 3);
  EXPECT_EQ(ended[0].flags, CAGE_COMMAND_TIMED_OUT | CAGE_COMMAND_CUT);
  EXPECT_EQ(out, "text");
}

TEST_F(ExecTest, AProgramThatDoesNotStartIsExplained) {
  answer = fail(Code::kNotFound, "cannot start '/x/tool': No such file or directory");
  EXPECT_EQ(run(), CAGE_NOT_FOUND);
  EXPECT_EQ(context.explanation(), "program 'tool': cannot start '/x/tool': No such file or directory");
  EXPECT_THAT(ended, SizeIs(0));
}

TEST_F(ExecTest, RefusesCommandsThatMakeNoSense) {
  command.program = {"/bin/tool", 9};
  EXPECT_THAT(refusal(), HasSubstr("'/bin/tool' is not the name of a file without its folder"));
  command.program = {"tool", 4};
  const cage_str nul[] = {{"a\0b", 3}};
  command.args = nul;
  command.arg_count = 1;
  EXPECT_THAT(refusal(), HasSubstr("cage_command.args contains a NUL"));
  const std::string long_text((128u << 10) + 1, 'x');
  const cage_str too_long[] = {{long_text.data(), long_text.size()}};
  command.args = too_long;
  EXPECT_THAT(refusal(), HasSubstr("cage_command.args has 131073 bytes, at most 131072 are allowed"));
  command.arg_count = 5000;
  EXPECT_THAT(refusal(), HasSubstr("5000 entries"));
  command.arg_count = 0;
  command.input = {long_text.data(), long_text.size()};
  EXPECT_THAT(refusal(), HasSubstr("cage_command.input has 131073 bytes, at most 131072 are allowed"));
  command.input = {};
  const cage_str no_value[] = {{"HOME", 4}};
  command.env = no_value;
  command.env_count = 1;
  EXPECT_THAT(refusal(), HasSubstr("'HOME' is not NAME=value"));
  command.struct_size = 4;
  EXPECT_THAT(refusal(), HasSubstr("struct_size of cage_command is 4"));
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
  EXPECT_EQ(context.explanation(), "second\n?");
  const cage_str so_far = call->explained(call);
  EXPECT_EQ(std::string_view(so_far.data, so_far.size), "second\n?");
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

TEST(ClaimViewTest, ShowsWholeAmountsWithoutAnExponent) {
  ModuleClaim claim;
  claim.allocations.emplace_back().consumed_capacity = {{"a", *Quantity::parse("10Gi")},
                                                        {"b", *Quantity::parse("20k")},
                                                        {"c", *Quantity::parse("1500m")},
                                                        {"d", *Quantity::parse("1e30")},
                                                        {"e", *Quantity::parse("0.3Ki")}};
  const std::vector<ParamsSchema> schemas;
  const ClaimView view(claim, &schemas, "m");
  ASSERT_EQ(view.table()->allocs[0]->consumed_count, 5u);
  const cage_quantity* seen = view.table()->allocs[0]->consumed;
  const auto shown = [&](std::size_t i) { return std::tuple(seen[i].value, seen[i].exp10, seen[i].format); };
  EXPECT_EQ(shown(0), std::tuple(10LL << 30, 0, std::uint32_t{CAGE_QTY_BINARY}));
  EXPECT_EQ(shown(1), std::tuple(20'000, 0, std::uint32_t{CAGE_QTY_DECIMAL}));
  EXPECT_EQ(shown(2), std::tuple(15, -1, std::uint32_t{CAGE_QTY_DECIMAL}));
  EXPECT_EQ(shown(3), std::tuple(1, 30, std::uint32_t{CAGE_QTY_DECIMAL}));
  EXPECT_EQ(shown(4), std::tuple(3072, -1, std::uint32_t{CAGE_QTY_DECIMAL})) << "307.2 bytes";
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
  allocation.values.entries = {
      {"names", {OptionValue(std::vector<std::string>{"a", "b"}), true}},
      {"on", {OptionValue(true), false}},
      {"size", {OptionValue(std::int64_t{7}), false}},
      {"text", {OptionValue("x"), true, ConfigSource::kClaim}},
      {"limits.gpu", {OptionValue(TextMap{{"b", "2"}, {"a", "1"}}), true, ConfigSource::kClass}}};
  allocation.values.kind = "GpuConfig";
  claim.params.push_back({ConfigSource::kClaim, {"main"}, "{}"});

  std::vector<ParamsSchema> schemas = {{.kind = "GpuConfig", .device_kinds = {"gpu"}}};
  const ClaimView view(claim, &schemas, "m");
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
  const cage_str *keys = nullptr, *texts = nullptr;
  ASSERT_EQ(values->map(values, "limits.gpu", &keys, &texts), 2u);
  EXPECT_EQ(std::string_view(keys[0].data, keys[0].size), "a");
  EXPECT_EQ(std::string_view(texts[1].data, texts[1].size), "2");
  EXPECT_EQ(values->map(values, "limits.gpu", nullptr, &texts), 0u);
  EXPECT_EQ(values->map(values, "text", &keys, &texts), 0u);
  EXPECT_EQ(keys, nullptr);
  EXPECT_EQ(values->source(values, "limits.gpu"), CAGE_PARAMS_CLASS);
  EXPECT_EQ(values->source(values, "text"), CAGE_PARAMS_CLAIM);
  EXPECT_EQ(values->source(values, "on"), -1);
  EXPECT_EQ(values->source(values, "missing"), -1);
  EXPECT_EQ(std::string_view(values->params_kind.data, values->params_kind.size), "GpuConfig");
  const ClaimView bare(claim, nullptr, "m");
  EXPECT_EQ(bare.table()->allocs[0]->values, nullptr);
  claim.allocations[0].values = {};
  EXPECT_EQ(ClaimView(claim, &schemas, "m").table()->allocs[0]->values, nullptr) << "no kind takes the device";
  schemas[0].device_kinds.clear();
  const ClaimView earlier(claim, &schemas, "m");
  const cage_values* const none = earlier.table()->allocs[0]->values;
  ASSERT_NE(none, nullptr) << "a module whose devices all take parameters relies on them";
  EXPECT_EQ(none->integer(none, "size"), 0);
}

TEST(TextRulesTest, KnowsUtf8) {
  for (const char* good : {"", "abc", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x92\xa9", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                          "\xc3", "\xe2\x82", "\xf0\x9f\x92"})
    EXPECT_FALSE(is_utf8(bad));
  EXPECT_EQ(printable("a\tb\xff\x7f", 100), "a?b??");
  EXPECT_EQ(printable_lines("a\nb\tc\n\n", 100), "a\nb?c");
  EXPECT_EQ(printable("\xe2\x82\xac\xe2\x82\xac", 5), "\xe2\x82\xac");
}

}  // namespace
}  // namespace cardcage
