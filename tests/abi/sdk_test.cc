// Modules written with sdk.hpp and with the crate abi/rust, through their raw tables.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "host/config/config.h"
#include "sim/scratch_folder.h"
#include "tests/abi/sdk_fixture.h"

namespace cardcage::raw {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

INSTANTIATE_TEST_SUITE_P(In, Sdk, testing::Values(kCpp, kRust, kKeptCpp, kKeptRust, kFuture), name_of);
INSTANTIATE_TEST_SUITE_P(In, CppSdk, testing::Values(kCpp), name_of);
INSTANTIATE_TEST_SUITE_P(In, RustSdk, testing::Values(kRust), name_of);

TEST_P(Sdk, TheTableListsWhatTheClassDeclaresAndOverrides) {
  const cage_module* table = everything();
  EXPECT_EQ(view(table->id), "test.everything");
  EXPECT_EQ(view(table->version), "1.2.3");
  EXPECT_EQ(table->flags, std::uint32_t{CAGE_MODULE_PROCESS_ONLY});
  EXPECT_EQ(table->state_version, 7U);
  ASSERT_EQ(table->need_count, 2U);
  EXPECT_EQ(view(table->needs[1]), CAGE_EXT_PRE_START);
  ASSERT_EQ(table->option_count, 6U);
  const cage_option& fault = *table->options[0];
  EXPECT_EQ(view(fault.name), "fault");
  EXPECT_EQ(view(fault.choices[fault.choice_count - 1]), "odd");
  EXPECT_EQ(table->options[1]->max, 9);
  EXPECT_EQ(table->options[1]->flags, std::uint32_t{CAGE_OPTION_LIVE});
  EXPECT_EQ(view(table->options[4]->default_text), "[\"a\", \"b\"]");
  EXPECT_EQ(table->options[5]->flags, std::uint32_t{CAGE_OPTION_SECRET});
  ASSERT_EQ(table->schema_count, 2U);
  const cage_params_schema& schema = *table->schemas[0];
  expect_size(schema);
  EXPECT_EQ(view(schema.api_version), "test/v1");
  EXPECT_EQ(view(schema.kind), "Everything");
  ASSERT_EQ(schema.device_kind_count, 1U);
  EXPECT_EQ(view(schema.device_kinds[0]), "gpu");
  ASSERT_EQ(schema.field_count, 4U);
  EXPECT_EQ(view(schema.fields[1]->name), "limits.memory");
  EXPECT_EQ(schema.fields[1]->type, std::uint32_t{CAGE_OPTION_MAP});
  EXPECT_EQ(schema.fields[1]->flags, std::uint32_t{CAGE_OPTION_QUANTITY});
  EXPECT_EQ(schema.fields[2]->flags, std::uint32_t{CAGE_OPTION_CLASS_ONLY});
  EXPECT_EQ(schema.fields[3]->flags, std::uint32_t{CAGE_OPTION_OBJECTS});
  EXPECT_EQ(schema.flags, std::uint32_t{CAGE_SCHEMA_DEFAULT});
  EXPECT_EQ(table->schemas[1]->flags, std::uint32_t{CAGE_SCHEMA_WHOLE});
  EXPECT_EQ(view(table->schemas[1]->kind), "Little");
  EXPECT_EQ(table->schemas[1]->device_kind_count, 0U);
  EXPECT_NE(table->start, nullptr);
  EXPECT_NE(table->check, nullptr);
  EXPECT_EQ(table->quiesce, nullptr);
  EXPECT_EQ(table->resume, nullptr);
  EXPECT_NE(table->extension(CAGE_EXT_PREFERRED), nullptr);
  EXPECT_NE(table->extension(CAGE_EXT_RECONCILE), nullptr);
  EXPECT_NE(table->extension(CAGE_EXT_PRE_START), nullptr);
  EXPECT_EQ(table->extension("cage.unheard-of/1"), nullptr);
}

TEST_P(Sdk, OptionsAndLogLinesArrive) {
  Instance instance(everything(), with({{"number", std::int64_t{3}}}));
  ASSERT_EQ(instance.started, CAGE_OK) << instance.explanation;
  EXPECT_THAT(instance.host.logs, ElementsAre("call test number 3 flag 1 names 2 given 1", "started"));
}

TEST_P(Sdk, DevicesArriveWithAllTheirAttributes) {
  Instance instance(everything(), with());
  const auto snapshot = instance.discover();
  const FoundDevice& whole = snapshot->devices.at("whole");
  EXPECT_EQ(whole.pci, "0000:3b:00.0");
  EXPECT_THAT(whole.numa, ElementsAre(0, 1));
  EXPECT_THAT(whole.attrs,
              ElementsAre(Pair("cores", "64"), Pair("driver", "version 1.2.3"), Pair("ecc", "true"),
                          Pair("firmwares", "[version 1.0.0, version 2.0.0]"), Pair("lanes", "[4, 8]"),
                          Pair("model", "X1"), Pair("modes", "[fast, quiet?]"), Pair("owned", std::string(63, 'x')),
                          Pair("ports", "[true, false]"), Pair("signed", "-1")));
  EXPECT_THAT(whole.capacity, ElementsAre(Pair("memory", std::int64_t{2} << 30), Pair("slots", 3)));
  EXPECT_EQ(whole.health, (ReportedHealth{CAGE_HEALTH_BAD, "Fan", "the fan is stuck", CAGE_TAINT_NO_EXECUTE}));
  const FoundDevice& part = snapshot->devices.at("part");
  EXPECT_EQ(part.parent, "whole");
  EXPECT_EQ(part.name, "half");
  EXPECT_TRUE(part.shared);
  EXPECT_FALSE(part.has_health);
  EXPECT_THAT(snapshot->consumes.at("part"), ElementsAre(Pair("memory", 1)));
  EXPECT_THAT(snapshot->policies.at("part"),
              ElementsAre(Pair("cores", "1 of 500e-3, 1"), Pair("memory", "2 of 1 to 4 by 1")));
  EXPECT_THAT(snapshot->bindings, ElementsAre(Pair("whole", "Ready, example.com/Attached or Failed to node")));
}

TEST_P(Sdk, EditsArriveAndTheStateComesBack) {
  Instance instance(everything(), with());
  const Values params(*everything()->schemas[0],
                      {{"mode", "slow"}, {"limits.memory", Map{{"A", "1Gi"}, {"B", "2Gi"}}}});
  const cage_quantity memory = {CAGE_LIT("MEMORY"), 8, 0, CAGE_QTY_BINARY};
  Edits edits;
  ASSERT_EQ(instance.prepare(Claim("u-1", {{.device = "whole",
                                            .request = "r",
                                            .flags = CAGE_ALLOC_ADMIN,
                                            .share_id = "s",
                                            .consumed = {memory},
                                            .values = &params}}),
                             edits),
            CAGE_OK)
      << instance.explanation;
  EXPECT_THAT(edits.lines[-1], ElementsAre("env CLAIM=u-1", "env PLACE=default/claim-u-1"));
  EXPECT_THAT(edits.lines[0],
              ElementsAre("node /dev/whole <- /dev/null rw", "node /dev/second <-  ", "net eth9 as net0", "group 44",
                          "lock 1048576", "find in /lib newer than ''", "find in /compat newer than 'libcuda.so.580'",
                          "text /proc/x '1\n'", "mount /host -> /inside ro,bind", "hook createContainer /bin/hook",
                          "env REQUEST=r", "env SHARE=s", "env ADMIN=yes", "env MODE=slow", "env KIND=Everything",
                          "list ALL+=whole", "env FROM=claim", "env A=1Gi", "env B=2Gi", "env MEMORY=8",
                          "condition Ready=1 Linked: up", "condition Busy=0 Idle: ", "data {\"a\":1}",
                          "network net1 02:00 10.1.2.3/24,::1/64", "describe model=X1,slot=3"));
  EXPECT_EQ(instance.unprepare(Claim("u-1", {}, edits.state, 7)), CAGE_OK) << instance.explanation;
  EXPECT_EQ(instance.unprepare(Claim("u-1", {}, edits.state, 6)), CAGE_FAILED_PRECONDITION);
  EXPECT_EQ(instance.explanation, "not the state that was saved");
}

TEST_P(Sdk, TheJournalIsWrittenAndComesBack) {
  Instance instance(everything(), with());
  Edits edits, on_an_old_host;
  ASSERT_EQ(instance.prepare(Claim("u-1", {}, "", 0, "earlier notes"), edits), CAGE_OK) << instance.explanation;
  EXPECT_EQ(edits.journal, "undo u-1 after earlier notes");
  on_an_old_host.with_families = false;
  EXPECT_EQ(instance.prepare(Claim("u-1", {}), on_an_old_host), CAGE_OK) << instance.explanation;
}

TEST_P(Sdk, ARefusedEditEndsPrepareAndTheHostExplainsIt) {
  Instance instance(everything(), with());
  Edits edits;
  edits.accept_at_most = 1;
  EXPECT_EQ(instance.prepare(Claim("u-1", {}), edits), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(instance.explanation, "");
  EXPECT_EQ(edits.state, "");
}

TEST_P(Sdk, MissingParametersAreAnErrorAndNotACrash) {
  Instance instance(everything(), with());
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim("u-1", {{.device = "whole"}}), edits), CAGE_INTERNAL);
  EXPECT_THAT(instance.explanation, HasSubstr("no parameters"));
}

