#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "modules/fpga/xrt/alveo.h"
#include "tests/fpga/node_files.h"

namespace cardcage::fpga {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kBusId = "0000:65:00.1";
constexpr const char* kDesign = "862c7020a250293e32036f19956669e5";
constexpr const char* kBaseInterface = "f2b82d53372f45a4bbe93d1c980216da";
constexpr const char* kShellInterface = "12c8fafb0632499db1c0c6676271b8a6";

class AlveoTest : public NodeFiles {
 protected:
  AlveoTest() {
    set("user_pf", "");
    set("vendor", "0x10ee\n");
    set("device", "0x5005\n");
    set("rom.u.25857/VBNV", "xilinx_u250_gen3x16_xdma_shell_4_1\n");
    set("interface_uuids", std::string(kBaseInterface) + "\n" + kShellInterface + "\n");
    set("logic_uuids", "9c6f5b3a7e2d4f10b6a1c2d3e4f50617\n");
    set("xclbinuuid", "00000000-0000-0000-0000-000000000000\n");
    set("ready", "0x1\n");
    set("dev_offline", "0\n");
    set("xmc.u.25857/serial_num", "21320698F01S\n");
    set("drm/card1/dev", "226:1\n");
    set("drm/renderD129/dev", "226:129\n");
    write("proc/2/comm", "kthreadd\n");
    std::filesystem::create_directories(folder / "proc/1/fd");
    write("sys/module/xocl/version", "2.15.225,adf27adb3cfadc6e4c41d6db814159f1329b24f3\n");
  }

