// Modules written with sdk.hpp and the modules in the vendor's tutorial, through their raw tables.
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "host/config/config.h"
#include "tests/abi/raw_host.h"
#include "tests/fakes/scratch_folder.h"

namespace cardcage::raw {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using Options = std::map<std::string, Value>;

const cage_module* everything() {
  static const cage_module* module = open_module(CARDCAGE_SDK_EVERYTHING);
  return module;
}
Options with(Options more = {}) {
  more.emplace("pause", std::int64_t{0});
  return more;
}

TEST(Sdk, TheTableListsWhatTheClassDeclaresAndOverrides) {
  const cage_module* table = everything();
  EXPECT_EQ(view(table->id), "test.everything");
  EXPECT_EQ(view(table->version), "1.2.3");
  EXPECT_EQ(table->flags, std::uint32_t{CAGE_MODULE_PROCESS_ONLY});
  EXPECT_EQ(table->state_version, 7U);
  ASSERT_EQ(table->option_count, 6U);
  const cage_option& fault = *table->options[0];
  EXPECT_EQ(view(fault.name), "fault");
  EXPECT_EQ(view(fault.choices[fault.choice_count - 1]), "odd");
  EXPECT_EQ(table->options[1]->max, 9);
  EXPECT_EQ(table->options[1]->flags, std::uint32_t{CAGE_OPTION_LIVE});
  EXPECT_EQ(view(table->options[4]->default_text), "[\"a\", \"b\"]");
  EXPECT_EQ(table->options[5]->flags, std::uint32_t{CAGE_OPTION_SECRET});
  ASSERT_EQ(table->param_count, 1U);
  EXPECT_EQ(view(table->params[0]->name), "mode");
  EXPECT_EQ(view(table->params_kind), "Everything");
  EXPECT_NE(table->start, nullptr);
  EXPECT_NE(table->check, nullptr);
  EXPECT_EQ(table->quiesce, nullptr);
  EXPECT_EQ(table->resume, nullptr);
  EXPECT_NE(table->extension(CAGE_EXT_PREFERRED), nullptr);
  EXPECT_NE(table->extension(CAGE_EXT_RECONCILE), nullptr);
  EXPECT_NE(table->extension(CAGE_EXT_PRE_START), nullptr);
  EXPECT_EQ(table->extension("cage.unheard-of/1"), nullptr);
}

TEST(Sdk, OptionsAndLogLinesArrive) {
  Instance instance(everything(), with({{"number", std::int64_t{3}}}));
  ASSERT_EQ(instance.started, CAGE_OK) << instance.explanation;
  EXPECT_THAT(instance.host.logs, ElementsAre("call test number 3 flag 1 names 2 given 1", "started"));
}

TEST(Sdk, DevicesArriveWithAllTheirAttributes) {
  Instance instance(everything(), with());
  const auto snapshot = instance.discover();
  const FoundDevice& whole = snapshot->devices.at("whole");
  EXPECT_EQ(whole.pci, "0000:3b:00.0");
  EXPECT_THAT(whole.numa, ElementsAre(0, 1));
  EXPECT_THAT(whole.attrs, ElementsAre(Pair("cores", "64"), Pair("driver", "version 1.2.3"), Pair("ecc", "true"),
                                       Pair("model", "X1"), Pair("owned", "text"), Pair("signed", "-1")));
  EXPECT_THAT(whole.capacity, ElementsAre(Pair("memory", std::int64_t{2} << 30), Pair("slots", 3)));
  EXPECT_EQ(whole.health, (ReportedHealth{CAGE_HEALTH_BAD, "Fan", "the fan is stuck", CAGE_TAINT_NO_EXECUTE}));
  const FoundDevice& part = snapshot->devices.at("part");
  EXPECT_EQ(part.parent, "whole");
  EXPECT_TRUE(part.shared);
  EXPECT_FALSE(part.has_health);
  EXPECT_THAT(snapshot->consumes.at("part"), ElementsAre(Pair("memory", 1)));
}

TEST(Sdk, EditsArriveAndTheStateComesBack) {
  Instance instance(everything(), with());
  const Values params(everything()->params, everything()->param_count, {{"mode", "slow"}});
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
                          "mount /host -> /inside ro,bind", "hook createContainer /bin/hook", "env REQUEST=r",
                          "env SHARE=s", "env ADMIN=yes", "env MODE=slow", "env MEMORY=8"));
  EXPECT_EQ(instance.unprepare(Claim("u-1", {}, edits.state, 7)), CAGE_OK) << instance.explanation;
  EXPECT_EQ(instance.unprepare(Claim("u-1", {}, edits.state, 6)), CAGE_FAILED_PRECONDITION);
  EXPECT_EQ(instance.explanation, "not the state that was saved");
}

TEST(Sdk, ARefusedEditEndsPrepareAndTheHostExplainsIt) {
  Instance instance(everything(), with());
  Edits edits;
  edits.accept_at_most = 1;
  EXPECT_EQ(instance.prepare(Claim("u-1", {}), edits), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(instance.explanation, "");
  EXPECT_EQ(edits.state, "");
}

TEST(Sdk, MissingParametersAreAnErrorAndNotACrash) {
  Instance instance(everything(), with());
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim("u-1", {{.device = "whole"}}), edits), CAGE_INTERNAL);
  EXPECT_THAT(instance.explanation, HasSubstr("no parameters"));
}

