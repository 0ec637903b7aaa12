// Tests virtual functions of cards on the kernel's own drivers: with dfl-pci, and through VFIO.
#include <linux/vfio.h>

#include <array>

#include "tests/qemu/fpga_machine.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

const std::string kCardName = "fpga-0000-41-00-0", kFunctionName = "fpga-0000-41-00-5", kFunction = "0000:41:00.5";

std::filesystem::path folder_of(const std::string& bus_id) { return "/sys/bus/pci/devices/" + bus_id; }
std::string driver_of(const std::string& bus_id) {
  std::error_code error;
  return std::filesystem::read_symlink(folder_of(bus_id) / "driver", error).filename();
}
std::string group_node_of(const std::string& bus_id) {
  return "/dev/vfio/" + std::filesystem::read_symlink(folder_of(bus_id) / "iommu_group").filename().native();
}

// Opens the nodes of a virtual function as a container does.
class VfioUser {
 public:
  explicit VfioUser(const std::string& bus_id)
      : container_(open_node("/dev/vfio/vfio")), group_(open_node(group_node_of(bus_id))) {
    int container = container_.get();
    if (call_with(group_, VFIO_GROUP_SET_CONTAINER, container) != 0) return;
    if (call(container_, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU) != 0) return;
    device_ = UniqueFd(::ioctl(group_.get(), VFIO_GROUP_GET_DEVICE_FD, bus_id.c_str()));
  }
  // Returns the id of the function at this offset of BAR 0, as afu_id would show it; empty if the device was not
  // opened.
  std::string function(std::uint64_t place = 0) const {
    vfio_region_info bar{.argsz = sizeof bar, .index = VFIO_PCI_BAR0_REGION_INDEX};
    std::array<std::uint64_t, 2> id{};
    if (!device_ || call_with(device_, VFIO_DEVICE_GET_REGION_INFO, bar) != 0) return "";
    if (::pread(device_.get(), id.data(), sizeof id, static_cast<off_t>(bar.offset + place + 8)) != sizeof id)
      return "";
    return fmt::format("{:016x}{:016x}", id[1], id[0]);
  }

 private:
  const UniqueFd container_, group_;
  UniqueFd device_;
};

