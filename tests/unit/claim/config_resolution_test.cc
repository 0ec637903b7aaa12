#include "host/claim/config_resolution.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kDriver = "gpu.example.com";

ModuleIdentity identity(const std::string& kind = "") {
  ModuleIdentity about;
  ParamsSchema& schema = about.schemas.emplace_back();
  schema.kind = kind;
  schema.fields = {{.name = "mode", .type = OptionType::kString, .default_text = "slow", .choices = {"slow", "fast"}},
                   {.name = "shares", .type = OptionType::kInteger, .default_text = "1", .min = 1, .max = 8}};
  return about;
}

OpaqueConfig config(ConfigSource source, std::vector<std::string> requests, std::string json) {
  return {source, std::move(requests), kDriver, std::move(json)};
}

std::string text(const OptionValues& values, const std::string& name) {
  const OptionValue& value = values.entries.at(name).value;
  return std::holds_alternative<std::string>(value) ? std::get<std::string>(value)
                                                    : std::to_string(std::get<std::int64_t>(value));
}

class ConfigResolutionTest : public ::testing::Test {
 protected:
  Result<ResolvedConfig> resolve(std::vector<OpaqueConfig> configs, std::vector<std::string> requests) {
    ConfigTarget target{&about_, {}};
    for (std::string& request : requests) target.devices.push_back({std::move(request), "gpu"});
    auto resolved = resolve_configs(configs, kDriver, {target});
    if (!resolved) return std::unexpected(resolved.error());
    return resolved->at(0);
  }
  std::string error(std::vector<OpaqueConfig> configs) {
    const auto resolved = resolve(std::move(configs), {"main"});
    return resolved ? "no error" : resolved.error().message;
  }
  ModuleIdentity about_ = identity();
};

TEST_F(ConfigResolutionTest, TheClaimOverridesTheClassAndLaterEntriesOverrideEarlierOnes) {
  // A release that lists the claim first must not reverse the precedence.
  const auto resolved = resolve({config(ConfigSource::kClaim, {}, R"({"shares":4})"),
                                 config(ConfigSource::kClass, {}, R"({"mode":"slow","shares":2})"),
                                 config(ConfigSource::kClass, {}, R"({"mode":"fast","shares":3})")},
                                {"main"});
  ASSERT_TRUE(resolved) << resolved.error().message;
  EXPECT_EQ(text(resolved->values[0], "mode"), "fast");
  EXPECT_EQ(text(resolved->values[0], "shares"), "4");
  ASSERT_THAT(resolved->params, SizeIs(3));
  EXPECT_EQ(resolved->params[0].json, R"({"mode":"slow","shares":2})");
  EXPECT_EQ(resolved->params[2].source, ConfigSource::kClaim);
}

TEST_F(ConfigResolutionTest, AnEntryAppliesToAllRequestsOrOneOrItsBase) {
  const auto resolved = resolve(
      {config(ConfigSource::kClaim, {}, R"({"shares":2})"), config(ConfigSource::kClaim, {"main"}, R"({"shares":3})"),
       config(ConfigSource::kClaim, {"main/big"}, R"({"shares":4})"),
       config(ConfigSource::kClaim, {"mai"}, R"({"shares":5})"),
       config(ConfigSource::kClaim, {"main/big/x"}, R"({"shares":6})")},
      {"main/big", "main/small", "other"});
  ASSERT_TRUE(resolved) << resolved.error().message;
  EXPECT_EQ(text(resolved->values[0], "shares"), "4");
  EXPECT_EQ(text(resolved->values[1], "shares"), "3");
  EXPECT_EQ(text(resolved->values[2], "shares"), "2");
  ASSERT_THAT(resolved->params, SizeIs(3));
  EXPECT_THAT(resolved->params[0].requests, IsEmpty()) << "for all requests";
  EXPECT_THAT(resolved->params[1].requests, ElementsAre("main/big", "main/small"));
  EXPECT_THAT(resolved->params[2].requests, ElementsAre("main/big"));
}

TEST_F(ConfigResolutionTest, DefaultsFillInMissingMembers) {
  const auto resolved = resolve({}, {"main"});
  ASSERT_TRUE(resolved);
  EXPECT_EQ(text(resolved->values[0], "mode"), "slow");
  EXPECT_FALSE(resolved->values[0].entries.at("mode").given);
  EXPECT_THAT(resolved->params, IsEmpty());
}

TEST_F(ConfigResolutionTest, EntriesOfOtherDriversAreIgnored) {
  OpaqueConfig other = config(ConfigSource::kClaim, {}, "not even JSON");
  other.driver = "nic.example.com";
  OpaqueConfig unknown_type;
  unknown_type.requests = {"elsewhere"};
  const auto resolved =
      resolve({other, unknown_type, config(ConfigSource::kClaim, {"elsewhere"}, R"({"bad":1})")}, {"main"});
  ASSERT_TRUE(resolved) << resolved.error().message;
  EXPECT_THAT(resolved->params, IsEmpty());
}

TEST_F(ConfigResolutionTest, AnEntryThatCannotBeHonouredIsReported) {
  EXPECT_THAT(error({config(ConfigSource::kClaim, {"main"}, R"({"mod":"fast"})")}),
              HasSubstr("configuration of the claim for request 'main': there is no parameter 'mod'"));
  EXPECT_THAT(error({config(ConfigSource::kClass, {}, R"({"shares":9})")}),
              HasSubstr("configuration of the device class: parameter 'shares'"));
  OpaqueConfig unknown_type;
  EXPECT_THAT(error({unknown_type}), HasSubstr("this cardcage does not know its type"));
  about_.schemas[0].fields[0].required = true;
  EXPECT_THAT(error({}), HasSubstr("request 'main': parameter 'mode' is required"));
}

