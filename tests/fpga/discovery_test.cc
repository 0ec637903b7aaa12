// Tests the devices that a node's cards become, with their names and attributes.
#include "tests/fpga/fpga_fixture.h"

namespace cardcage {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;

class FpgaDiscovery : public FpgaFixture {};
INSTANTIATE_TEST_SUITE_P(Isolation, FpgaDiscovery, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(FpgaDiscovery, APortIsADeviceWithItsFunctionAndItsInterface) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  ASSERT_THAT(names(), ElementsAre("fpga-0000-3b-00-0-p0"));
  const Device port = device("fpga-0000-3b-00-0-p0");
  EXPECT_EQ(port.id, "0000:3b:00.0/port-0");
  EXPECT_EQ(port.pci_bus_id, "0000:3b:00.0");
  EXPECT_THAT(attributes_of(port),
              IsSupersetOf<std::string>({"type=port", "model=N3000", "card=0000:3b:00.0", "portId=0",
                                         std::string("interfaceId=") + fake_fpga::kN3000Interface,
                                         std::string("afuId=") + fake_fpga::kN3000Afu}));
  EXPECT_THAT(port.consumes, IsEmpty()) << "a card with one port is one thing";
}

TEST_P(FpgaDiscovery, PortsOfACardShareACounterWithTheCard) {
  ASSERT_TRUE(start_on({fake_fpga::four_ports()}));
  ASSERT_THAT(names(), ElementsAre("fpga-0000-5e-00-0", "fpga-0000-5e-00-0-p0", "fpga-0000-5e-00-0-p1",
                                   "fpga-0000-5e-00-0-p2", "fpga-0000-5e-00-0-p3"));
  const Device whole = device("fpga-0000-5e-00-0"), part = device("fpga-0000-5e-00-0-p2");
  ASSERT_EQ(whole.consumes.size(), 1u);
  ASSERT_EQ(part.consumes.size(), 1u);
  EXPECT_EQ(whole.consumes.front().set, part.consumes.front().set);
  EXPECT_THAT(amounts_of(whole.consumes.front().counters), ElementsAre("parts=4"));
  EXPECT_THAT(amounts_of(part.consumes.front().counters), ElementsAre("parts=1"));
}

TEST_P(FpgaDiscovery, AnOfsCardIsItsVirtualFunctionsAndTheCard) {
  ASSERT_TRUE(start_on({fake_fpga::n6001()}));
  EXPECT_THAT(names(), ElementsAre("fpga-0000-b1-00-0", "fpga-0000-b1-00-5", "fpga-0000-b1-00-6", "fpga-0000-b1-00-7"));
  EXPECT_THAT(attributes_of(device("fpga-0000-b1-00-6")), IsSupersetOf<std::string>({"type=vf", "card=0000:b1:00.0"}));
  EXPECT_THAT(attributes_of(device("fpga-0000-b1-00-0")),
              IsSupersetOf<std::string>({std::string("type=card"), std::string("model=N6001"),
                                         std::string("interfaceId=") + fake_fpga::kN6001Interface}));
}

TEST_P(FpgaDiscovery, AnOfsCardWhosePortWasReleasedIsItsVirtualFunctionAndTheCard) {
  fake_fpga::Card card = fake_fpga::n6001();
  card.port(0)->released = true;  // as mainline Linux demands of a card with a virtual function
  card.virtual_functions = 1;
  ASSERT_TRUE(start_on({card}));
  EXPECT_THAT(names(), ElementsAre("fpga-0000-b1-00-0", "fpga-0000-b1-00-5"));
  EXPECT_THAT(attributes_of(device("fpga-0000-b1-00-5")), IsSupersetOf<std::string>({"type=vf", "model=N6001"}));
  add_bitstream("nlb0", fake_fpga::kNlb0, fake_fpga::kN6001Interface);
  auto whole = claim_of("u1", {"fpga-0000-b1-00-0"}, R"("bitstream":"nlb0")");
  const auto prepared = prepare(whole);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(changes(), Contains(HasSubstr("FME_PORT_PR")));
}

TEST_P(FpgaDiscovery, VirtualFunctionsThatTheKernelsDriverKeepsAreNoParts) {
  fake_fpga::Card card = fake_fpga::n6001();
  card.port(0)->released = true;
  card.virtual_functions = 1;
  card.function("0000:b1:00.5")->driver = "dfl-pci";
  ASSERT_TRUE(start_on({card}));
  EXPECT_THAT(names(), IsEmpty()) << "the port of such a function would be a device of its own";
}

TEST_P(FpgaDiscovery, ADeviceTellsWhetherItsCardDemandsSignatures) {
  ASSERT_TRUE(start_on({fake_fpga::n3000(), fake_fpga::n6001(), fake_fpga::four_ports()}));
  EXPECT_THAT(attributes_of(device("fpga-0000-3b-00-0-p0")), Contains("signedOnly=false"));
  EXPECT_THAT(attributes_of(device("fpga-0000-b1-00-6")),
              IsSupersetOf<std::string>({"signedOnly=true", "rootEntryHash=" + std::string(64, 'a')}));
  EXPECT_THAT(attributes_of(device("fpga-0000-5e-00-0-p1")), Not(Contains(HasSubstr("signedOnly"))))
      << "it has no such controller";
}

TEST_P(FpgaDiscovery, NamesAndIdsOutliveTheNumbersOfTheKernel) {
  ASSERT_TRUE(start_on({fake_fpga::n3000(), fake_fpga::d5005(), fake_fpga::four_ports()}));
  const auto before = names();
  const std::string node = cards->port_node("0000:3b:00.0").filename();
  cards->renumber();
  EXPECT_NE(cards->port_node("0000:3b:00.0").filename(), node);
  EXPECT_EQ(names(), before);
  EXPECT_EQ(device("fpga-0000-3b-00-0-p0").id, "0000:3b:00.0/port-0");
}

TEST_P(FpgaDiscovery, ACardWithoutAnInterfaceIsNotProgrammableAndStillServes) {
  fake_fpga::Card card = fake_fpga::n3000();
  card.dfl->interface_id.reset();
  ASSERT_TRUE(start_on({card}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  EXPECT_THAT(attributes_of(device("fpga-0000-3b-00-0-p0")), Not(Contains(HasSubstr("interfaceId"))));
  auto plain = claim_of("u1", {"fpga-0000-3b-00-0-p0"});
  EXPECT_TRUE(prepare(plain));
  auto programs_it = claim_of("u2", {"fpga-0000-3b-00-0-p0"}, R"("bitstream":"nlb0")");
  const auto refused = prepare(programs_it);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the compat_id of its region cannot be read: No such file"));
}

TEST_P(FpgaDiscovery, ADisabledPortKeepsItsPlaceWithoutAFunction) {
  fake_fpga::Card card = fake_fpga::n3000();
  card.port(0)->disabled = 1;
  ASSERT_TRUE(start_on({card}));
  EXPECT_THAT(attributes_of(device("fpga-0000-3b-00-0-p0")), Not(Contains(HasSubstr("afuId"))));
}

TEST_P(FpgaDiscovery, ACrashedShellIsUnhealthy) {
  fake_fpga::Card card = fake_fpga::n3000();
  card.port(0)->afu_id = fake_fpga::kAllOnes;
  ASSERT_TRUE(start_on({card}));
  const Device port = device("fpga-0000-3b-00-0-p0");

  EXPECT_EQ(port.health.state, HealthState::kUnhealthy);
  EXPECT_EQ(port.health.reason, "ShellCrashed");
}

TEST_P(FpgaDiscovery, HardwareThatIsNotOfferedHasAReason) {
  fake_fpga::Card without_driver = fake_fpga::n3000(), with_vfio = fake_fpga::d5005(), without_vfs = fake_fpga::n6001(),
                  without_xocl = fake_fpga::u250();
  without_driver.functions[0].driver.clear();
  without_driver.dfl.reset();
  with_vfio.functions[0].driver = "vfio-pci";
  with_vfio.dfl.reset();
  without_vfs.virtual_functions = 0;
  without_xocl.functions[1].driver.clear();
  ASSERT_TRUE(start_on({without_driver, with_vfio, without_vfs, without_xocl, fake_fpga::four_ports()}));
  EXPECT_THAT(discover()->not_offered,
              ElementsAre(Pair("0000:3b:00.0", "no driver is bound to it; the module needs dfl-pci"),
                          Pair("0000:65:00.1", "no driver is bound to it; the module needs xocl"),
                          Pair("0000:af:00.0", "driver 'vfio-pci' is bound to it; the module needs dfl-pci"),
                          Pair("0000:b1:00.0", HasSubstr("write a number to its attribute sriov_numvfs")),
                          Pair("0000:b1:00.1", HasSubstr("a further physical function")), Pair("0000:b1:00.2", _),
                          Pair("0000:b1:00.4", _)));
}

TEST_P(FpgaDiscovery, CardsComeAndGo) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  cards->add_card(fake_fpga::d5005());
  EXPECT_THAT(names(), ElementsAre("fpga-0000-3b-00-0-p0", "fpga-0000-af-00-0-p0"));
  cards->remove_card("0000:3b:00.0");
  EXPECT_THAT(names(), ElementsAre("fpga-0000-af-00-0-p0"));
}

}  // namespace
}  // namespace cardcage