class FpgaFunctions : public FpgaMachine {
 protected:
  static constexpr const char* kLent = "0000:01:00.1";
  static std::vector<std::string> nodes_of_container(const PreparedEdits& prepared) {
    std::vector<std::string> nodes;
    for (const DeviceNode& node : prepared.allocations.front().device_nodes) nodes.push_back(node.path);
    return nodes;
  }
  // Releases the port first, since mainline Linux makes virtual functions only of released ports.
  void make_function(const std::string& card, int port) const {
    release_port(card, port);
    write_to(folder_of(card) / "sriov_numvfs", "1");
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, FpgaFunctions, ::testing::Values(Isolation::kProcess), name_of_isolation);

// The vendor and device of virtual functions read as ones.
TEST_P(FpgaFunctions, APortOnAVirtualFunctionHasItsNumberAndTheShellOfTheCard) {
  make_function(kFourPorts, 2);
  const Device port = device("fpga-0000-02-00-1-p2");
  EXPECT_EQ(port.health.state, HealthState::kHealthy) << port.health.message;
  EXPECT_THAT(attributes_of(port),
              IsSupersetOf<std::string>({"portId=2", "card=" + kFourPorts, "interfaceId=" + kFourPortsInterface,
                                         "shellId=0x122000200000185", "programmable=false",
                                         std::string("afuId=") + fake_fpga::kNlb0}));
  pass_ticks(2);
  for (const auto& [device, health] : reports) {
    if (device == "0000:02:00.1/port-2") {
      EXPECT_EQ(health.state, HealthState::kHealthy) << health.cause;
    }
  }
  ModuleClaim wanted = claim_of("u1", {"fpga-0000-02-00-1-p2"});
  const auto prepared = prepare_slowly(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  const Status released = unprepare_slowly(wanted);
  EXPECT_TRUE(released) << released.error().message;
}

TEST_P(FpgaFunctions, APortIsLentAsAVirtualFunctionAndComesBack) {
  constexpr std::uint64_t kBehindThePort = 0x10000;
  add_bitstream("nlb0", fake_fpga::kNlb0);
  ModuleClaim wanted = claim_of("u1", {kN3000Port}, R"("virtualFunctions":true,"bitstream":"nlb0")");
  const auto prepared = prepare_slowly(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(driver_of(kLent), "vfio-pci");
  EXPECT_THAT(nodes_of_container(*prepared), ElementsAre(group_node_of(kLent), "/dev/vfio/vfio"));
  EXPECT_THAT(names(), Contains(kN3000Port)) << "it is lent, and not gone";
  {
    const VfioUser user(kLent);
    EXPECT_EQ(user.function(kBehindThePort), fake_fpga::kNlb0);
    EXPECT_FALSE(unprepare_slowly(wanted)) << "the kernel would wait for the container forever";
  }
  const Status released = unprepare_slowly(wanted);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_EQ(text_of(folder_of(kN3000) / "sriov_numvfs"), "0");
  EXPECT_EQ(function_of(kN3000), fake_fpga::kNlb0) << "the port has its driver";
  ModuleClaim next = claim_of("u2", {kN3000Port});
  const auto again = prepare_slowly(next);
  EXPECT_TRUE(again) << again.error().message;
}

TEST_P(FpgaFunctions, TheFourPortsOfACardAreLentTogether) {
  ModuleClaim whole = claim_of("u1", {"fpga-0000-02-00-0"}, R"("virtualFunctions":true)");
  const auto prepared = prepare_slowly(whole);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(nodes_of_container(*prepared).size(), 5u) << "four groups and /dev/vfio/vfio";
  for (const char* function : {"0000:02:00.1", "0000:02:00.2", "0000:02:00.3", "0000:02:00.4"})
    EXPECT_EQ(driver_of(function), "vfio-pci") << function;
  const Status released = unprepare_slowly(whole);
  ASSERT_TRUE(released) << released.error().message;
  for (std::size_t port = 0; port < 4; ++port) EXPECT_EQ(function_of(kFourPorts, port), fake_fpga::kNlb0) << port;
}

TEST_P(FpgaFunctions, AnOfsCardIsFoundByItsVirtualFunction) {
  EXPECT_THAT(names(), Not(Contains(kCardName))) << "nothing of it has a function yet";
  make_function(kN6001, 0);
  EXPECT_EQ(driver_of(kFunction), "") << "dfl-pci finds no port on it";
  EXPECT_THAT(names(), IsSupersetOf<std::string>({kCardName, kFunctionName}));
  const Device function = device(kFunctionName);
  EXPECT_EQ(function.health.state, HealthState::kHealthy) << function.health.message;
  EXPECT_THAT(attributes_of(function),
              IsSupersetOf<std::string>({"type=vf", "card=" + kN6001, "model=N6001",
                                         std::string("interfaceId=") + fake_fpga::kN6001Interface}));
}

TEST_P(FpgaFunctions, AVirtualFunctionGoesThroughVfioAndIsReset) {
  make_function(kN6001, 0);
  ModuleClaim wanted = claim_of("u1", {kFunctionName});
  const auto prepared = prepare_slowly(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(driver_of(kFunction), "vfio-pci");
  EXPECT_THAT(nodes_of_container(*prepared), ElementsAre(group_node_of(kFunction), "/dev/vfio/vfio"));
  {
    const VfioUser user(kFunction);
    EXPECT_EQ(user.function(), fake_fpga::kNlb0);
    const Status held = unprepare_slowly(wanted);
    ASSERT_FALSE(held);
    EXPECT_THAT(held.error().message, AllOf(HasSubstr(kFunction), HasSubstr("Device or resource busy")));
  }
  const std::string resets = text_of(control_file("n6001", "resets"));
  const Status released = unprepare_slowly(wanted);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_NE(text_of(control_file("n6001", "resets")), resets);
  EXPECT_EQ(driver_of(kFunction), "");
  EXPECT_EQ(text_of(folder_of(kFunction) / "driver_override"), "(null)");
}

TEST_P(FpgaFunctions, AnOfsCardIsProgrammedForAllItsFunctions) {
  make_function(kN6001, 0);
  add_bitstream("nlb3", fake_fpga::kNlb3, fake_fpga::kN6001Interface);
  ModuleClaim whole = claim_of("u1", {kCardName}, R"("bitstream":"nlb3")");
  const auto prepared = prepare_slowly(whole);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(VfioUser(kFunction).function(), fake_fpga::kNlb3);
  const Status released = unprepare_slowly(whole);
  EXPECT_TRUE(released) << released.error().message;
}

}  // namespace
}  // namespace cardcage
