// Tests the example module tpm on described chips.
#include "tests/examples/example_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Pair;

class TpmExample : public ExampleFixture {
 protected:
  void SetUp() override {
    ExampleFixture::SetUp();
    if (!std::filesystem::exists(modules_dir / "libcardcage_tpm.so")) GTEST_SKIP() << "there was no rustc to build it";
  }
  void chip(const std::string& name, const std::string& version) {
    const std::string entry = "sys/class/tpm/" + name;
    std::filesystem::create_directories(tree.root() / entry);
    if (!version.empty()) tree.file(entry + "/tpm_version_major", version + "\n");
    tree.file(entry + "/device/firmware_node/path", "\\_SB_.TPM_\n");
    tree.link(entry + "/device/driver", "../../../../bus/acpi/drivers/tpm_crb");
    tree.file(entry + "/pcr-sha1/0", "00\n");
    tree.file(entry + "/pcr-sha256/0", "00\n");
  }
  Status start(Options options = {}) {
    options.emplace("sysfs", tree.sysfs().native());
    options.emplace("devfs", tree.devfs().native());
    return start_module(config("libcardcage_tpm.so", options));
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, TpmExample, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(TpmExample, TheResourceManagerIsShared) {
  chip("tpm0", "2");
  node("tpm0", 10, 224);
  node("tpmrm0", 253, 65536);
  ASSERT_TRUE(start());
  ASSERT_THAT(names(), ElementsAre("tpmrm0"));
  const Device found = device("tpmrm0");
  EXPECT_EQ(found.kind, "tpm");
  EXPECT_TRUE(found.shared);
  EXPECT_THAT(amounts_of(found.capacity), ElementsAre("pods=16"));
  EXPECT_THAT(attributes_of(found), IsSupersetOf<std::string>({"major=2", "driver=tpm_crb", "pcrBanks=sha1,sha256",
                                                               "firmware=\\_SB_.TPM_", "path=/dev/tpmrm0"}));
  EXPECT_EQ(health("tpmrm0"), "ok");
  ModuleClaim wanted = claim_of("1", {"tpmrm0"}, "", "");
  const auto prepared = prepare(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(nodes_of(prepared->allocations.at(0)), ElementsAre("c 253:65536 /dev/tpmrm0"));
  EXPECT_THAT(prepared->allocations.at(0).env, ElementsAre(EnvVar{"TPM2TOOLS_TCTI", "device:/dev/tpmrm0"}));
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(TpmExample, TheChipItselfIsForOneIfTheOperatorWantsThat) {
  chip("tpm0", "2");
  node("tpm0", 10, 224);
  node("tpmrm0", 253, 65536);
  ASSERT_TRUE(start({{"raw", true}, {"pods", std::int64_t{1}}}));
  EXPECT_THAT(names(), ElementsAre("tpm0", "tpmrm0"));
  EXPECT_EQ(device("tpm0").kind, "tpm-raw");
  EXPECT_FALSE(device("tpm0").shared);
  EXPECT_FALSE(device("tpmrm0").shared);
}

TEST_P(TpmExample, OlderChipsAndMissingNodesSayWhy) {
  chip("tpm0", "1");
  chip("tpm1", "");
  chip("tpm2", "2");
  ASSERT_TRUE(start());
  ASSERT_THAT(names(), ElementsAre("tpmrm2"));
  EXPECT_THAT(health("tpmrm2"), HasSubstr("NoNode: '/dev/tpmrm2': No such file or directory"));
  const std::string why = "; only TPM 2.0 has a resource manager, which lets pods share it";
  EXPECT_THAT(discover()->not_offered,
              ElementsAre(Pair("tpm0", "it speaks TPM 1" + why), Pair("tpm1", "it speaks TPM 1.2" + why)));
  ModuleClaim wanted = claim_of("1", {"tpmrm2"}, "", "");
  const auto prepared = prepare(wanted);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Code::kUnavailable);
}

TEST_P(TpmExample, ANodeWithoutATpmHasNoDevices) {
  ASSERT_TRUE(start());
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace cardcage
