// Tests faults of cards: the monitor states each fault as a cause of the devices that it concerns, and also its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "modules/fpga/health/declared_causes.h"
#include "modules/fpga/health/monitor.h"
#include "tests/fpga/card_files.h"

namespace cardcage::fpga {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class FpgaHealth : public ::testing::Test {
 protected:
  // The host accepts only statements about declared causes, and values only of causes with a unit.
  void TearDown() override {
    look();
    for (const auto& [id, health] : all) {
      const auto declared = std::ranges::find(kDeclaredCauses, health.cause, &cage::Cause::name);
      ASSERT_NE(declared, std::end(kDeclaredCauses)) << health.cause << " of " << id;
      EXPECT_FALSE(health.value && declared->unit.empty()) << health.cause << " has a value and no unit";
      EXPECT_EQ(health.taint_key, health.state == CAGE_HEALTH_OK ? "" : declared->taint_key);
    }
  }
  // Adds two ports and the card as a whole.
  void add_classic_card() {
    card.add();
    targets.push_back(device(kPort0, "port", kClassicCard));
    targets.push_back(device(kPort1, "port", kClassicCard));
    targets.push_back(device(kClassicCard, "card", kClassicCard));
    settle();
  }
  void add_alveo() {
    alveo.add();
    targets.push_back(device(kAlveoUser, "alveo", kAlveoUser));
    settle();
  }
  void settle() {
    monitor.list(targets);
    look();
  }
  std::vector<ListeningHost::Statement> look() {
    for (auto& one : host.take_statements()) all.push_back(std::move(one));
    monitor.look(targets);
    return host.statements;
  }
  // Looks, and returns the statements about the cause by device.
  std::map<std::string, cage::Health> look_at(const std::string& cause) {
    std::map<std::string, cage::Health> found;
    for (auto& [id, health] : look())
      if (health.cause == cause) found[id] = health;
    return found;
  }
  // Looks, and returns the only statement.
  cage::Health only_statement() {
    const auto stated = look();
    EXPECT_THAT(stated, SizeIs(1));
    return stated.empty() ? cage::Health() : stated.front().second;
  }
  // Looks, and returns the statement, which must be the same for all devices of the classic card.
  cage::Health of_all() {
    const auto stated = look();
    EXPECT_THAT(stated, SizeIs(3));
    for (const auto& [id, health] : stated) EXPECT_EQ(health.message, stated.front().second.message) << id;
    return stated.empty() ? cage::Health() : stated.front().second;
  }
  ListedDevice& target(std::size_t index) { return static_cast<ListedDevice&>(*targets.at(index)); }

