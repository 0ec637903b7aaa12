// Collects the health statements that the module makes about fake GPUs.
#pragma once

#include "modules/nvidia/health/declared_causes.h"
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {

class NvidiaHealthFixture : public NvidiaFixture {
 protected:
  // The host accepts only statements about declared causes, and values only for causes with a unit.
  void TearDown() override {
    for (const auto& [id, health] : reports) {
      const auto declared = std::ranges::find(nvidia::kDeclaredCauses, health.cause, &cage::Cause::name);
      ASSERT_NE(declared, std::end(nvidia::kDeclaredCauses)) << health.cause << " of " << id;
      EXPECT_FALSE(health.value && declared->unit.empty()) << health.cause << " has a value and no unit";
    }
    NvidiaFixture::TearDown();
  }
  // Logs a message of the kernel about the GPU, or about an instance of it.
  void log(int gpu, const std::string& rest, const std::string& instance = "") {
    Event event;
    event.text = fmt::format("NVRM: Xid (PCI:{}{}): {}", gpus->bus_id(gpu).substr(0, 10), instance, rest);
    EXPECT_TRUE(run(module->call(EventsCall{{.events = {event}}}, soon())));
  }
  // Whether a statement about a cause of a device had this reason. A later look may have ended it.
  bool has_stated(const std::string& id, const std::string& cause, const std::string& reason) {
    return eventually([&] {
      let_news_pass();
      return std::ranges::any_of(reports, [&](const auto& one) {
        return one.first == id && one.second.cause == cause && one.second.reason == reason;
      });
    });
  }
  // The last statement about a cause of a device.
  Health about(const std::string& id, const std::string& cause) {
    Health last;
    EXPECT_TRUE(eventually([&] {
      let_news_pass();
      const auto is_it = [&](const auto& one) { return one.first == id && one.second.cause == cause; };
      const auto found = std::find_if(reports.rbegin(), reports.rend(), is_it);
      if (found == reports.rend()) return false;
      last = found->second;
      return true;
    })) << "nothing about "
        << cause << " of " << id;
    return last;
  }
};

}  // namespace cardcage