  void set(const std::string& attribute, const std::string& value) const {
    write("sys/bus/pci/devices/0000:65:00.1/" + attribute, value);
  }
  void remove(const std::string& attribute) const {
    std::filesystem::remove_all(folder / ("sys/bus/pci/devices/0000:65:00.1/" + attribute));
  }
  std::unique_ptr<Target> card() const { return find_alveo(tools, kBusId); }
  Entry xclbin() const {
    Entry entry = bitstream(Format::kXclbin, "filter.xclbin");
    entry.bitstream.interface_id = kShellInterface;
    entry.bitstream.function_id = kDesign;
    entry.bitstream.platform = "xilinx_u250_gen3x16_xdma_shell_4_1";
    return entry;
  }
  // Adds a process that has the file open.
  void hold(const std::string& file) const {
    write("proc/4711/comm", "app\n");
    link("proc/4711/fd/5", file);
  }
  std::string refusal(const Entry& entry) const {
    return error_of(CAGE_FAILED_PRECONDITION, [&] { card()->require_fit(entry); });
  }
};

TEST_F(AlveoTest, FindsTheUserFunctionOnly) {
  write("sys/bus/pci/devices/0000:65:00.0/mgmt_pf", "");
  EXPECT_EQ(find_alveo(tools, "0000:65:00.0"), nullptr);
  const auto found = card();
  ASSERT_NE(found, nullptr);
  const Identity& identity = found->identity();
  EXPECT_EQ(identity.id, kBusId);
  EXPECT_EQ(identity.name, "fpga-0000-65-00-1");
  EXPECT_EQ(identity.kind, "alveo");
  EXPECT_EQ(identity.card, kBusId);
  EXPECT_EQ(identity.bus_id, kBusId);
  EXPECT_EQ(identity.model, "U250");
  EXPECT_EQ(found->interface_id(), kBaseInterface);
}

TEST_F(AlveoTest, KnowsTheModelWithoutAShell) {
  remove("rom.u.25857");
  EXPECT_EQ(card()->identity().model, "U250");
  set("vendor", "0x1d0f\n");
  EXPECT_EQ(card()->identity().model, "");
}

TEST_F(AlveoTest, DescribesTheShell) {
  cage::Device device("x", "fpga");
  card()->describe(device);
  EXPECT_THAT(attributes_of(device),
              ElementsAre(Pair("logicUuid", "9c6f5b3a7e2d4f10b6a1c2d3e4f50617"), Pair("serial", "21320698F01S"),
                          Pair("shellId", "xilinx_u250_gen3x16_xdma_shell_4_1"), Pair("signedOnly", ""),
                          Pair("xrtVersion", "2.15.225")));
  for (const char* part : {"logic_uuids", "xmc.u.25857", "rom.u.25857"}) remove(part);
  write("sys/module/xocl/version", "unknown\n");
  cage::Device bare("x", "fpga");
  card()->describe(bare);
  EXPECT_THAT(attributes_of(bare), ElementsAre(Pair("signedOnly", "")));
}

TEST_F(AlveoTest, IsConfinedOnlyWhereTheCardDemandsSignatures) {
  EXPECT_THAT(card()->why_not_confined(), HasSubstr("can load any xclbin"));
  write("sys/bus/pci/devices/0000:65:00.0/mgmt_pf", "");
  write("sys/bus/pci/devices/0000:65:00.0/icap.m.25856/sec_level", "0\n");
  EXPECT_THAT(card()->why_not_confined(), HasSubstr("sec_level"));
  write("sys/bus/pci/devices/0000:65:00.0/icap.m.25856/sec_level", "1\n");
  EXPECT_EQ(card()->why_not_confined(), "");
}

TEST_F(AlveoTest, TellsWhatIsLoaded) {
  EXPECT_EQ(card()->function().id, "");
  EXPECT_EQ(card()->function().why, "nothing is loaded");
  set("xclbinuuid", "862C7020-A250-293E-3203-6F19956669E5\n");
  EXPECT_EQ(card()->function().id, kDesign);
  set("xclbinuuid", "");
  EXPECT_EQ(card()->function().why, "nothing is loaded");
  set("xclbinuuid", "0 862c7020-a250-293e-3203-6f19956669e5\n1 00000000-0000-0000-0000-000000000000\n");
  EXPECT_EQ(card()->function().id, kDesign);
  set("xclbinuuid", "0 862c7020-a250-293e-3203-6f19956669e5\n1 11111111-2222-3333-4444-555555555555\n");
  EXPECT_EQ(card()->function().id, "");
  EXPECT_EQ(card()->function().why,
            "its slots have different functions: " + std::string(kDesign) + ", 11111111222233334444555555555555");
  set("xclbinuuid", "junk\n");
  EXPECT_EQ(card()->function().why, "its xclbinuuid is 'junk', which is not a UUID");
  remove("xclbinuuid");
  EXPECT_THAT(card()->function().why, HasSubstr("cannot be read: No such file"));
}

TEST_F(AlveoTest, TellsWhyItCannotBeProgrammed) {
  EXPECT_EQ(card()->why_not_programmable(), "");
  host.has_programs = false;
  EXPECT_THAT(card()->why_not_programmable(), HasSubstr("add the path of 'xbutil' to the key programs"));
  set("ready", "0x0\n");
  EXPECT_THAT(card()->why_not_programmable(), HasSubstr("not ready; see 'xbutil examine --device 0000:65:00.1'"));
  remove("ready");
  EXPECT_THAT(card()->why_not_programmable(), HasSubstr("not ready"));
  set("dev_offline", "1\n");
  EXPECT_THAT(card()->why_not_programmable(), HasSubstr("offline"));
}

TEST_F(AlveoTest, ComparesTheInterface) {
  Entry entry = xclbin();
  card()->require_fit(entry);
  entry.bitstream.platform = "of another release";  // the interface decides
  card()->require_fit(entry);
  entry.bitstream.interface_id = kDesign;
  EXPECT_THAT(refusal(entry), HasSubstr("made for the interface " + std::string(kDesign) +
                                        ", and the shell of the card has " + kBaseInterface + ", " + kShellInterface));
}

TEST_F(AlveoTest, ComparesThePlatformWithoutAnInterface) {
  remove("interface_uuids");
  Entry entry = xclbin();
  card()->require_fit(entry);
  entry.bitstream.platform = "xilinx:u250:gen3x16_xdma_shell_4.1";
  card()->require_fit(entry);
  entry.bitstream.platform = "xilinx_u200_gen3x16_xdma_2_202110_1";
  EXPECT_THAT(refusal(entry), HasSubstr("made for the platform 'xilinx_u200_gen3x16_xdma_2_202110_1', and the card has "
                                        "'xilinx_u250_gen3x16_xdma_shell_4_1'"));
  remove("rom.u.25857");
  EXPECT_THAT(refusal(entry), HasSubstr("neither its interface nor its platform"));
}

TEST_F(AlveoTest, RefusesWhatIsForOtherCards) {
  Entry entry = xclbin();
  entry.card = "U50";
  EXPECT_THAT(refusal(entry), HasSubstr("for U50, and the card is a U250"));
  entry.card = "U250";
  card()->require_fit(entry);
  entry.bitstream.format = Format::kGbs;
  EXPECT_THAT(refusal(entry), HasSubstr("not an xclbin file"));
  set("ready", "0x0\n");
  EXPECT_THAT(refusal(xclbin()), HasSubstr("not ready"));
}

TEST_F(AlveoTest, ProgramsWithTheProgramOfXrt) {
  host.on_run = [&](const auto&) {
    set("xclbinuuid", "862c7020-a250-293e-3203-6f19956669e5\n");
    return RecordingHost::succeeded();
  };
  card()->program(host.call(), xclbin());
  EXPECT_THAT(host.commands, ElementsAre(ElementsAre("xbutil", "program", "--device", kBusId, "--user",
                                                     (folder / "catalogue/filter.xclbin").native())));
}

TEST_F(AlveoTest, RunsNothingIfTheFileIsAnotherOne) {
  const Entry entry = xclbin();
  write("catalogue/filter.xclbin", "configurations");
  EXPECT_THAT(error_of(CAGE_DATA_LOSS, [&] { card()->program(host.call(), entry); }), HasSubstr("SHA-256"));
  EXPECT_THAT(host.commands, IsEmpty());
}

TEST_F(AlveoTest, DoesNotProgramWhatIsOpen) {
  hold("/dev/dri/renderD129");
  EXPECT_THAT(error_of(CAGE_UNAVAILABLE, [&] { card()->program(host.call(), xclbin()); }),
              HasSubstr("cannot be loaded into card 0000:65:00.1: it is open in process 4711 (app)"));
  EXPECT_THAT(host.commands, IsEmpty());
}

TEST_F(AlveoTest, TellsWhatTheProgramSays) {
  host.on_run = [](const auto&) {
    return RecordingHost::failed("warning\nERROR: Could not program device 0000:65:00.1: Device or resource busy\n\n");
  };
  EXPECT_THAT(error_of(CAGE_INTERNAL, [&] { card()->program(host.call(), xclbin()); }),
              HasSubstr("bitstream 'filter' cannot be loaded into card 0000:65:00.1: 'xbutil' says: ERROR: Could not "
                        "program device 0000:65:00.1: Device or resource busy"));
}

TEST_F(AlveoTest, BelievesTheCardAndNotTheProgram) {
  EXPECT_THAT(error_of(CAGE_INTERNAL, [&] { card()->program(host.call(), xclbin()); }),
              HasSubstr("'xbutil' reported success, but the card has no function"));
  set("xclbinuuid", "11111111-2222-3333-4444-555555555555\n");
  EXPECT_THAT(error_of(CAGE_INTERNAL, [&] { card()->program(host.call(), xclbin()); }),
              HasSubstr("the card has the function 11111111222233334444555555555555"));
  set("xclbinuuid", "0 11111111-2222-3333-4444-555555555555\n1 862c7020-a250-293e-3203-6f19956669e5\n");
  card()->program(host.call(), xclbin());
}

TEST_F(AlveoTest, Resets) {
  card()->reset(host.call());
  EXPECT_THAT(host.commands, ElementsAre(ElementsAre("xbutil", "reset", "--device", kBusId, "--force")));
}

TEST_F(AlveoTest, DoesNotResetWhatIsOpen) {
  hold("/dev/dri/renderD129");
  EXPECT_THAT(error_of(CAGE_FAILED_PRECONDITION, [&] { card()->reset(host.call()); }),
              HasSubstr("cannot be reset: it is open in process 4711 (app)"));
  EXPECT_THAT(host.commands, IsEmpty());
}

// The daemon does not see processes of other PID namespaces.
TEST_F(AlveoTest, ChangesNothingWithoutTheProcessesOfTheNode) {
  write("proc/2/comm", "pause\n");
  EXPECT_THAT(error_of(CAGE_FAILED_PRECONDITION, [&] { card()->reset(host.call()); }),
              HasSubstr("cannot be reset: whether it is in use cannot be known, since the daemon does not see the "
                        "processes of the node; run it in the node's PID namespace (hostPID: true)"));
  EXPECT_THAT(error_of(CAGE_FAILED_PRECONDITION, [&] { card()->program(host.call(), xclbin()); }),
              HasSubstr("whether it is in use cannot be known"));
  write("proc/2/comm", "kthreadd\n");
  std::filesystem::remove_all(folder / "proc/1");
  EXPECT_THAT(error_of(CAGE_FAILED_PRECONDITION, [&] { card()->reset(host.call()); }),
              HasSubstr("the module may not see which files processes have open; give it CAP_SYS_PTRACE"));
  EXPECT_THAT(host.commands, IsEmpty());
}

TEST_F(AlveoTest, DoesNotResetTheOtherHalfOfACard) {
  set("rom.u.25857/VBNV", "xilinx_u30_gen3x4_base_2\n");
  card()->reset(host.call());
  EXPECT_THAT(host.commands, IsEmpty());
  EXPECT_THAT(card()->why_not_resettable(), HasSubstr("resets both of its FPGAs")) << "an operator is told";
}

TEST_F(AlveoTest, NoticesThatAResetFailed) {
  host.on_run = [](const auto&) {
    auto result = RecordingHost::succeeded();
    result.out = "Performing 'HOT Reset' on '0000:65:00.1'\nReset failed on Device[0000:65:00.1]\n";
    result.err = "ERROR: Connection timed out\n";
    return result;
  };
  EXPECT_THAT(error_of(CAGE_INTERNAL, [&] { card()->reset(host.call()); }),
              HasSubstr("'xbutil' says: ERROR: Connection timed out"));
  host.on_run = [&](const auto&) {
    set("ready", "0x0\n");
    return RecordingHost::succeeded();
  };
  EXPECT_THAT(error_of(CAGE_UNAVAILABLE, [&] { card()->reset(host.call()); }), HasSubstr("has not come back"));
}

TEST_F(AlveoTest, GivesTheRenderNodeAndNoManagement) {
  write("dev/xclmgmt25856", "");
  RecordedEdits edits;
  card()->add_to(edits.edit(), nullptr);
  EXPECT_THAT(edits.nodes, ElementsAre(Pair("/dev/dri/renderD129", "226:129")));
}

TEST_F(AlveoTest, GivesTheQueuesOfAQdmaShell) {
  write("dev/xfpga/dma.qdma.u25857.0", "");
  RecordedEdits edits;
  card()->add_to(edits.edit(), nullptr);
  EXPECT_THAT(edits.nodes,
              ElementsAre(Pair("/dev/dri/renderD129", "226:129"), Pair("/dev/xfpga/dma.qdma.u25857.0", "")));
}

TEST_F(AlveoTest, GivesNothingWithoutARenderNode) {
  remove("drm/renderD129");
  RecordedEdits edits;
  EXPECT_THAT(error_of(CAGE_UNAVAILABLE, [&] { card()->add_to(edits.edit(), nullptr); }), HasSubstr("no render node"));
  EXPECT_THAT(edits.environment, IsEmpty());
}

TEST(AlveoNames, ModelOfAPlatform) {
  EXPECT_EQ(model_of_platform("xilinx_u250_gen3x16_xdma_shell_4_1"), "U250");
  EXPECT_EQ(model_of_platform("xilinx_u55c_gen3x16_xdma_base_3"), "U55C");
  EXPECT_EQ(model_of_platform("xilinx_vck5000_gen4x8_qdma_2_202220_1"), "VCK5000");
  EXPECT_EQ(model_of_platform("xilinx:u200:xdma:201830.2"), "U200");
  EXPECT_EQ(model_of_platform("xilinx_u200"), "U200");
  EXPECT_EQ(model_of_platform("golden"), "");
  EXPECT_EQ(model_of_platform(""), "");
}

TEST(AlveoNames, InstanceOfAFunction) {
  EXPECT_EQ(instance_of("0000:65:00.1"), 0x6501u);
  EXPECT_EQ(instance_of("0001:02:1f.7"), 0x102ffu);
  for (const char* wrong : {"", "0000:65:00", "0000:65:00.1x", "0000:65:00.", "65:00.1", "x000:65:00.1"})
    EXPECT_EQ(instance_of(wrong), std::nullopt) << wrong;
}

TEST(AlveoNames, VersionOfTheDriver) {
  EXPECT_EQ(version_of_driver("2.15.225,adf27adb"), "2.15.225");
  EXPECT_EQ(version_of_driver("2.8.0"), "2.8.0");
  EXPECT_EQ(version_of_driver("2.08.1"), "2.8.1");  // as a semantic version
  for (const char* wrong : {"", ",", "2.15", "2.15.", "2.15.225.1", "2.15.225-rc1", "v2.15.225", "2..3"})
    EXPECT_EQ(version_of_driver(wrong), "") << wrong;
}

TEST(AlveoNames, WhyAProgramFailed) {
  cage::ProgramResult result = RecordingHost::succeeded();
  result.err = "WARNING: Unexpected xocl version (2.14.0) was found. Expected 2.15.0, to match XRT tools.\n";
  EXPECT_EQ(why_failed("xrt-smi", result), "");
  result.exit_status = 3;
  result.err.clear();
  EXPECT_EQ(why_failed("xrt-smi", result), "'xrt-smi' ended with status 3");
  result.out = "ERROR: Could not find XRT setup script.\n \n";
  EXPECT_EQ(why_failed("xrt-smi", result), "'xrt-smi' says: ERROR: Could not find XRT setup script.");
  result.exit_status = -1;
  result.signal = 11;
  EXPECT_EQ(why_failed("xrt-smi", result), "'xrt-smi' was killed by signal 11");
  result.timed_out = true;
  EXPECT_EQ(why_failed("xrt-smi", result), "'xrt-smi' did not end in time");
}

}  // namespace
}  // namespace cardcage::fpga
