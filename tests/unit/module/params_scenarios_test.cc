// Parameters of several kinds in both isolations: as the module declares them, and as it reads them.
#include "host/config/params.h"
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class ParamsScenarios : public ScenarioFixture {
 protected:
  Status start_mock() {
    modules_dir = built_modules();
    return start("libcardcage_mock.so", {{"devices", std::vector<std::string>{"gpu:1", "nic:1"}}});
  }
  DecodedParams decoded(ConfigSource source, const std::string& kind, const std::string& members) {
    const std::string json =
        fmt::format(R"({{"apiVersion":"mock.cardcage.dev/v1alpha1","kind":"{}",{}}})", kind, members);
    const auto params = decode_params(module->identity(), source, json);
    EXPECT_TRUE(params) << params.error().message;
    return params.value_or(DecodedParams{});
  }
  std::vector<EnvVar> prepare(const std::string& device, const std::string& kind,
                              const std::vector<DecodedParams>& params) {
    ModuleClaim wanted = claim("u1", {device});
    const auto values = resolve_params(module->identity(), kind, params);
    EXPECT_TRUE(values) << values.error().message;
    wanted.allocations[0].values = values.value_or(OptionValues{});
    const auto edits = run(module->call(PrepareCall{wanted}, soon()));
    EXPECT_TRUE(edits) << edits.error().message;
    return edits ? edits->allocations[0].env : std::vector<EnvVar>{};
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, ParamsScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(ParamsScenarios, TheDaemonSeesEverySchema) {
  ASSERT_TRUE(start_mock());
  const std::vector<ParamsSchema>& schemas = module->identity().schemas;
  ASSERT_THAT(schemas, SizeIs(3));
  EXPECT_EQ(schemas[1].api_version, "mock.cardcage.dev/v1alpha1");
  EXPECT_EQ(schemas[1].kind, "GpuConfig");
  EXPECT_THAT(schemas[1].device_kinds, ElementsAre("gpu"));
  ASSERT_THAT(schemas[1].fields, SizeIs(4));
  EXPECT_EQ(schemas[1].fields[2].name, "sharing.memoryLimits");
  EXPECT_EQ(schemas[1].fields[2].type, OptionType::kMap);
  EXPECT_TRUE(schemas[1].fields[3].class_only);
}

TEST_P(ParamsScenarios, TheModuleReadsNestedFieldsMapsSourcesAndTheKind) {
  ASSERT_TRUE(start_mock());
  const auto by_class =
      decoded(ConfigSource::kClass, "GpuConfig", R"("clocks":{"maxMhz":1200},"sharing":{"strategy":"spatial"})");
  const auto by_claim = decoded(ConfigSource::kClaim, "GpuConfig",
                                R"("sharing":{"timeSlicing":{"intervalMs":25},"memoryLimits":{"b":"2Gi","a":"1Gi"}})");
  EXPECT_THAT(
      prepare("gpu-0", "gpu", {by_class, by_claim}),
      AllOf(Contains(EnvVar{"MOCK_GPU_0_MAX_MHZ", "1200"}), Contains(EnvVar{"MOCK_GPU_0_SHARING", "spatial"}),
            Contains(EnvVar{"MOCK_GPU_0_SHARING_FROM", "class"}), Contains(EnvVar{"MOCK_GPU_0_INTERVAL_MS", "25"}),
            Contains(EnvVar{"MOCK_GPU_0_MEMORY_LIMITS", "a=1Gi,b=2Gi"})));
  EXPECT_THAT(
      prepare("gpu-0", "gpu", {decoded(ConfigSource::kClaim, "GpuConfig", R"("sharing":{"strategy":"spatial"})")}),
      Contains(EnvVar{"MOCK_GPU_0_SHARING_FROM", "claim"}));
  EXPECT_THAT(
      prepare("gpu-0", "gpu", {decoded(ConfigSource::kClaim, "GpuConfig", R"("sharing":{})")}),
      AllOf(Contains(EnvVar{"MOCK_GPU_0_SHARING_FROM", "default"}), Contains(EnvVar{"MOCK_GPU_0_MEMORY_LIMITS", ""})));
}

TEST_P(ParamsScenarios, EachDeviceHasItsKind) {
  ASSERT_TRUE(start_mock());
  EXPECT_THAT(prepare("nic-0", "nic", {decoded(ConfigSource::kClaim, "NicConfig", R"("mtu":9000)")}),
              Contains(EnvVar{"MOCK_NIC_0_MTU", "9000"}));
  EXPECT_THAT(prepare("gpu-0", "gpu", {}), AllOf(Contains(EnvVar{"MOCK_GPU_0_SHARING", "exclusive"}),
                                                 Not(Contains(EnvVar{"MOCK_GPU_0_SHARING_FROM", "default"}))))
      << "DeviceConfig comes first";
}

TEST_P(ParamsScenarios, ASchemaThatContradictsItselfIsRefused) {
  const auto contradicting = load(config("contradicting_schema.so"));
  ASSERT_FALSE(contradicting);
  EXPECT_THAT(contradicting.error().message,
              HasSubstr("contradicting_schema.so' is refused: its table: entry 0 of schemas: 'CardConfig': fields: "
                        "'sharing' is a value and, for 'sharing.strategy', an object: rename one of them"));
}

}  // namespace
}  // namespace cardcage