TEST_P(CppSdk, NoExceptionLeavesTheModule) {
  struct Case {
    const char* fault;
    cage_status status;
    const char* text;
  };
  for (const Case& each :
       {Case{"error", CAGE_UNAVAILABLE, "told to fail"}, Case{"standard", CAGE_INTERNAL, "a standard exception"},
        Case{"memory", CAGE_RESOURCE_EXHAUSTED, "out of memory"},
        Case{"odd", CAGE_INTERNAL, "threw something other than a std::exception"}}) {
    const Instance instance(everything(), with({{"fault", each.fault}}));
    EXPECT_EQ(instance.created, each.status) << each.fault;
    EXPECT_EQ(instance.explanation, each.text);
  }
}

TEST_P(RustSdk, NoPanicLeavesTheModule) {
  for (const auto& [fault, text] :
       {std::pair{"standard", "invalid digit"}, std::pair{"odd", "with something other than a text"},
        std::pair{"panic", "the module panicked at "}}) {
    const Instance instance(everything(), with({{"fault", fault}}));
    EXPECT_EQ(instance.created, CAGE_INTERNAL) << fault;
    EXPECT_THAT(instance.explanation, HasSubstr(text));
  }
  const Instance instance(everything(), with({{"fault", "panic"}}));
  EXPECT_THAT(instance.explanation, testing::EndsWith(": told to panic"));
  EXPECT_THAT(instance.explanation, HasSubstr("rust_everything.rs:"));
}

