// Statements of prepare about devices, through cage.edits.status and cage.edits.metadata.
#include <gmock/gmock.h>

#include "host/sinks/edits_sink.h"
#include "tests/unit/sinks/abi_text.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StatementsTest : public ::testing::Test {
 protected:
  StatementsTest() { reopen(); }
  void reopen() {
    table = sink.open(5, 2);
    status = static_cast<const cage_edits_status*>(table->extension(table, CAGE_EDITS_STATUS));
    metadata = static_cast<const cage_edits_metadata*>(table->extension(table, CAGE_EDITS_METADATA));
  }
  static cage_condition ready(std::string_view reason = "Linked") {
    return {.struct_size = sizeof(cage_condition),
            .status = CAGE_CONDITION_TRUE,
            .type = text("Ready"),
            .reason = text(reason),
            .message = text("")};
  }
  cage_status condition(std::int32_t alloc, const cage_condition& given) {
    return status->condition(table, alloc, &given);
  }
  cage_status data(std::string_view json) { return status->data(table, 0, text(json)); }
  cage_status network(std::vector<cage_str> ips, std::string_view name = "net1", std::string_view address = "02:00") {
    const cage_network_data given{.struct_size = sizeof(cage_network_data),
                                  .ip_count = static_cast<std::uint32_t>(ips.size()),
                                  .interface_name = text(name),
                                  .hardware_address = text(address),
                                  .ips = ips.data()};
    return status->network(table, 1, &given);
  }
  // The error of finish(), after which the next prepare begins.
  std::string refusal(cage_status refused) {
    EXPECT_NE(refused, CAGE_OK);
    const auto edits = sink.finish();
    reopen();
    return edits ? "was taken" : edits.error().message;
  }

  Asks asks{{}};
  EditsSink sink{"m", asks};
  cage_edits* table = nullptr;
  const cage_edits_status* status = nullptr;
  const cage_edits_metadata* metadata = nullptr;
};

TEST_F(StatementsTest, ADeviceHasConditionsDataNetworkAndADescription) {
  EXPECT_EQ(condition(1, ready()), CAGE_OK);
  EXPECT_EQ(status->data(table, 1, text(R"( {"lanes": 16} )")), CAGE_OK);
  EXPECT_EQ(network({text("10.1.2.3/24"), text("2001:DB8::1/64")}), CAGE_OK);
  const cage_attr model{.name = text("model"), .type = CAGE_ATTR_STRING, .count = 1, .v = {.s = text("X1")}};
  EXPECT_EQ(metadata->describe(table, 1, &model, 1), CAGE_OK);
  const auto edits = sink.finish();
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(edits->statements,
              ElementsAre(DeviceStatement{},
                          DeviceStatement{.conditions = {{"Ready", DeviceCondition::Status::kTrue, "Linked", "", {}}},
                                          .data = R"({"lanes":16})",
                                          .network = NetworkData{"net1", {"10.1.2.3/24", "2001:db8::1/64"}, "02:00"},
                                          .metadata = Attributes{{"model", std::string("X1")}}}));
}

TEST_F(StatementsTest, AClaimOfWhichNothingIsStatedHasNoStatements) {
  EXPECT_THAT(sink.finish()->statements, IsEmpty());
}

TEST_F(StatementsTest, TheLastCallCounts) {
  for (const char* reason : {"Linking", "Linked"}) EXPECT_EQ(condition(0, ready(reason)), CAGE_OK);
  for (const char* json : {"{\"a\":1}", "{}"}) EXPECT_EQ(data(json), CAGE_OK);
  EXPECT_EQ(metadata->describe(table, 0, nullptr, 0), CAGE_OK);
  const auto edits = sink.finish();
  ASSERT_THAT(edits->statements, SizeIs(2));
  EXPECT_THAT(edits->statements[0].conditions, SizeIs(1));
  EXPECT_EQ(edits->statements[0].conditions[0].reason, "Linked");
  EXPECT_EQ(edits->statements[0].data, "{}");
  EXPECT_TRUE(edits->statements[0].metadata) << "described only by the report of discover()";
}

TEST_F(StatementsTest, ConditionsKeepTheRulesOfKubernetes) {
  cage_condition wrong = ready();
  wrong.type = text("not a name");
  EXPECT_EQ(refusal(condition(0, wrong)),
            "type of a condition 'not a name' is not a name such as Ready or example.com/Linked");
  EXPECT_EQ(refusal(condition(0, ready(""))),
            "condition 'Ready': reason '' is not a CamelCase token of 1 to 128 characters");
  wrong = ready();
  wrong.status = 3;
  EXPECT_EQ(refusal(condition(0, wrong)), "condition 'Ready': status 3 is not one of CAGE_CONDITION_*");
  wrong = ready();
  const std::string large(1025, 'm');
  wrong.message = text(large);
  EXPECT_EQ(refusal(condition(0, wrong)), "condition 'Ready': message has 1025 bytes, at most 1024 are allowed");
  wrong.message = text("\xff");
  EXPECT_EQ(refusal(condition(0, wrong)), "condition 'Ready': message is not UTF-8");
  wrong = ready();
  wrong.struct_size = 8;
  EXPECT_THAT(refusal(condition(0, wrong)), HasSubstr("[R2]"));
  const std::string names[] = {"A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9"};
  cage_status last = CAGE_OK;
  for (const std::string& name : names) {
    cage_condition one = ready();
    one.type = text(name);
    last = condition(0, one);
  }
  EXPECT_EQ(refusal(last), "condition 'A9' would be one more than the 8 that a device may have");
}

TEST_F(StatementsTest, NothingIsStatedOfTheWholeClaimOrOfAnUnknownDevice) {
  EXPECT_EQ(refusal(condition(-1, ready())), "nothing can be stated of the whole claim: state it of each device");
  EXPECT_THAT(refusal(condition(2, ready())), HasSubstr("allocation 2 is not in 0 to 1"));
}

TEST_F(StatementsTest, DataIsAJsonObjectOfAtMostTenKilobytes) {
  EXPECT_EQ(refusal(data("[1]")), "data '[1]' is not a JSON object");
  EXPECT_THAT(refusal(data("{")), HasSubstr("data '{' is not a JSON object: "));
  EXPECT_EQ(refusal(data("{\"a\":\"" + std::string(10'300, 'x') + "\"}")),
            "data has 10308 bytes, at most 10240 are allowed");
}

TEST_F(StatementsTest, NetworkDataKeepsTheRulesOfKubernetes) {
  EXPECT_EQ(refusal(network({text("10.1.2.3")})),
            "'10.1.2.3' is not an address with the length of its prefix, such as 10.1.2.3/24");
  EXPECT_EQ(refusal(network({text("::1/64"), text("0:0::1/64")})), "address '::1/64' appears twice");
  EXPECT_EQ(refusal(network({}, std::string(257, 'n'))), "interface_name has 257 bytes, at most 256 are allowed");
  EXPECT_EQ(refusal(network({}, "n", std::string(129, 'h'))),
            "hardware_address has 129 bytes, at most 128 are allowed");
  EXPECT_EQ(refusal(network(std::vector<cage_str>(17, text("::1/64")))), "ips has 17 entries, at most 16 are allowed");
}

TEST_F(StatementsTest, ADescriptionKeepsTheRulesOfAttributes) {
  const cage_attr wrong{.name = text("no name!"), .type = CAGE_ATTR_STRING, .count = 1, .v = {.s = text("X1")}};
  EXPECT_THAT(refusal(metadata->describe(table, 0, &wrong, 1)), HasSubstr("no name!"));
}

}  // namespace
}  // namespace cardcage
