// The configurations of NVIDIA's DRA driver, resource.nvidia.com/v1beta1, as schemas: the host reads the documents of
// its users, and errors name the paths of fields.
#include <gmock/gmock.h>

#include "host/config/params.h"
#include "host/instance/claim_view.h"
#include "host/instance/declared_parts.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;

constexpr cage_str kStrategies[] = {CAGE_LIT("TimeSlicing"), CAGE_LIT("MPS")};
constexpr cage_str kIntervals[] = {CAGE_LIT("Default"), CAGE_LIT("Short"), CAGE_LIT("Medium"), CAGE_LIT("Long")};
constexpr cage_str kPolicies[] = {CAGE_LIT("LegacyOnly"), CAGE_LIT("PreferIommuFD")};

constexpr cage_option field(std::uint32_t type, std::string_view name, std::string_view initial = "") {
  cage_option made{};
  made.struct_size = sizeof made;
  made.type = type;
  made.name = {name.data(), name.size()};
  made.default_text = {initial.data(), initial.size()};
  return made;
}
template <std::size_t N>
constexpr cage_option choice(std::string_view name, const cage_str (&choices)[N], std::string_view initial) {
  cage_option made = field(CAGE_OPTION_STRING, name, initial);
  made.choices = choices;
  made.choice_count = N;
  return made;
}
constexpr cage_option percentage(std::string_view name) {
  cage_option made = field(CAGE_OPTION_INT, name, "100");
  made.max = 100;
  return made;
}

constexpr cage_option amounts(std::uint32_t type, std::string_view name) {
  cage_option made = field(type, name);
  made.flags = CAGE_OPTION_QUANTITY;
  return made;
}

constexpr cage_option kStrategy = choice("sharing.strategy", kStrategies, "TimeSlicing"),
                      kInterval = choice("sharing.timeSlicingConfig.interval", kIntervals, "Default"),
                      kThreads = percentage("sharing.mpsConfig.defaultActiveThreadPercentage"),
                      kLimit = amounts(CAGE_OPTION_STRING, "sharing.mpsConfig.defaultPinnedDeviceMemoryLimit"),
                      kLimits = amounts(CAGE_OPTION_MAP, "sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit"),
                      kMultiUser = field(CAGE_OPTION_BOOL, "sharing.mpsConfig.multiUser"),
                      kPolicy = choice("iommu.backendPolicy", kPolicies, "LegacyOnly"),
                      kApiDevice = field(CAGE_OPTION_BOOL, "iommu.enableAPIDevice");
constexpr const cage_option* kGpu[] = {&kStrategy, &kInterval, &kThreads, &kLimit, &kLimits, &kMultiUser};
constexpr const cage_option* kMig[] = {&kStrategy, &kThreads, &kLimit, &kLimits, &kMultiUser};
constexpr const cage_option* kVfio[] = {&kPolicy, &kApiDevice};
constexpr cage_str kGpus[] = {CAGE_LIT("gpu")}, kMigs[] = {CAGE_LIT("mig")}, kVfios[] = {CAGE_LIT("vfio")};

template <std::size_t N>
constexpr cage_params_schema schema_of(cage_str kind, const cage_option* const (&fields)[N], const cage_str& device) {
  cage_params_schema made{};
  made.struct_size = sizeof made;
  made.api_version = CAGE_LIT("resource.nvidia.com/v1beta1");
  made.kind = kind;
  made.fields = fields;
  made.field_count = N;
  made.device_kinds = &device;
  made.device_kind_count = 1;
  made.flags = CAGE_SCHEMA_WHOLE;
  return made;
}
constexpr cage_params_schema kGpuConfig = schema_of(CAGE_LIT("GpuConfig"), kGpu, kGpus[0]),
                             kMigConfig = schema_of(CAGE_LIT("MigDeviceConfig"), kMig, kMigs[0]),
                             kVfioConfig = schema_of(CAGE_LIT("VfioDeviceConfig"), kVfio, kVfios[0]);
constexpr const cage_params_schema* kSchemas[] = {&kGpuConfig, &kMigConfig, &kVfioConfig};