TEST(Sdk, NoExceptionLeavesTheModule) {
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

TEST(Sdk, SleepEndsAtTheDeadlineAndWhenCancelled) {
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

TEST(Sdk, AShortSleepReturns) {
  Instance instance(everything(), {{"pause", std::int64_t{1'000'000}}});
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim("u-1", {}), edits), CAGE_OK) << instance.explanation;
}

TEST(Sdk, HealthReconcileAndPreferenceArrive) {
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

TEST(Sdk, PreStartReachesTheModuleAndAnExceptionFailsIt) {
  Instance instance(everything(), with());
  const Claim claim("u-1", {{.device = "whole"}}, "saved", 7);
  const auto* family = static_cast<const cage_pre_start*>(everything()->extension(CAGE_EXT_PRE_START));
  ASSERT_EQ(family->struct_size, sizeof *family);
  const Call call;
  EXPECT_EQ(family->pre_start(instance.get(), call.get(), claim.get()), CAGE_OK) << call.explanation;
  EXPECT_THAT(instance.host.logs, Contains("about to start whole of u-1 with saved"));
  Call cancelled;
  cancelled.cancel();
  EXPECT_EQ(family->pre_start(instance.get(), cancelled.get(), claim.get()), CAGE_CANCELLED);
}

TEST(Sdk, FunctionsThatAreNotOverriddenAreNotOffered) {
  const cage_module* acme = open_module(CARDCAGE_ACME_CC);
  for (const char* family : {CAGE_EXT_PREFERRED, CAGE_EXT_RECONCILE, CAGE_EXT_PRE_START})
    EXPECT_EQ(acme->extension(family), nullptr) << family;
}

TEST(Tutorial, TheCppModuleWorks) {
  const ScratchFolder folder;
  std::ofstream(folder / "acme0") << "";
  std::ofstream(folder / "other") << "";
  const cage_module* acme = open_module(CARDCAGE_ACME_CC);
  Instance instance(acme, {{"dev_dir", folder.path().string()}});
  ASSERT_EQ(instance.created, CAGE_OK) << instance.explanation;
  EXPECT_THAT(instance.discover()->devices, ElementsAre(Pair("acme0", testing::_)));
  const Values params(acme->params, acme->param_count, {{"boost", std::int64_t{100}}});
  Edits edits;
  ASSERT_EQ(instance.prepare(Claim("u", {{.device = "acme0", .values = &params}}), edits), CAGE_OK);
  EXPECT_THAT(edits.lines[0], ElementsAre("node " + (folder / "acme0").string() + " <-  ", "env ACME_MODE=fast",
                                          "env ACME_BOOST_MHZ=100"));
  EXPECT_EQ(instance.prepare(Claim("v", {{.device = "acme9", .values = &params}}), edits), CAGE_NOT_FOUND);
  EXPECT_EQ(instance.unprepare(Claim("u", {{.device = "acme0"}})), CAGE_OK);
  const Instance astray(acme, {{"dev_dir", "/nonexistent"}});
  EXPECT_EQ(astray.created, CAGE_FAILED_PRECONDITION);
  EXPECT_THAT(astray.explanation, HasSubstr("/nonexistent"));
}

TEST(Tutorial, TheCModuleWorks) {
  Instance instance(open_module(CARDCAGE_ACME_C), {});
  ASSERT_EQ(instance.created, CAGE_OK) << instance.explanation;
  EXPECT_THAT(instance.discover()->devices, ElementsAre(Pair("acme0", testing::_), Pair("acme1", testing::_)));
  Edits edits;
  ASSERT_EQ(instance.prepare(Claim("u", {{.device = "acme1"}}), edits), CAGE_OK);
  EXPECT_THAT(edits.lines[0], ElementsAre("node /dev/acme1 <-  ", "env ACME_CARD=acme1"));
  EXPECT_EQ(instance.prepare(Claim("v", {{.device = "acme9"}}), edits), CAGE_NOT_FOUND);
  EXPECT_EQ(instance.explanation, "no such card");
  EXPECT_EQ(instance.unprepare(Claim("u", {{.device = "acme1"}})), CAGE_OK);
}

TEST(Tutorial, TheConfigurationAndTheClaimFitTheModule) {
  const std::filesystem::path examples = CARDCAGE_EXAMPLES;
  const auto config = load_config(examples / "acme.toml", [](const std::string&) { return "/srv/acme"; });
  ASSERT_TRUE(config) << config.error().to_string();
  std::stringstream text;
  text << std::ifstream(examples / "acme-claim.json").rdbuf();
  const boost::json::value claim = boost::json::parse(text.str());
  const auto& parameters = claim.at_pointer("/status/allocation/devices/config/0/opaque/parameters").as_object();
  const cage_module* acme = open_module(CARDCAGE_ACME_CC);
  EXPECT_EQ(parameters.at("apiVersion").as_string(), view(acme->params_api_version));
  EXPECT_EQ(parameters.at("kind").as_string(), view(acme->params_kind));
  const Values values(
      acme->params, acme->param_count,
      {{"mode", std::string(parameters.at("mode").as_string())}, {"boost", parameters.at("boost").as_int64()}});
}

}  // namespace
}  // namespace cardcage::raw
