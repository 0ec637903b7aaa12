// Checks the served cards against the list that the kernel's own drivers follow in tests/qemu.
#include "tests/sim/fpga/kernel_rules.h"

#include "tests/sim/fpga/kernel_fixture.h"

namespace cardcage {
namespace {

// Returns the card of tests/qemu/fpga_cards: without interrupts, and with a virtual function for each port.
fake_fpga::Card described() {
  fake_fpga::Card card = fake_fpga::with_virtual_functions(fake_fpga::four_ports(kCard));
  card.dfl->error_interrupts = 0;
  return card;
}

class ServedCard : public kernel_rules::Card {
 public:
  explicit ServedCard(FakeFpgas& fpgas) : Card(fpgas.sysfs(), fpgas.devfs(), kCard), fpgas_(fpgas) {}
  void fail_next() override { fpgas_.fail_next(); }
  void hold(bool held) override { held ? fpgas_.hold() : fpgas_.release(); }
  void set_port_errors(unsigned port, std::uint64_t errors) override { fpgas_.set_port_errors(kCard, port, errors); }

 private:
  FakeFpgas& fpgas_;
};

template <class Rule>
class FakeFpgaRules : public ::testing::TestWithParam<Rule> {
 protected:
  void SetUp() override {
    if (!fpgas.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  }
  FakeFpgas fpgas{{described()}};
};
using FakeFpgaCalls = FakeFpgaRules<kernel_rules::Call>;
using FakeFpgaAttributes = FakeFpgaRules<kernel_rules::Attribute>;
using FakeFpgaWaits = FakeFpgaRules<kernel_rules::Wait>;
constexpr auto name_of_rule = [](const auto& about) { return std::string(about.param.name); };
INSTANTIATE_TEST_SUITE_P(Linux, FakeFpgaCalls, ::testing::ValuesIn(kernel_rules::calls()), name_of_rule);
INSTANTIATE_TEST_SUITE_P(Linux, FakeFpgaAttributes, ::testing::ValuesIn(kernel_rules::attributes()), name_of_rule);
INSTANTIATE_TEST_SUITE_P(Linux, FakeFpgaWaits, ::testing::ValuesIn(kernel_rules::waits()), name_of_rule);

TEST_P(FakeFpgaCalls, EndAsInLinux) {
  ServedCard card(fpgas);
  EXPECT_EQ(GetParam().make(card), GetParam().error);
}

TEST_P(FakeFpgaAttributes, ReadAsInLinux) {
  ServedCard card(fpgas);
  if (GetParam().before != nullptr) GetParam().before(card);
  EXPECT_EQ(read_file(card.attribute(GetParam().path)), (Text{GetParam().text, GetParam().error}));
}

TEST_P(FakeFpgaWaits, AreAsInLinux) {
  ServedCard card(fpgas);
  expect_wait(card, GetParam());
}

}  // namespace
}  // namespace cardcage
