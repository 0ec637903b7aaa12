// PCI addresses whose domain has more than 16 bits, and NVLinks of which the first ones are unsupported.
#include "tests/nvidia/health_fixture.h"
#include "tests/nvidia/loaded_fake.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NvidiaAddresses : public NvidiaHealthFixture {};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaAddresses, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST(FakeAddressesTest, HaveDomainsOf32Bits) {
  LoadedFake fake{{.product = "h100", .gpus = 2, .own_domains = true}};
  nvml::PciInfo pci{};
  ASSERT_EQ(fake.call.nvmlDeviceGetPciInfo_v3(fake.device(1), &pci), 0);
  EXPECT_EQ(pci.domain, 0x20000u);
  EXPECT_STREQ(pci.busId, "00020000:3B:00.0");
  EXPECT_EQ(fake.gpus.bus_id(1), "20000:3b:00.0") << "as the kernel writes it";
}

TEST(FakeLinksTest, OneMayBeUnsupported) {
  LoadedFake fake{{.product = "h100"}};
  fake.gpus.state()->gpus[0].links[0].absent = true;
  unsigned state = 9;
  EXPECT_EQ(fake.call.nvmlDeviceGetNvLinkState(fake.device(), 0, &state), 3);
  EXPECT_EQ(fake.call.nvmlDeviceGetNvLinkState(fake.device(), 1, &state), 0);
}

TEST_P(NvidiaAddresses, OfWideDomainsAreToldApart) {
  ASSERT_TRUE(watch({.product = "h100", .gpus = 2, .own_domains = true}));
  EXPECT_THAT(names(), ElementsAre("gpu-0", "gpu-1"));
  EXPECT_EQ(device("gpu-0").id, gpus->uuid(0));
  EXPECT_EQ(device("gpu-1").id, gpus->uuid(1));
  EXPECT_EQ(device("gpu-1").pci_bus_id, "") << "Kubernetes takes domains of 16 bits";
  ModuleClaim wanted = claim_of("u1", {"gpu-1"});
  const auto edits = prepare(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(nodes_of(edits->allocations[0]), ElementsAre("c 195:1 /dev/nvidia1"));
  EXPECT_TRUE(unprepare(wanted));
  gpus->lose(1);
  EXPECT_EQ(device("gpu-0").health.state, HealthState::kHealthy);
  EXPECT_THAT(device("gpu-1").health.message, HasSubstr("20000:3b:00.0"));
}

TEST_P(NvidiaAddresses, LinksAfterAnUnsupportedOneCount) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
  gpus->state()->gpus[0].links[0].absent = true;
  ASSERT_TRUE(watch_again());
  EXPECT_EQ(about(gpus->uuid(0), "NvLink").value, 17);
  gpus->cut_nvlink(0, 5);
  pass_looks(1);
  EXPECT_EQ(about(gpus->uuid(0), "NvLink").state, HealthState::kDegraded);
}

}  // namespace
}  // namespace cardcage
