// Checks the kernel's own FPGA drivers against the list that the served cards of sim/fpga follow.
#include "tests/sim/fpga/kernel_rules.h"

#include <gmock/gmock.h>

#include "tests/qemu/machine_files.h"

namespace cardcage {
namespace {

constexpr const char* kControl = "/sys/kernel/debug/fpga-cards/four-ports/";

class RealCard : public kernel_rules::Card {
 public:
  RealCard() : Card("/sys", "/dev", "0000:02:00.0") {
    for (const char* plugged : {"0", "1"}) write_to(std::string(kControl) + "plugged", plugged);
  }
  void fail_next() override { write_to(std::string(kControl) + "fail", "1"); }
  void hold(bool held) override { write_to(std::string(kControl) + "hold", held ? "1" : "0"); }
  void set_port_errors(unsigned port, std::uint64_t errors) override {
    write_to(kControl + ("port" + std::to_string(port) + "/errors"), std::to_string(errors));
  }
};

using LinuxCalls = ::testing::TestWithParam<kernel_rules::Call>;
using LinuxAttributes = ::testing::TestWithParam<kernel_rules::Attribute>;
using LinuxWaits = ::testing::TestWithParam<kernel_rules::Wait>;
constexpr auto name_of_rule = [](const auto& about) { return std::string(about.param.name); };
INSTANTIATE_TEST_SUITE_P(Linux, LinuxCalls, ::testing::ValuesIn(kernel_rules::calls()), name_of_rule);
INSTANTIATE_TEST_SUITE_P(Linux, LinuxAttributes, ::testing::ValuesIn(kernel_rules::attributes()), name_of_rule);
INSTANTIATE_TEST_SUITE_P(Linux, LinuxWaits, ::testing::ValuesIn(kernel_rules::waits()), name_of_rule);

TEST_P(LinuxCalls, EndAsListed) {
  RealCard card;
  EXPECT_EQ(GetParam().make(card), GetParam().error);
}

TEST_P(LinuxAttributes, ReadAsListed) {
  RealCard card;
  if (GetParam().before != nullptr) GetParam().before(card);
  EXPECT_EQ(read_file(card.attribute(GetParam().path)), (Text{GetParam().text, GetParam().error}));
}

TEST_P(LinuxWaits, AreAsListed) {
  RealCard card;
  expect_wait(card, GetParam());
}

}  // namespace
}  // namespace cardcage