  const CardFiles files;
  const DflFiles card{.files = files};
  const AlveoFiles alveo{files};
  ListeningHost host{files.sysfs()};
  const Tools tools = host.tools();
  IsChanging is_changing = [](const Target&) { return false; };
  Monitor monitor{tools,
                  [this](const Target& target, const std::function<void()>& action) {
                    if (is_changing(target)) return false;
                    action();
                    return true;
                  },
                  std::chrono::seconds(5)};
  Targets targets;
  std::vector<ListeningHost::Statement> all;  // all statements before the last look
};

MATCHER(IsWell, "") { return arg.state == CAGE_HEALTH_OK && arg.taint == cage::Taint::none && arg.reason.empty(); }
MATCHER_P(IsBad, reason, "") {
  return arg.state == CAGE_HEALTH_BAD && arg.taint == cage::Taint::no_schedule && arg.reason == reason;
}
// A marked device stays in use.
MATCHER_P(IsMarked, reason, "") {
  return arg.state == CAGE_HEALTH_DEGRADED && arg.taint == cage::Taint::inform && arg.reason == reason;
}
MATCHER_P(HasValue, value, "") { return arg.value == value; }
auto has_message(const std::string& part) { return Field(&cage::Health::message, HasSubstr(part)); }

TEST_F(FpgaHealth, AfterAStartEachCauseOfAWellCardIsStatedOnce) {
  add_classic_card();
  std::vector<std::string> causes;
  for (const auto& [id, health] : host.statements) {
    EXPECT_THAT(health, IsWell()) << id << " " << health.cause;
    if (id == kPort0) causes.push_back(health.cause);
  }
  EXPECT_THAT(causes, UnorderedElementsAre("Access", "Shell", "PortErrors", "EngineErrors", "Seu", "Manager",
                                           "Temperature", "Power", "Throttling", "PcieLink", "PcieErrors"));
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(FpgaHealth, ADeviceHasRoomForAllCauses) {
  constexpr std::size_t kMost = 16;
  EXPECT_LT(health_causes().size(), kMost) << "the cause Region comes with the device";
  EXPECT_EQ(std::size(kDeclaredCauses), health_causes().size() + 1);
}

TEST_F(FpgaHealth, ErrorsOfAPortConcernThePortAndTheCard) {
  add_classic_card();
  files.write(card.port(1) + "/errors/errors", "0x4000100000000\n");
  files.write(card.port(1) + "/errors/first_error", "0x100000000\n");
  const auto stated = look_at("PortErrors");
  ASSERT_THAT(stated, SizeIs(2));
  ASSERT_TRUE(stated.contains(kPort1) && stated.contains(kClassicCard));
  EXPECT_THAT(stated.at(kPort1),
              AllOf(IsBad("PortErrors"), has_message("port 1 reads 0x4000100000000 (MMIO read timed out, AP6)"),
                    has_message("the first error was 0x100000000 (MMIO read timed out)"),
                    has_message("/sys/bus/platform/devices/dfl-port.3/errors/errors")));
  EXPECT_EQ(stated.at(kPort1).taint_key, "fpga.cardcage.dev/port-errors");
  EXPECT_THAT(look(), SizeIs(2)) << "an operator may have cleared them";

  files.write(card.port(1) + "/errors/errors", "0x4000000000000\n");
  EXPECT_THAT(look(), Each(Pair(testing::_, has_message("0x4000000000000 (AP6)"))));
  files.write(card.port(1) + "/errors/errors", "0x0\n");
  EXPECT_THAT(look(), UnorderedElementsAre(Pair(kPort1, IsWell()), Pair(kClassicCard, IsWell())));
}

TEST_F(FpgaHealth, BitsOfOfsCardsHaveNoNames) {
  card.add(true);
  targets.push_back(device("0000:3b:00.5", "vf", kClassicCard));
  settle();
  files.write(card.port(0) + "/errors/errors", "0x4\n");
  const cage::Health errors = only_statement();
  EXPECT_THAT(errors, AllOf(IsBad("PortErrors"), has_message("reads 0x4;")));
}

TEST_F(FpgaHealth, FatalErrorsOfTheEngineConcernAllDevicesOfTheCard) {
  add_classic_card();
  files.write(card.engine() + "/errors/catfatal_errors", "0x410\n");
  EXPECT_THAT(of_all(), AllOf(IsBad("FatalErrors"), has_message("0x410 (DRAM, catastrophic temperature)")));
  files.write(card.engine() + "/errors/catfatal_errors", "0x0\n");
  files.write(card.engine() + "/errors/pcie0_errors", "0x80\n");
  EXPECT_THAT(of_all(),
              AllOf(IsMarked("NonFatalErrors"), has_message("pcie0_errors reads 0x80 (completion timed out)")));
  files.write(card.engine() + "/errors/pcie0_errors", "0x0\n");
  EXPECT_THAT(of_all(), IsWell());
}

TEST_F(FpgaHealth, ABitUpsetHasACauseOfItsOwn) {
  add_classic_card();
  files.write(card.engine() + "/errors/fme_errors", "0x100000\n");
  const cage::Health upset = of_all();
  EXPECT_EQ(upset.cause, "Seu");
  EXPECT_THAT(upset, AllOf(IsBad("BitUpset"), has_message("configuration of the FPGA (SEU); power-cycle")));
  files.write(card.engine() + "/errors/fme_errors", "0x0\n");
  EXPECT_THAT(of_all(), IsWell());
  files.write(card.engine() + "/errors/catfatal_errors", "0x1000\n");
  EXPECT_THAT(of_all(), AllOf(IsBad("BitUpset"), has_message("the board's controller")));
}

TEST_F(FpgaHealth, RegistersThatReadAsOnesAreNotDecoded) {
  add_classic_card();
  files.write(card.engine() + "/errors/catfatal_errors", "0xffffffffffffffff\n");
  EXPECT_THAT(of_all(), AllOf(IsBad("FatalErrors"), has_message("the registers of the card do not respond")));
}

TEST_F(FpgaHealth, Ap6StopsAPort) {
  add_classic_card();
  files.write(card.port(0) + "/power_state", "0x6\n");
  EXPECT_THAT(look_at("Throttling"), UnorderedElementsAre(Pair(kPort0, AllOf(IsBad("Stopped"), has_message("AP6"))),
                                                          Pair(kClassicCard, IsBad("Stopped"))));
  files.write(card.port(0) + "/power_state", "0x2\n");
  EXPECT_THAT(look_at("Throttling"), Each(Pair(testing::_, AllOf(IsMarked("Throttled"), has_message("90 %")))));
  files.write(card.port(0) + "/power_state", "0x0\n");
  files.write(card.port(0) + "/ap2_event", "1\n");
  EXPECT_THAT(look_at("Throttling"), Each(Pair(testing::_, IsMarked("ThrottledEarlier"))));
  files.write(card.port(0) + "/ap2_event", "0\n");
  EXPECT_THAT(look_at("Throttling"), AllOf(SizeIs(2), Each(Pair(testing::_, IsWell()))));
}

TEST_F(FpgaHealth, ATemperatureAtItsLimitIsStated) {
  add_classic_card();
  files.write(card.thermal() + "/temp1_input", "101500\n");
  EXPECT_THAT(of_all(), AllOf(IsBad("Critical"), HasValue(101.5),
                              has_message("'temp1' of dfl_fme_thermal is 101.5 °C, and its critical limit is 100 °C")));
  files.write(card.thermal() + "/temp1_input", "42000\n");
  EXPECT_THAT(of_all(), AllOf(IsWell(), HasValue(42)));
}

TEST_F(FpgaHealth, ValuesOfWhatIsWellAreStatedWhenTheyChange) {
  add_classic_card();
  files.write(card.thermal() + "/temp1_input", "60000\n");
  EXPECT_THAT(of_all(), AllOf(IsWell(), HasValue(60))) << "of the hottest sensor";
  files.write(card.thermal() + "/temp1_input", "60500\n");
  EXPECT_THAT(look(), IsEmpty()) << "less than a degree";
  files.write(card.thermal() + "/temp1_input", "61000\n");
  EXPECT_THAT(of_all(), HasValue(61));
}

TEST_F(FpgaHealth, TheHardwaresAlarmsCount) {
  add_classic_card();
  files.write(card.thermal() + "/temp1_max_alarm", "1\n");
  EXPECT_THAT(of_all(), AllOf(IsMarked("High"), has_message("its limit is 90 °C")));
  files.write(card.thermal() + "/temp1_crit_alarm", "1\n");
  EXPECT_THAT(of_all(), IsBad("Critical"));
}

TEST_F(FpgaHealth, SensorsOfTheBoardCountByTheirLabels) {
  add_classic_card();
  files.write(card.board() + "/temp1_input", "75000\n");
  EXPECT_THAT(of_all(), AllOf(IsMarked("High"), has_message("'Board Temperature' of n3000bmc_hwmon is 75 °C")));
}

TEST_F(FpgaHealth, ALimitOfZeroIsNoLimit) {
  add_classic_card();
  files.write(card.board() + "/temp1_max", "0\n");
  files.write(card.board() + "/temp1_input", "20000\n");
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(FpgaHealth, SensorsOfOtherHardwareDoNotCount) {
  add_classic_card();
  files.add_chip("devices/platform/coretemp.0", 7, "coretemp");
  files.write("devices/platform/coretemp.0/hwmon/hwmon7/temp1_input", "101000\n");
  files.write("devices/platform/coretemp.0/hwmon/hwmon7/temp1_crit", "100000\n");
  EXPECT_THAT(look(), IsEmpty());
  const Identity gone{
      .id = kAlveoUser, .name = {}, .kind = "alveo", .card = kAlveoUser, .bus_id = kAlveoUser, .model = {}};
  EXPECT_THAT(read_health(tools.node, gone).temperatures, IsEmpty());
}

TEST_F(FpgaHealth, TooMuchPowerIsStated) {
  add_classic_card();
  files.write(card.power() + "/power1_input", "70000000\n");
  const cage::Health power = of_all();
  EXPECT_EQ(power.cause, "Power");
  EXPECT_THAT(power, AllOf(IsBad("Critical"), HasValue(70), has_message("is 70 W, and its critical limit is 66 W")));
}

TEST_F(FpgaHealth, ANarrowLinkIsMarked) {
  add_classic_card();
  const std::string width = std::string("bus/pci/devices/") + kClassicCard + "/current_link_width";
  files.write(width, "8\n");
  EXPECT_THAT(of_all(), AllOf(IsMarked("LinkNarrow"), HasValue(8), has_message("8 of 16 lanes")));
  files.write(width, "16\n");
  files.write(std::string("bus/pci/devices/") + kClassicCard + "/current_link_speed", "2.5 GT/s PCIe\n");
  EXPECT_THAT(of_all(), AllOf(IsMarked("LinkSlow"), has_message("2.5 of 8 GT/s")));
  files.write(std::string("bus/pci/devices/") + kClassicCard + "/current_link_speed", "8.0 GT/s PCIe\n");
  EXPECT_THAT(of_all(), IsWell());
}

TEST_F(FpgaHealth, OfACardThatHasLeftTheBusNothingElseIsStated) {
  add_classic_card();
  const std::string config = std::string("bus/pci/devices/") + kClassicCard + "/config";
  files.write(config, std::string(64, '\xff'));
  files.write(card.engine() + "/errors/catfatal_errors", "0xffffffffffffffff\n");
  const cage::Health lost = of_all();
  EXPECT_EQ(lost.cause, "Access");
  EXPECT_THAT(lost, AllOf(IsBad("Lost"), has_message("0000:3b:00.0 reads as ones")));
  files.write(config, std::string("\x86\x80\x30\x0b", 4));
  files.write(card.engine() + "/errors/catfatal_errors", "0x0\n");
  EXPECT_THAT(of_all(), IsWell());
}

TEST_F(FpgaHealth, VirtualFunctionsMayReadAsOnes) {
  card.add(true);
  files.add_function("0000:3b:00.5");
  files.write("bus/pci/devices/0000:3b:00.5/config", std::string(4, '\xff'));
  targets.push_back(device("0000:3b:00.5", "vf", kClassicCard));
  settle();
  EXPECT_THAT(host.statements, AllOf(Not(IsEmpty()), Each(Pair("0000:3b:00.5", IsWell()))));
}

TEST_F(FpgaHealth, PcieErrorsAreStatedAsTheyHappen) {
  card.add();
  files.set_pcie_errors(kClassicCard, 7, 2, 1);
  targets.push_back(device(kPort0, "port", kClassicCard));
  settle();
  EXPECT_THAT(host.statements, Each(Pair(kPort0, IsWell()))) << "errors before the start are not faults now";
  files.set_pcie_errors(kClassicCard, 9, 2, 1);
  EXPECT_THAT(only_statement(), AllOf(IsWell(), HasValue(24)))
      << "some errors are always corrected; the value is per minute";
  files.set_pcie_errors(kClassicCard, 9, 2, 4);
  EXPECT_THAT(only_statement(), AllOf(IsBad("FatalErrors"), HasValue(0), has_message("3 fatal PCIe errors")));
  EXPECT_THAT(only_statement(), IsWell()) << "the host waits for silence";
  EXPECT_THAT(look(), IsEmpty());
  files.set_pcie_errors(kClassicCard, 9, 3, 4);
  EXPECT_THAT(only_statement(), IsMarked("NonFatalErrors"));
  files.set_pcie_errors(kClassicCard, 109, 3, 4);
  EXPECT_THAT(only_statement(), AllOf(IsMarked("CorrectedErrors"), HasValue(1200)));
  EXPECT_EQ(std::ranges::find(kDeclaredCauses, "PcieErrors", &cage::Cause::name)->recovery, cage::Recovery::silence);
}

TEST_F(FpgaHealth, ACardThatIsBeingChangedIsLeftAlone) {
  add_classic_card();
  is_changing = [](const Target& target) { return target.identity().card == kClassicCard; };
  files.write(card.port(0) + "/errors/errors", "0x1\n");
  files.set_pcie_errors(kClassicCard, 0, 0, 5);
  EXPECT_THAT(look(), IsEmpty());
  is_changing = [](const Target&) { return false; };
  EXPECT_THAT(look_at("PcieErrors"), IsEmpty()) << "a reset takes the link down";
  EXPECT_THAT(host.statements, SizeIs(2)) << "the errors of the port are still there";
  EXPECT_EQ(monitor.cards().at(kClassicCard).pcie_errors.fatal, 5u) << "they were counted all the same";
}

TEST_F(FpgaHealth, AFunctionThatSomebodyHasChangedIsDiscovered) {
  add_classic_card();
  target(0).loaded.id = "d8424dc4a4a3c413f89e433683f9040b";
  monitor.list(targets);
  look();
  EXPECT_EQ(host.rescans, 0);
  target(0).loaded = {.id = {}, .why = "Device or resource busy"};
  look();
  EXPECT_EQ(host.rescans, 0) << "EBUSY does not mean another function";
  target(0).loaded.id = std::string(32, 'f');
  look();
  look();
  EXPECT_EQ(host.rescans, 1) << "once for each change";
}

TEST_F(FpgaHealth, ACrashedShellIsStated) {
  add_classic_card();
  card.set_interface(std::string(32, 'f'));
  EXPECT_THAT(of_all(), AllOf(IsBad("ShellCrashed"), has_message("power-cycle")));
  card.set_interface("a5d72a3cc8b04939912cf715e5dc10ca");
  EXPECT_THAT(of_all(), IsWell());
}

TEST_F(FpgaHealth, WhatCannotBeReadChangesNothing) {
  add_classic_card();
  files.write(card.port(0) + "/errors/errors", "0x1\n");
  EXPECT_THAT(look(), SizeIs(2));
  for (const std::string file : {"/errors/errors", "/power_state"}) files.make_unreadable(card.port(0) + file);
  files.make_unreadable(card.engine() + "/errors/catfatal_errors");
  files.write(card.thermal() + "/temp1_input", "hot\n");
  files.write(card.power() + "/power1_input", "");
  EXPECT_THAT(look_at("PortErrors"), UnorderedElementsAre(Pair(kClassicCard, IsWell())))
      << "the card knows its other port";
  EXPECT_THAT(host.statements, Each(Pair(testing::_, IsWell()))) << "another sensor is the hottest now";
}

TEST_F(FpgaHealth, AFailedProgrammingOfADflCardIsMarked) {
  add_classic_card();
  files.write(card.engine() + "/dfl-fme-mgr.0/fpga_manager/fpga0/state", "write complete error\n");
  files.write(card.engine() + "/dfl-fme-mgr.0/fpga_manager/fpga0/status", "reconfig CRC error\n");
  EXPECT_THAT(of_all(),
              AllOf(IsMarked("ProgrammingFailed"), has_message("state 'write complete error', reconfig CRC error")));
}

TEST_F(FpgaHealth, AFailedProgrammingOfABareManagerIsRepairedByTheNextOne) {
  const std::string manager = "devices/platform/firmware:pcap/fpga_manager/fpga0";
  files.write(manager + "/state", "operating\n");
  files.link(manager + "/device", "devices/platform/firmware:pcap");
  files.link("class/fpga_manager/fpga0", manager);
  targets.push_back(device("manager/firmware:pcap", "manager", "manager/firmware:pcap"));
  settle();
  EXPECT_THAT(host.statements,
              ElementsAre(Pair("manager/firmware:pcap", AllOf(IsWell(), Field(&cage::Health::cause, "Manager")))));
  files.write(manager + "/state", "write error\n");
  const cage::Health failed = only_statement();
  EXPECT_THAT(failed, IsBad("ProgrammingFailed"));
  EXPECT_EQ(failed.taint_key, "fpga.cardcage.dev/region") << "a claim that repairs a region repairs this";
  files.write(manager + "/state", "operating\n");
  EXPECT_THAT(only_statement(), IsWell());
}

TEST_F(FpgaHealth, TheStateOfXrtsDriverIsStated) {
  add_alveo();
  EXPECT_THAT(host.statements, AllOf(Not(IsEmpty()), Each(Pair(kAlveoUser, IsWell()))))
      << "memory that no design uses is not calibrated";
  files.write(alveo.user() + "/ready", "0x0\n");
  EXPECT_THAT(only_statement(), AllOf(IsBad("NotReady"), has_message("ready 0x0")));
  files.write(alveo.user() + "/dev_offline", "-19\n");
  EXPECT_THAT(only_statement(), AllOf(IsBad("Offline"), has_message("-19"))) << "the driver writes an errno";
  files.write(alveo.user() + "/ready", "0x1\n");
  files.write(alveo.user() + "/dev_offline", "0\n");
  EXPECT_THAT(only_statement(), IsWell());
}

TEST_F(FpgaHealth, ATrippedFirewallIsFoundByItsStatus) {
  add_alveo();
  files.write(alveo.management() + "/firewall.m.25856/status", "8\n");
  files.write(alveo.management() + "/firewall.m.25856/level", "0\n");
  EXPECT_THAT(only_statement(), AllOf(IsBad("Tripped"), has_message("level 0 has tripped with status 0x8")));
  files.write(alveo.management() + "/firewall.m.25856/status", "0\n");
  EXPECT_THAT(only_statement(), IsWell());
}

TEST_F(FpgaHealth, MemoryCanOnlyLoseTheCalibrationThatItHad) {
  add_alveo();
  files.write(alveo.user() + "/xclbinuuid", "d8424dc4-a4a3-c413-f89e-433683f9040b\n");
  EXPECT_THAT(look(), IsEmpty()) << "a design without such memory";
  files.write(alveo.user() + "/mig_calibration", "0x1\n");
  EXPECT_THAT(look(), IsEmpty());
  files.write(alveo.user() + "/mig_calibration", "0x0\n");
  EXPECT_THAT(only_statement(), IsBad("NotCalibrated"));
  files.write(alveo.user() + "/xclbinuuid", "00000000-0000-0000-0000-000000000000\n");
  EXPECT_THAT(only_statement(), IsWell()) << "nothing is loaded any more";
}

TEST_F(FpgaHealth, TheManagementFunctionOfAnAlveoCardCanBeLost) {
  add_alveo();
  files.write(alveo.management() + "/config", std::string(4, '\xff'));
  EXPECT_THAT(only_statement(), AllOf(IsBad("Lost"), has_message("0000:65:00.0")));
}

TEST_F(FpgaHealth, ADeviceThatIsListedAgainIsStatedAgain) {
  add_classic_card();
  Targets gone;
  for (auto& one : targets) gone.push_back(std::move(one));
  targets.clear();
  monitor.list(targets);
  targets = std::move(gone);
  monitor.list(targets);
  EXPECT_THAT(look(), SizeIs(33)) << "the host has forgotten all of it";
}

TEST_F(FpgaHealth, AfterAResetAllCausesAreStatedAnew) {
  add_classic_card();
  files.set_pcie_errors(kClassicCard, 0, 0, 3);
  host.take_statements();
  monitor.start_anew(kClassicCard, targets);
  EXPECT_THAT(host.statements, SizeIs(33)) << "eleven of each device";
  for (const auto& [id, health] : host.statements)
    EXPECT_THAT(health, IsWell()) << id << " " << health.cause << ": a reset takes the link down";
}

TEST_F(FpgaHealth, AfterAPauseErrorsOfTheMeantimeAreNotNew) {
  add_classic_card();
  monitor.forget();
  files.set_pcie_errors(kClassicCard, 0, 0, 3);
  EXPECT_THAT(look(), IsEmpty());
}

}  // namespace
}  // namespace cardcage::fpga