TEST_P(RustSdk, AFailureKeepsItsStatus) {
  const Instance instance(everything(), with({{"fault", "error"}}));
  EXPECT_EQ(instance.created, CAGE_UNAVAILABLE);
  EXPECT_EQ(instance.explanation, "told to fail");
}

TEST_P(Sdk, SleepEndsAtTheDeadlineAndWhenCancelled) {
  Instance instance(everything(), {{"pause", std::int64_t{60'000'000'000}}});
  const Claim claim("u-1", {});
  Edits edits;
  const Call late(2ms);
  EXPECT_EQ(everything()->prepare(instance.get(), late.get(), claim.get(), edits.get()), CAGE_DEADLINE_EXCEEDED);
  Call cancelled;
  cancelled.cancel();
  EXPECT_EQ(everything()->prepare(instance.get(), cancelled.get(), claim.get(), edits.get()), CAGE_CANCELLED);
  EXPECT_EQ(everything()->unprepare(instance.get(), cancelled.get(), claim.get()), CAGE_CANCELLED);
}

TEST_P(Sdk, AShortSleepReturns) {
  Instance instance(everything(), {{"pause", std::int64_t{1'000'000}}});
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim("u-1", {}), edits), CAGE_OK) << instance.explanation;
}

TEST_P(Sdk, AProgramRunsAndItsResultArrives) {
  Instance instance(everything(), with());
  EXPECT_EQ(instance.check("run:tool"), CAGE_OK) << instance.explanation;
  EXPECT_THAT(instance.host.programs, ElementsAre("tool -q all | A=b < in | 1500 ms"));
  EXPECT_THAT(instance.host.logs, Contains("exit 3 cut 1 late 0: tool"));
  EXPECT_EQ(instance.check("run:absent"), CAGE_NOT_FOUND);
  EXPECT_EQ(instance.explanation, "no such program");
  EXPECT_THAT(instance.host.logs, Contains("no such program (status 5)")) << "the module's error has the host's text";
  instance.host.with_families = false;
  EXPECT_EQ(instance.check("run:tool"), CAGE_UNIMPLEMENTED);
  EXPECT_EQ(instance.explanation, "running a program needs a host with cage.exec/1");
}

TEST_P(Sdk, AServiceIsStartedAndStopped) {
  Instance instance(everything(), with());
  EXPECT_EQ(instance.check("keep:tool"), CAGE_OK) << instance.explanation;
  EXPECT_THAT(instance.host.services, ElementsAre("start helper: tool -q all | A=b | 0 ms", "stop helper"));
  EXPECT_EQ(instance.check("keep:absent"), CAGE_NOT_FOUND);
  EXPECT_EQ(instance.explanation, "no such program");
  EXPECT_THAT(instance.host.logs, Contains("no such program (status 5)"));
  instance.host.with_families = false;
  EXPECT_EQ(instance.check("keep:tool"), CAGE_UNIMPLEMENTED);
  EXPECT_EQ(instance.explanation, "a service needs a host with cage.service/1");
}

TEST_P(Sdk, HealthOfACauseArrivesWithItsTaint) {
  Instance instance(everything(), with());
  EXPECT_EQ(instance.check("causes"), CAGE_OK);
  EXPECT_THAT(instance.host.healths,
              ElementsAre(Pair("causes", ReportedHealth{CAGE_HEALTH_UNMONITORED, "NoEvents", "no events",
                                                        CAGE_TAINT_INFORM, "Link"}),
                          Pair("causes", ReportedHealth{CAGE_HEALTH_BAD, "Dbe", "bank 3", CAGE_TAINT_NO_SCHEDULE, "Ecc",
                                                        "example.com/ecc", "bank-3"}),
                          Pair("causes", ReportedHealth{CAGE_HEALTH_DEGRADED, "Hot", "96 degrees", CAGE_TAINT_NONE,
                                                        "Temperature", "", "", 96.5})));
}

TEST_P(Sdk, AccessesToTheHardwareArrive) {
  Instance instance(everything(), with());
  EXPECT_EQ(instance.check("write:gpu-0"), CAGE_OK) << instance.explanation;
  EXPECT_THAT(instance.host.accesses,
              ElementsAre("gpu-0: /sys/reset = 1 within 1500 ms",
                          "gpu-0: /dev/card 0x5413 of 8 bytes, /lib/bits from 128 at 0, 4a5e, flags 1",
                          "gpu-0: 0000:3b:00.0 to 'vfio-pci'", "gpu-0: 0000:3b:00.0 to ''"));
  EXPECT_THAT(instance.host.logs, Contains("the argument is 8"));
  EXPECT_EQ(instance.check("write:stuck"), CAGE_UNAVAILABLE);
  EXPECT_EQ(instance.explanation, "the device is stuck");
  EXPECT_THAT(instance.host.logs, Contains("the device is stuck (status 14)"));
  instance.host.with_families = false;
  EXPECT_EQ(instance.check("write:gpu-0"), CAGE_UNIMPLEMENTED);
  EXPECT_EQ(instance.explanation, "writing to hardware needs a host with cage.write/1");
}

TEST_P(Sdk, HealthReconcileAndPreferenceArrive) {
  Instance instance(everything(), with());
  EXPECT_EQ(instance.check("whole"), CAGE_OK);
  EXPECT_THAT(instance.host.healths, ElementsAre(Pair("whole", ReportedHealth{CAGE_HEALTH_OK, "", "", 0})));

  const Claim live("u-7", {});
  const cage_claim* claims[] = {live.get()};
  const Call call;
  const auto* reconcile = static_cast<const cage_reconcile*>(everything()->extension(CAGE_EXT_RECONCILE));
  EXPECT_EQ(reconcile->keep(instance.get(), call.get(), claims, 1), CAGE_OK);
  EXPECT_THAT(instance.host.logs, Contains("live u-7"));
  EXPECT_EQ(instance.host.rescans, 1);

  std::vector<std::string> chosen;
  cage_id_sink sink{sizeof sink, 0, &chosen, [](cage_id_sink* self, cage_str id) {
                      static_cast<std::vector<std::string>*>(self->host_data)->emplace_back(view(id));
                      return cage_status{CAGE_OK};
                    }};
  const cage_str available[] = {CAGE_LIT("a"), CAGE_LIT("b"), CAGE_LIT("c")};
  const auto* preferred = static_cast<const cage_preferred*>(everything()->extension(CAGE_EXT_PREFERRED));
  EXPECT_EQ(preferred->choose(instance.get(), call.get(), available, 3, nullptr, 0, 2, &sink), CAGE_OK);
  EXPECT_THAT(chosen, ElementsAre("c", "b"));
}

TEST_P(Sdk, TheTableListsTheDeclaredCauses) {
  ASSERT_EQ(everything()->cause_count, 4U);
  const cage_cause& hot = *everything()->causes[0];
  expect_size(hot);
  EXPECT_EQ(view(hot.name), "Temperature");
  EXPECT_EQ(view(hot.help), "the hottest sensor");
  EXPECT_EQ(view(hot.unit), "Cel");
  EXPECT_EQ(hot.flags, std::uint32_t{CAGE_CAUSE_ABOVE});
  EXPECT_EQ(hot.limit, 95);
  EXPECT_EQ(hot.clear_limit, 90.5);
  EXPECT_EQ(hot.severity, std::uint32_t{CAGE_HEALTH_DEGRADED});
  EXPECT_EQ(hot.hold_down_s, 30U);
  EXPECT_EQ(hot.recovery, std::uint32_t{CAGE_RECOVERY_REPORT});
  const cage_cause& fallen = *everything()->causes[1];
  EXPECT_EQ(fallen.flags, std::uint32_t{CAGE_CAUSE_EVENT});
  EXPECT_EQ(fallen.severity, std::uint32_t{CAGE_HEALTH_UNKNOWN}) << "as stated";
  EXPECT_EQ(fallen.recovery, std::uint32_t{CAGE_RECOVERY_SILENCE});
  EXPECT_EQ(fallen.recovery_s, 3600U);
  EXPECT_EQ(fallen.relapses, 3U);
  EXPECT_EQ(fallen.window_s, 86'400U);
  EXPECT_EQ(fallen.taint, std::uint32_t{CAGE_TAINT_NO_SCHEDULE});
  EXPECT_EQ(view(fallen.taint_key), "example.com/xid");
  EXPECT_EQ(view(fallen.taint_value), "seen");
}

TEST_P(Sdk, SamplesOfTheDeclaredMetricsArrive) {
  Instance instance(everything(), with());
  const auto* family = static_cast<const cage_metrics*>(everything()->extension(CAGE_EXT_METRICS));
  expect_size(*family);
  ASSERT_EQ(family->metric_count, 2U);
  const cage_metric& errors = *family->metrics[1];
  EXPECT_EQ(view(family->metrics[0]->name), "temperature_celsius");
  EXPECT_EQ(family->metrics[0]->type, std::uint32_t{CAGE_METRIC_GAUGE});
  EXPECT_EQ(family->metrics[0]->label_count, 0U);
  EXPECT_EQ(errors.type, std::uint32_t{CAGE_METRIC_COUNTER});
  EXPECT_EQ(view(errors.help), "since the reset");
  ASSERT_EQ(errors.label_count, 2U);
  EXPECT_EQ(view(errors.labels[1]), "way");
  std::vector<std::string> samples;
  cage_metrics_sink sink{
      sizeof sink, 0, &samples,
      [](cage_metrics_sink* self, std::uint32_t metric, cage_str device, const cage_str* labels, double value) {
        const std::string both = metric == 1 ? std::string(view(labels[0])) + std::string(view(labels[1])) : "";
        auto& seen = *static_cast<std::vector<std::string>*>(self->host_data);
        seen.push_back(fmt::format("{} '{}' {} {}", metric, view(device), both, value));
        return cage_status{metric == 1 ? CAGE_INVALID_ARGUMENT : CAGE_OK};
      }};
  const Call call;
  EXPECT_EQ(family->collect(instance.get(), call.get(), &sink), CAGE_OK) << call.explanation;
  EXPECT_THAT(samples, ElementsAre("0 'whole'  41.5", "1 'whole' 0up 3", "0 ''  20"));
  EXPECT_THAT(instance.host.logs, Contains("refused"));
}

TEST_P(Sdk, LabelsArrive) {
  Instance instance(everything(), with());
  const auto* family = static_cast<const cage_labels*>(everything()->extension(CAGE_EXT_LABELS));
  expect_size(*family);
  std::vector<std::string> labels;
  cage_label_sink sink{sizeof sink, 0, &labels, [](cage_label_sink* self, cage_str name, cage_str value) {
                         auto& seen = *static_cast<std::vector<std::string>*>(self->host_data);
                         seen.push_back(fmt::format("{}={}", view(name), view(value)));
                         return cage_status{CAGE_OK};
                       }};
  const Call call;
  EXPECT_EQ(family->collect(instance.get(), call.get(), &sink), CAGE_OK) << call.explanation;
  EXPECT_THAT(labels, ElementsAre("test.example.com/driver=1.2.3"));
}

TEST_P(Sdk, TheCatalogueArrives) {
  Instance instance(everything(), with());
  const auto* family = static_cast<const cage_catalogue*>(everything()->extension(CAGE_EXT_CATALOGUE));
  expect_size(*family);
  std::vector<std::string> entries;
  cage_catalogue_sink sink{
      sizeof sink, 0, &entries, [](cage_catalogue_sink* self, const cage_catalogue_entry* entry) {
        expect_size(*entry);
        auto& seen = *static_cast<std::vector<std::string>*>(self->host_data);
        seen.push_back(
            fmt::format("{} {} {}: {}", entry->flags, view(entry->kind), view(entry->name), view(entry->detail)));
        for (std::uint32_t i = 0; i < entry->attr_count; ++i)
          seen.push_back(fmt::format("{}={}", view(entry->attrs[i].name), attribute_text(entry->attrs[i])));
        return cage_status{entry->flags == 0 ? CAGE_OK : CAGE_INVALID_ARGUMENT};
      }};
  const Call call;
  EXPECT_EQ(family->collect(instance.get(), call.get(), &sink), CAGE_OK) << call.explanation;
  EXPECT_THAT(entries, ElementsAre("0 bitstream aes: AES at 300 MHz", "part=xcu250", "clocks=[300, 500]",
                                   "shell=version 1.2.3", "1 bitstream old: old.toml: key 'part' is missing; add it"));
  EXPECT_THAT(instance.host.logs, Contains("refused"));
  Call cancelled;
  cancelled.cancel();
  EXPECT_EQ(family->collect(instance.get(), cancelled.get(), &sink), CAGE_CANCELLED);
}

TEST_P(Sdk, EventsArrive) {
  Instance instance(everything(), with());
  const auto* family = static_cast<const cage_watch*>(everything()->extension(CAGE_EXT_WATCH));
  expect_size(*family);
  ASSERT_EQ(family->kernel_log_count, 2U);
  EXPECT_EQ(view(family->kernel_log[1]), "test: two");
  ASSERT_EQ(family->uevent_count, 1U);
  EXPECT_EQ(view(family->uevents[0]), "pci");
  const cage_event message{sizeof message, CAGE_EVENT_KERNEL_LOG, 7'000'000'000, CAGE_LIT("test: two"), -1, 0};
  const cage_event ready{sizeof ready, CAGE_EVENT_DESCRIPTOR, 0, {}, 9, 0};
  const cage_event* const events[] = {&message, &ready};
  const Call call, other;
  EXPECT_EQ(family->events(instance.get(), call.get(), events, 2, CAGE_EVENTS_LOST), CAGE_OK) << call.explanation;
  EXPECT_THAT(instance.host.logs, ::testing::IsSupersetOf({"lost", "message test: two", "polls 9", "polls 9 no more"}));
  instance.host.with_families = false;
  EXPECT_EQ(family->events(instance.get(), other.get(), events, 2, 0), CAGE_UNIMPLEMENTED);
  EXPECT_EQ(other.explanation, "waiting for descriptors needs a host with cage.poll/1");
}

TEST_P(Sdk, NewOptionsReachTheModule) {
  Instance instance(everything(), with());
  const auto* family = static_cast<const cage_configure*>(everything()->extension(CAGE_EXT_CONFIGURE));
  expect_size(*family);
  const Values values(everything()->options, everything()->option_count, {{"number", std::int64_t{9}}});
  const Call call;
  EXPECT_EQ(family->configure(instance.get(), call.get(), values.get()), CAGE_OK) << call.explanation;
  EXPECT_THAT(instance.host.logs, Contains("number is 9"));
}

TEST(CppModule, AModuleThatSaysNothingWorksWithTheOldestHost) { EXPECT_EQ(open_built("acme_cc")->min_host_minor, 0U); }

TEST(CppModule, FunctionsThatAreNotOverriddenAreNotOffered) {
  const cage_module* acme = open_built("acme_cc");
  for (const char* family : {CAGE_EXT_PREFERRED, CAGE_EXT_RECONCILE, CAGE_EXT_PRE_START, CAGE_EXT_CONFIGURE,
                             CAGE_EXT_METRICS, CAGE_EXT_LABELS, CAGE_EXT_CATALOGUE, CAGE_EXT_SANDBOX})
    EXPECT_EQ(acme->extension(family), nullptr) << family;
}

}  // namespace
}  // namespace cardcage::raw
