#include "host/view/resource_report.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

ResourceFacts registered_resource() {
  ResourceFacts facts{.name = "example.com/fpga", .module = "fpga", .handed_out = 2};
  facts.server = {.socket = "/device-plugins/a.sock", .registration = {.state = RegistrationState::kRegistered}};
  facts.way = RegistrationWay::kRegistry;
  facts.devices =
      std::make_shared<const DeviceList>(DeviceList{{"a::0", true, {}}, {"a::1", true, {}}, {"b", false, {}}});
  return facts;
}

TEST(ResourceReportTest, CountsDeviceIds) {
  const ResourceReport report = resource_report(registered_resource());
  EXPECT_EQ(report.name, "example.com/fpga");
  EXPECT_EQ(report.module, "fpga");
  EXPECT_EQ(report.socket, "/device-plugins/a.sock");
  EXPECT_EQ(report.way, RegistrationWay::kRegistry);
  EXPECT_EQ(report.registration, (Condition{Level::kGood, "registered", ""}));
  EXPECT_EQ(report.devices, 3u);
  EXPECT_EQ(report.healthy, 2u);
  EXPECT_EQ(report.handed_out, 2u);
}

TEST(ResourceReportTest, TellsThatItIsNoLongerConfigured) {
  ResourceFacts facts = registered_resource();
  facts.module.clear();
  EXPECT_EQ(resource_report(facts).registration,
            (Condition{Level::kGood, "registered", "it is no longer configured, and goes with its last device"}));
}

TEST(ResourceReportTest, WithoutASocketItTellsWhatItWaitsFor) {
  ResourceFacts facts = registered_resource();
  facts.server.reset();
  facts.way.reset();
  EXPECT_EQ(resource_report(facts).registration,
            (Condition{Level::kInProgress, "waiting", "its module has not listed a device yet"}));
  facts.module.clear();
  EXPECT_EQ(resource_report(facts).registration,
            (Condition{Level::kInProgress, "waiting", "it is no longer configured; its devices are being released"}));
  facts.server_error = Error{Code::kInternal, "no space left"};
  EXPECT_EQ(resource_report(facts).registration, (Condition{Level::kBad, "waiting", "no space left"}));
}

}  // namespace
}  // namespace cardcage
