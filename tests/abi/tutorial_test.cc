// The modules in the vendor's tutorial, through their raw tables.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "host/config/config.h"
#include "sim/scratch_folder.h"
#include "tests/abi/raw_host.h"

namespace cardcage::raw {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using Options = std::map<std::string, Value>;

TEST(Tutorial, TheCppModuleWorks) {
  const ScratchFolder folder;
  std::ofstream(folder / "acme0") << "";
  std::ofstream(folder / "other") << "";
  const cage_module* acme = open_built("acme_cc");
  Instance instance(acme, {{"dev_dir", folder.path().string()}});
  ASSERT_EQ(instance.created, CAGE_OK) << instance.explanation;
  EXPECT_THAT(instance.discover()->devices, ElementsAre(Pair("acme0", testing::_)));
  const Values params(*acme->schemas[0], {{"boost", std::int64_t{100}}});
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

class SlotsTutorial : public ::testing::Test {
 protected:
  void touch(const std::string& file) const { std::ofstream(folder / file) << ""; }
  bool has(const std::string& file) const { return std::filesystem::exists(folder / file); }
  std::map<std::string, Value> options() const { return {{"dev_dir", folder.path().string()}}; }
  const cage_module* const slots = open_built("acme_slots");
  const ScratchFolder folder;
};

TEST_F(SlotsTutorial, ListsPartitionsAndUndoesWhatADeadPrepareLeft) {
  touch("acme0");
  touch("acme0-slot-1.user");  // left by a crashed prepare
  Instance instance(slots, options());
  ASSERT_EQ(instance.created, CAGE_OK) << instance.explanation;
  const auto found = instance.discover();
  EXPECT_THAT(found->devices, ElementsAre(Pair("acme0", testing::_), Pair("acme0-slot-0", testing::_),
                                          Pair("acme0-slot-1", testing::_)));
  EXPECT_EQ(found->devices["acme0-slot-0"].parent, "acme0");
  EXPECT_EQ(found->consumes["acme0-slot-0"]["memory"], std::int64_t{4} << 30);
  EXPECT_EQ(found->counter_sets["acme0"]["memory"], std::int64_t{8} << 30);

  Edits edits;
  ASSERT_EQ(instance.prepare(Claim("u", {{.device = "acme0-slot-0"}}, "", 1, "acme0-slot-1\n"), edits), CAGE_OK);
  EXPECT_EQ(edits.journal, "acme0-slot-0\n");
  EXPECT_EQ(edits.state, edits.journal);
  EXPECT_TRUE(has("acme0-slot-0.user"));
  EXPECT_FALSE(has("acme0-slot-1.user"));
  EXPECT_THAT(edits.lines[-1], ElementsAre(HasSubstr("createContainer")));
  EXPECT_EQ(instance.unprepare(Claim("u", {{.device = "acme0-slot-0"}}, edits.state)), CAGE_OK);
  EXPECT_FALSE(has("acme0-slot-0.user"));
}

TEST_F(SlotsTutorial, ReconcileFreesWhatNoLiveClaimHolds) {
  touch("acme0");
  touch("acme0-slot-0.user");
  touch("acme0-slot-1.user");
  Instance instance(slots, options());
  const Claim live("u", {{.device = "acme0-slot-0"}});
  const cage_claim* claims[] = {live.get()};
  const Call call;
  const auto* reconcile = static_cast<const cage_reconcile*>(slots->extension(CAGE_EXT_RECONCILE));
  ASSERT_EQ(reconcile->keep(instance.get(), call.get(), claims, 1), CAGE_OK) << call.explanation;
  EXPECT_TRUE(has("acme0-slot-0.user"));
  EXPECT_FALSE(has("acme0-slot-1.user"));

  std::vector<std::string> samples;
  cage_metrics_sink sink{
      sizeof sink, 0, &samples,
      [](cage_metrics_sink* self, std::uint32_t, cage_str device, const cage_str*, double value) {
        static_cast<std::vector<std::string>*>(self->host_data)->push_back(fmt::format("{} {}", view(device), value));
        return cage_status{CAGE_OK};
      }};
  const auto* metrics = static_cast<const cage_metrics*>(slots->extension(CAGE_EXT_METRICS));
  ASSERT_EQ(metrics->collect(instance.get(), call.get(), &sink), CAGE_OK) << call.explanation;
  EXPECT_THAT(samples, ElementsAre("acme0-slot-0 1", "acme0-slot-1 0"));
}

TEST_F(SlotsTutorial, TheThreadReportsHealthAndNewCards) {
  touch("acme0");
  touch("acme0.hot");
  Instance instance(slots, options());
  const std::pair<std::string, ReportedHealth> hot{"acme0",
                                                   {CAGE_HEALTH_BAD, "TooHot", "above 90 degrees", 0, "Thermal"}};
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.healths == std::vector{hot}; }));
  std::filesystem::remove(folder / "acme0.hot");
  touch("acme1");
  EXPECT_TRUE(instance.host.wait_until([&] { return instance.host.rescans == 1; }));
  EXPECT_TRUE(instance.host.wait_until([&] { return instance.host.healths.size() == 3; }))
      << "acme0 is well again, acme1 is well";
}

TEST(Tutorial, TheCModuleWorks) {
  Instance instance(open_built("acme_c"), {});
  ASSERT_EQ(instance.created, CAGE_OK) << instance.explanation;
  EXPECT_THAT(instance.discover()->devices, ElementsAre(Pair("acme0", testing::_), Pair("acme1", testing::_)));
  Edits edits;
  ASSERT_EQ(instance.prepare(Claim("u", {{.device = "acme1"}}), edits), CAGE_OK);
  EXPECT_THAT(edits.lines[0], ElementsAre("node /dev/acme1 <-  ", "list ACME_CARDS+=acme1"));
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
  const cage_module* acme = open_built("acme_cc");
  EXPECT_EQ(parameters.at("apiVersion").as_string(), view(acme->schemas[0]->api_version));
  EXPECT_EQ(parameters.at("kind").as_string(), view(acme->schemas[0]->kind));
  const Values values(*acme->schemas[0], {{"mode", std::string(parameters.at("mode").as_string())},
                                          {"boost", parameters.at("boost").as_int64()}});
}

}  // namespace
}  // namespace cardcage::raw