class NvidiaSchemasTest : public ::testing::Test {
 protected:
  NvidiaSchemasTest() {
    identity.id = "nvidia";
    cage_module table{};
    table.schemas = kSchemas;
    table.schema_count = 3;
    auto copied = copy_schemas(table);
    EXPECT_TRUE(copied) << copied.error().message;
    if (copied) identity.schemas = std::move(*copied);
  }
  // The values that the module reads in prepare for a device of this kind.
  const cage_values* read(const std::string& device_kind, const std::string& kind, const std::string& members) {
    const auto decoded = decode(kind, members);
    EXPECT_TRUE(decoded) << decoded.error().message;
    if (!decoded) return nullptr;
    auto values = resolve_params(identity, device_kind, {*decoded});
    EXPECT_TRUE(values) << values.error().message;
    claim.allocations.clear();
    claim.allocations.emplace_back().values = values.value_or(OptionValues{});
    view.emplace(claim, &identity.schemas, "nvidia");
    return view->table()->allocs[0]->values;
  }
  std::string refusal(const std::string& kind, const std::string& members) {
    const auto decoded = decode(kind, members);
    return decoded ? "was taken" : decoded.error().message;
  }
  // The error if this document counts, also for a value that does no harm when another document replaces this one.
  std::string refusal_if_it_counts(const std::string& kind, const std::string& members) {
    const auto decoded = decode(kind, members);
    if (!decoded) return "was refused at once";
    const auto values = resolve_params(identity, "gpu", {*decoded});
    return values ? "was taken" : values.error().message;
  }
  Result<DecodedParams> decode(const std::string& kind, const std::string& members) const {
    return decode_params(identity, ConfigSource::kClaim,
                         fmt::format(R"({{"apiVersion":"resource.nvidia.com/v1beta1","kind":"{}"{}}})", kind, members));
  }
  static std::string text(const cage_values* values, const char* name) {
    const cage_str found = values->string(values, name);
    return {found.data, found.size};
  }

  ModuleIdentity identity;
  ModuleClaim claim;
  std::optional<ClaimView> view;
};

TEST_F(NvidiaSchemasTest, TimeSlicingOfAGpu) {
  const cage_values* const values =
      read("gpu", "GpuConfig", R"(,"sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Long"}})");
  ASSERT_NE(values, nullptr);
  EXPECT_EQ(text(values, "sharing.strategy"), "TimeSlicing");
  EXPECT_EQ(text(values, "sharing.timeSlicingConfig.interval"), "Long");
  EXPECT_EQ(values->source(values, "sharing.timeSlicingConfig.interval"), CAGE_PARAMS_CLAIM);
  EXPECT_EQ(values->given(values, "sharing.mpsConfig.defaultActiveThreadPercentage"), 0);
  EXPECT_EQ(std::string_view(values->params_kind.data, values->params_kind.size), "GpuConfig");
}

TEST_F(NvidiaSchemasTest, MpsOfAGpu) {
  const cage_values* const values =
      read("gpu", "GpuConfig",
           R"(,"sharing":{"strategy":"MPS","mpsConfig":{)"
           R"("defaultActiveThreadPercentage":50,"defaultPinnedDeviceMemoryLimit":"10Gi",)"
           R"("defaultPerDevicePinnedMemoryLimit":{"0":"10Gi","GPU-8f2c":2e10},)"
           R"("multiUser":true}})");
  ASSERT_NE(values, nullptr);
  EXPECT_EQ(values->integer(values, "sharing.mpsConfig.defaultActiveThreadPercentage"), 50);
  EXPECT_EQ(text(values, "sharing.mpsConfig.defaultPinnedDeviceMemoryLimit"), "10737418240");
  EXPECT_EQ(values->boolean(values, "sharing.mpsConfig.multiUser"), 1);
  const cage_str *keys = nullptr, *limits = nullptr;
  ASSERT_EQ(values->map(values, "sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit", &keys, &limits), 2u);
  EXPECT_EQ(std::string_view(keys[1].data, keys[1].size), "GPU-8f2c");
  EXPECT_EQ(std::string_view(limits[1].data, limits[1].size), "20000000000");
  EXPECT_EQ(values->given(values, "sharing"), 1);
  EXPECT_EQ(values->given(values, "sharing.timeSlicingConfig"), 0);
}

