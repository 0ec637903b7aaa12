// Wrong results of the driver, a file that is not a library, and unknown parameters: each affects only its own device
// or claim, and the error names it.
#include "tests/fakes/built_files.h"
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

class NvidiaBadInput : public NvidiaFixture {
 protected:
  std::string refusal(const std::string& api_version, const std::string& kind) {
    const auto read = decode_params(module->identity(), ConfigSource::kClaim,
                                    fmt::format(R"({{"apiVersion":"{}","kind":"{}"}})", api_version, kind));
    return read ? "it was taken" : read.error().message;
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaBadInput, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaBadInput, AGpuThatCannotBeOpenedSaysWhyAndHidesNoOther) {
  for (const auto& [code, text] : {std::pair(nvml::kInvalidArgument, "Invalid Argument"),
                                   {nvml::kGpuIsLost, "GPU is lost"},
                                   {nvml::kUnknown, "Unknown"}}) {
    ASSERT_TRUE(start_on({.product = "h100", .gpus = 2}));
    discover();
    gpus->fail("nvmlDeviceGetHandleByPciBusId_v2", code, 1);  // the first GPU
    const SnapshotPtr snapshot = discover();
    ASSERT_EQ(snapshot->devices.size(), 2u) << text;
    const Device* bad = snapshot->find(gpus->uuid(0));
    ASSERT_NE(bad, nullptr);
    EXPECT_EQ(bad->health.state, HealthState::kUnhealthy) << text;
    EXPECT_THAT(bad->health.message, AllOf(HasSubstr("opening GPU 0000:3b:00.0"), HasSubstr(text),
                                           HasSubstr(fmt::format("NVML code {}", static_cast<int>(code)))));
    EXPECT_EQ(snapshot->find(gpus->uuid(1))->health.state, HealthState::kHealthy) << text;
    EXPECT_EQ(device("gpu-0").health.state, HealthState::kHealthy) << "it responds again";
  }
}

TEST_P(NvidiaBadInput, AStructThatTheDriverDoesNotKnowIsReplacedByAnOlderOne) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  const auto capacity = amounts_of(device("gpu-0").capacity);
  gpus->fail("nvmlDeviceGetMemoryInfo_v2", nvml::kArgumentVersionMismatch, FakeGpus::kForever);
  EXPECT_EQ(amounts_of(device("gpu-0").capacity), capacity);
  gpus->fail("nvmlDeviceGetMemoryInfo", nvml::kNotSupported, FakeGpus::kForever);
  EXPECT_THAT(amounts_of(device("gpu-0").capacity), IsEmpty()) << "an unknown amount is left out";
}

TEST_P(NvidiaBadInput, NoTextOfTheDriverCostsADevice) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  const std::string name = "NVIDIA " + std::string(56, 'x') + "\u00e9 and more", serial = "12\xff\n";
  {
    const auto world = gpus->state();
    fake_nvml::copy_text(world->gpus[0].name, sizeof world->gpus[0].name, name);
    fake_nvml::copy_text(world->gpus[0].serial, sizeof world->gpus[0].serial, serial);
  }
  EXPECT_THAT(attributes_of(device("gpu-0")),
              IsSupersetOf<std::string>({"productName=" + name.substr(0, 63), "nvidia.cardcage.dev/serial=12??"}));
}

// Placements become counters, one per slice.
TEST_P(NvidiaBadInput, APlacementThatNoGpuHasCostsNothingElse) {
  ASSERT_TRUE(start_on({.product = "h100"}, {{"mig", std::string("dynamic")}}));
  gpus->set_mig_mode(0, true);
  const std::size_t all = names().size();
  {
    const auto world = gpus->state();
    for (unsigned profile = 0; profile < world->gpus[0].profile_count; ++profile)
      if (world->gpus[0].profiles[profile].id == 19) world->gpus[0].profiles[profile].starts[6] = 0xfffffff0;
  }
  EXPECT_EQ(names().size(), all - 1);
}

TEST_P(NvidiaBadInput, ALibraryThatIsNotNvmlIsNamed) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  discover();
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  // A library without the functions of NVML, and a file that is not a library.
  const fs::path library = gpus->library();
  fs::remove(library);
  fs::copy_file(built_module("nvidia"), library);
  const auto without = prepare(wanted);
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message, AllOf(HasSubstr(library.native()), HasSubstr("nvmlInit")));
  fs::remove(library);
  std::ofstream(library) << "text" << std::flush;
  const auto text = prepare(wanted);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr(library.native()));
  EXPECT_EQ(device("gpu-0").health.reason, "DriverFault");
}

TEST_P(NvidiaBadInput, UnknownParametersAreNamed) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  EXPECT_THAT(refusal("resource.nvidia.com/v1beta1", "GpuConfiguration"),
              AllOf(HasSubstr("GpuConfiguration"), HasSubstr("GpuConfig")));
  EXPECT_THAT(refusal("resource.nvidia.com/v2", "GpuConfig"), HasSubstr("resource.nvidia.com/v2"));
  EXPECT_EQ(refusal("resource.nvidia.com/v1beta1", "VfioDeviceConfig"), "it was taken");
}

}  // namespace
}  // namespace cardcage
