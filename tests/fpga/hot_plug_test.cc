// Tests a card that appears while the module runs, from the kernel's uevent through the daemon's reader to the module.
#include "host/events/event_sources.h"
#include "tests/fakes/uevent_namespace.h"
#include "tests/fpga/fpga_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;

class FpgaHotPlug : public FpgaFixture {};
INSTANTIATE_TEST_SUITE_P(Isolation, FpgaHotPlug, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(FpgaHotPlug, AUeventMakesTheModuleLookForCards) {
  const UeventNamespace kernel;
  if (!kernel.works()) GTEST_SKIP() << "no network namespace can be made here";
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  EXPECT_THAT(names(), ElementsAre("fpga-0000-3b-00-0-p0"));
  EventSources sources(core, clock);
  std::vector<std::string> heard;
  const auto subscription = sources.subscribe({.kernel_message = nullptr,
                                               .uevent = [&](const Uevent& event) { heard.push_back(event.text); },
                                               .lost = nullptr});
  cards->add_card(fake_fpga::d5005());
  ASSERT_EQ(kernel.send("add", "/devices/pci0000:ae/0000:ae:00.0/0000:af:00.0/fpga_region/region7", "fpga_region"), 0);
  ASSERT_TRUE(eventually([&] { return !heard.empty(); }));
  const int before = rescans;
  ASSERT_TRUE(run(module->call(
      EventsCall{{.events = {{.type = EventType::kUevent, .time = {}, .text = heard.front(), .descriptor = -1}}}},
      soon())));
  EXPECT_TRUE(eventually([&] {
    let_news_pass();
    return rescans > before;
  }));
  EXPECT_THAT(names(), ElementsAre("fpga-0000-3b-00-0-p0", "fpga-0000-af-00-0-p0"));
}

}  // namespace
}  // namespace cardcage
