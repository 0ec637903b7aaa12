// Runs the unmodified FPGA drivers of the kernel on a display whose plain memory has the registers of a card with four
// ports. Results equal to those with tests/qemu/fpga_cards show that its access to registers does not hide faults.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <stdexcept>

#include "tests/fpga/fpga_module_fixture.h"
#include "tests/qemu/fpga_cards/features.h"
#include "tests/qemu/machine_files.h"
#include "tests/sim/fpga/kernel_rules.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

const std::string kDisplay = "0000:01:00.0";
constexpr unsigned kPorts = 4;
constexpr features kFeatures{.ports = kPorts,
                             .ofs = false,
                             .interface_id = {0x69528db6eb31577a, 0x8c3668f9faa081f6},
                             .function_id = {0xd8424dc4a4a3c413, 0xf89e433683f9040b},
                             .shell = {0x122000200000185, 0x18061410}};

// The memory of the display with the registers of a card, for the lifetime of this object. No hardware acts on them, so
// the end of a reset is never acknowledged.
class PlainCard {
 public:
  PlainCard() {
    write_to(folder() / "enable", "1");
    const UniqueFd file = open_node(folder() / "resource0", O_SYNC);
    void* const start = ::mmap(nullptr, BAR_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (start == MAP_FAILED) throw std::runtime_error("the memory of the display cannot be mapped");
    put_features(static_cast<__u64*>(start), &kFeatures);
    ::munmap(start, BAR_SIZE);
    write_to(folder() / "driver_override", "dfl-pci");
    write_to("/sys/bus/pci/drivers_probe", kDisplay);
  }
  PlainCard(const PlainCard&) = delete;
  ~PlainCard() { write_to("/sys/bus/pci/drivers/dfl-pci/unbind", kDisplay); }

 private:
  static fs::path folder() { return fs::path("/sys/bus/pci/devices") / kDisplay; }
};

class RuledCard : public kernel_rules::Card {
 public:
  RuledCard() : Card("/sys", "/dev", kDisplay) {}
  void fail_next() override { throw std::logic_error("plain memory does not fail"); }
  void hold(bool) override { throw std::logic_error("plain memory holds nothing"); }
  void set_port_errors(unsigned, std::uint64_t) override { throw std::logic_error("plain memory has no errors"); }

 private:
  const PlainCard plain_;
};

std::vector<kernel_rules::Call> calls_without_a_reset() {
  std::vector<kernel_rules::Call> all = kernel_rules::calls_of_ports();
  std::erase_if(all, [](const auto& call) { return std::string(call.name) == "PortReset"; });
  return all;
}

std::vector<kernel_rules::Attribute> attributes_at_first() {
  std::vector<kernel_rules::Attribute> all = kernel_rules::attributes();
  std::erase_if(all, [](const auto& attribute) { return attribute.before != nullptr; });
  std::erase_if(all, [](const auto& attribute) { return std::string(attribute.name) == "DriverOverride"; });
  return all;
}

using PlainCalls = ::testing::TestWithParam<kernel_rules::Call>;
using PlainAttributes = ::testing::TestWithParam<kernel_rules::Attribute>;
constexpr auto name_of_rule = [](const auto& about) { return std::string(about.param.name); };
INSTANTIATE_TEST_SUITE_P(Linux, PlainCalls, ::testing::ValuesIn(calls_without_a_reset()), name_of_rule);
INSTANTIATE_TEST_SUITE_P(Linux, PlainAttributes, ::testing::ValuesIn(attributes_at_first()), name_of_rule);

TEST_P(PlainCalls, EndAsListed) {
  RuledCard card;
  EXPECT_EQ(GetParam().make(card), GetParam().error);
}

TEST_P(PlainAttributes, ReadAsListed) {
  const RuledCard card;
  EXPECT_EQ(read_file(card.attribute(GetParam().path)), (Text{GetParam().text, GetParam().error}));
}

class FpgaPlainMachine : public FpgaModuleFixture {
 protected:
  ~FpgaPlainMachine() override { let_go(); }
  void SetUp() override {
    roots = {.sysfs = "/sys", .procfs = "/proc", .devfs = "/dev", .driver = "/"};
    const Status started = start_fpga_module({"/dev/dfl-fme.*", "/dev/dfl-port.*"}, {});
    ASSERT_TRUE(started) << started.error().message;
  }
  const PlainCard card;
};
INSTANTIATE_TEST_SUITE_P(Isolation, FpgaPlainMachine, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(FpgaPlainMachine, FindsThePortsAndHandsNoneOutThatCannotBeReset) {
  ASSERT_THAT(names(), ElementsAre("fpga-0000-01-00-0", "fpga-0000-01-00-0-p0", "fpga-0000-01-00-0-p1",
                                   "fpga-0000-01-00-0-p2", "fpga-0000-01-00-0-p3"));
  EXPECT_THAT(attributes_of(device("fpga-0000-01-00-0-p1")),
              IsSupersetOf<std::string>({"portId=1", "interfaceId=69528db6eb31577a8c3668f9faa081f6",
                                         std::string("afuId=") + fake_fpga::kNlb0, "shellId=0x122000200000185"}));
  ModuleClaim wanted = claim_of("u1", {"fpga-0000-01-00-0-p1"});
  const auto prepared = kept(run(preparing(wanted, soon()), std::chrono::seconds(60)), wanted);
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message,
              AllOf(HasSubstr("port 1 of card 0000:01:00.0 cannot be reset"), HasSubstr("Connection timed out")));
}

}  // namespace
}  // namespace cardcage