TEST_F(ConfigResolutionTest, ModulesOfOneClaimGetTheKindTheyExpect) {
  const ModuleIdentity gpu = identity("GpuParams"), nic = identity("NicParams");
  ModuleIdentity raw;
  const std::vector<ConfigTarget> targets = {
      {&gpu, {{"main", "gpu"}}}, {&nic, {{"main", "nic"}}}, {&raw, {{"main", "x"}}}};
  const auto resolved =
      resolve_configs({config(ConfigSource::kClaim, {}, R"({"kind":"GpuParams","shares":4})")}, kDriver, targets);
  ASSERT_TRUE(resolved) << resolved.error().message;
  EXPECT_EQ(text(resolved->at(0).values[0], "shares"), "4");
  EXPECT_EQ(text(resolved->at(1).values[0], "shares"), "1");
  EXPECT_THAT(resolved->at(1).params, IsEmpty());
  EXPECT_THAT(resolved->at(2).params, SizeIs(1));
  const auto refused =
      resolve_configs({config(ConfigSource::kClaim, {}, R"({"kind":"Gpu","shares":4})")}, kDriver, targets);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("expected 'GpuParams'"));
}

// A module with parameters for gpus, for passthrough of gpus, and for migs; nics take none.
class KindsTest : public ::testing::Test {
 protected:
  KindsTest() {
    const auto schema = [](const char* kind, std::vector<std::string> device_kinds) {
      return ParamsSchema{.api_version = "v1",
                          .kind = kind,
                          .fields = {{.name = "share.count", .type = OptionType::kInteger, .default_text = "1"}},
                          .device_kinds = std::move(device_kinds)};
    };
    about_.schemas = {schema("GpuConfig", {"gpu"}), schema("MigConfig", {"mig"}),
                      schema("VfioConfig", {"gpu", "vfio"})};
  }
  static OpaqueConfig entry(ConfigSource source, std::vector<std::string> requests, const std::string& kind,
                            int count) {
    return config(source, std::move(requests),
                  fmt::format(R"({{"apiVersion":"v1","kind":"{}","share":{{"count":{}}}}})", kind, count));
  }
  Result<std::vector<OptionValues>> resolve(const std::vector<OpaqueConfig>& configs) {
    const auto resolved =
        resolve_configs(configs, kDriver, {{&about_, {{"main", "gpu"}, {"side", "mig"}, {"net", "nic"}}}});
    if (!resolved) return std::unexpected(resolved.error());
    return resolved->front().values;
  }
  ModuleIdentity about_;
};

TEST_F(KindsTest, AnEntryWithoutRequestsIsForTheDevicesThatTakeIt) {
  const auto values = resolve({entry(ConfigSource::kClaim, {}, "MigConfig", 4)});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ((*values)[0].kind, "GpuConfig");
  EXPECT_EQ(text((*values)[0], "share.count"), "1");
  EXPECT_EQ((*values)[1].kind, "MigConfig");
  EXPECT_EQ(text((*values)[1], "share.count"), "4");
  EXPECT_TRUE((*values)[2].empty());
}

TEST_F(KindsTest, AnEntryForADeviceThatDoesNotTakeItIsRefused) {
  EXPECT_EQ(
      resolve({entry(ConfigSource::kClaim, {"side"}, "GpuConfig", 4)}).error().message,
      "configuration of the claim for request 'side': the device of request 'side' is of kind 'mig', which does not "
      "take parameters of kind 'GpuConfig' but 'MigConfig'");
  EXPECT_EQ(resolve({entry(ConfigSource::kClass, {"net"}, "GpuConfig", 4)}).error().message,
            "configuration of the device class for request 'net': the device of request 'net' is of kind 'nic', which "
            "does not take parameters of kind 'GpuConfig' but none");
}

TEST_F(KindsTest, TheLatestEntryDecidesTheKind) {
  const auto values = resolve(
      {entry(ConfigSource::kClass, {"main"}, "GpuConfig", 2), entry(ConfigSource::kClaim, {}, "VfioConfig", 3)});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ((*values)[0].kind, "VfioConfig");
  EXPECT_EQ(text((*values)[0], "share.count"), "3");
  EXPECT_EQ((*values)[0].entries.at("share.count").source, ConfigSource::kClaim);
  const auto defaults = resolve({entry(ConfigSource::kClass, {"main"}, "GpuConfig", 2),
                                 config(ConfigSource::kClaim, {"main"}, R"({"apiVersion":"v1","kind":"VfioConfig"})")});
  EXPECT_EQ(text(defaults->front(), "share.count"), "1") << "fields of another kind do not apply";
}

TEST_F(KindsTest, AnUnknownKindIsRefusedWhateverTheDevices) {
  EXPECT_EQ(resolve({entry(ConfigSource::kClaim, {}, "GpuConfg", 4)}).error().message,
            "configuration of the claim: parameters have kind \"GpuConfg\", expected one of 'GpuConfig', 'MigConfig', "
            "'VfioConfig' (did you mean 'GpuConfig'?)");
}

}  // namespace
}  // namespace cardcage