TEST_F(NvidiaSchemasTest, MpsOfAMigDevice) {
  const cage_values* const values = read(
      "mig", "MigDeviceConfig", R"(,"sharing":{"strategy":"MPS","mpsConfig":{"defaultActiveThreadPercentage":50}})");
  ASSERT_NE(values, nullptr);
  EXPECT_EQ(text(values, "sharing.strategy"), "MPS");
  EXPECT_EQ(
      refusal("MigDeviceConfig", R"(,"sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Long"}})"),
      "there is no parameter 'sharing.timeSlicingConfig'; MigDeviceConfig of module 'nvidia' has 'sharing.strategy', "
      "'sharing.mpsConfig'");
}

TEST_F(NvidiaSchemasTest, PassthroughOfAGpu) {
  const cage_values* const values =
      read("vfio", "VfioDeviceConfig", R"(,"iommu":{"backendPolicy":"PreferIommuFD","enableAPIDevice":true})");
  ASSERT_NE(values, nullptr);
  EXPECT_EQ(text(values, "iommu.backendPolicy"), "PreferIommuFD");
  EXPECT_EQ(values->boolean(values, "iommu.enableAPIDevice"), 1);
  const cage_values* const bare = read("vfio", "VfioDeviceConfig", "");
  ASSERT_NE(bare, nullptr);
  EXPECT_EQ(text(bare, "iommu.backendPolicy"), "LegacyOnly");
}

TEST_F(NvidiaSchemasTest, MistakesAreRefusedWithThePathOfTheField) {
  EXPECT_EQ(refusal("GpuConfig", R"(,"sharing":{"mpsConfig":{"defaultActiveThreadPercentage":"50"}})"),
            "parameter 'sharing.mpsConfig.defaultActiveThreadPercentage' is a string, expected an integer");
  EXPECT_EQ(refusal_if_it_counts("GpuConfig", R"(,"sharing":{"mpsConfig":{"defaultActiveThreadPercentage":101}})"),
            "parameter 'sharing.mpsConfig.defaultActiveThreadPercentage' is 101, expected 0 to 100");
  EXPECT_EQ(refusal_if_it_counts("GpuConfig", R"(,"sharing":{"strategy":"Mps"})"),
            "parameter 'sharing.strategy' is 'Mps', expected one of 'TimeSlicing', 'MPS' (did you mean 'MPS'?)");
  EXPECT_EQ(refusal("GpuConfig", R"(,"sharing":"MPS")"), "parameter 'sharing' is a string, expected an object");
  EXPECT_EQ(refusal("GpuConfig", R"(,"sharing":{"mpsConfig":{"defaultPerDevicePinnedMemoryLimit":{"0":true}}})"),
            "parameter 'sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit' has a boolean under '0', expected an "
            "amount such "
            "as 4Gi");
  EXPECT_EQ(
      refusal("GpuConfig", R"(,"sharing":{"mpsConfig":{"defaultPerDevicePinnedMemoryLimit":{"0":"lots"}}})"),
      "parameter 'sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit' under '0' is 'lots', expected an amount such as "
      "4Gi");
  EXPECT_EQ(refusal("GpuConfig", R"(,"sharing":{"timeSlicing":{"interval":"Long"}})"),
            "there is no parameter 'sharing.timeSlicing'; GpuConfig of module 'nvidia' has 'sharing.strategy', "
            "'sharing.timeSlicingConfig', "
            "'sharing.mpsConfig'");
  EXPECT_EQ(refusal("VfioDeviceConfig", R"(,"iommu":{"backendPolicy":null})"),
            "parameter 'iommu.backendPolicy' is null, which no parameter can be");
  EXPECT_EQ(
      refusal("MigConfig", ""),
      "parameters have kind \"MigConfig\", expected one of 'GpuConfig', 'MigDeviceConfig', 'VfioDeviceConfig' (did "
      "you mean 'GpuConfig'?)");
}

}  // namespace
}  // namespace cardcage
