#include "host/view/driver_report.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

const Error kTaken{Code::kAlreadyExists, "another process serves the socket"};

DriverFacts registered_driver() {
  DriverFacts facts{.name = "gpu.example.com", .modules = {"gpu", "spare"}};
  facts.server = {.socket = "/plugins/dra.sock", .registration = {.state = RegistrationState::kRegistered}};
  facts.published.in_sync = true;
  facts.published.pools["a"] = {.generation = 2, .slices = 1, .devices = 3};
  facts.published.pools["b"] = {.generation = 7, .slices = 2, .devices = 4};
  return facts;
}

TEST(DriverReportTest, ReportsSocketsAndPools) {
  const DriverReport report = driver_report(registered_driver());
  EXPECT_EQ(report.name, "gpu.example.com");
  EXPECT_EQ(report.module, "gpu, spare");
  EXPECT_EQ(report.socket, "/plugins/dra.sock");
  EXPECT_EQ(report.registration, (Condition{Level::kGood, "registered", ""}));
  EXPECT_EQ(report.publication, (Condition{Level::kGood, "published", ""}));
  EXPECT_EQ(report.pool, "a, b");
  EXPECT_EQ(report.generation, 7);
  EXPECT_EQ(report.slices, 3u);
  EXPECT_EQ(report.devices, 7u);
}

TEST(DriverReportTest, RegistrationFollowsTheKubelet) {
  DriverFacts facts = registered_driver();
  facts.server->registration.state = RegistrationState::kAsked;
  EXPECT_EQ(driver_report(facts).registration,
            (Condition{Level::kInProgress, "asked",
                       "its socket was asked for its name, but no kubelet has confirmed; is kubelet_root right?"}));
  facts.server->registration = {.state = RegistrationState::kRefused, .error = "unsupported version"};
  EXPECT_EQ(driver_report(facts).registration, (Condition{Level::kBad, "refused", "unsupported version"}));
}

TEST(DriverReportTest, ADriverWithoutSocketsWaits) {
  DriverFacts facts = registered_driver();
  facts.server.reset();
  EXPECT_EQ(driver_report(facts).registration,
            (Condition{Level::kInProgress, "waiting", "its modules have not listed a device yet"}));
  EXPECT_EQ(driver_report(facts).socket, "");
  facts.server_error = kTaken;
  EXPECT_EQ(driver_report(facts).registration, (Condition{Level::kBad, "waiting", kTaken.message}));
}

TEST(DriverReportTest, PublicationReportsTheFirstTrouble) {
  DriverFacts facts = registered_driver();
  facts.published.in_sync = false;
  EXPECT_EQ(driver_report(facts).publication, (Condition{Level::kInProgress, "pending", ""}));
  facts.published.last_error = "connection refused";
  EXPECT_EQ(driver_report(facts).publication, (Condition{Level::kBad, "failing", "connection refused"}));
  facts.published.pools["b"].rejection = "spec.devices: too many";
  EXPECT_EQ(driver_report(facts).publication, (Condition{Level::kBad, "failing", "spec.devices: too many"}));
}

TEST(DriverReportTest, PublicationExplainsWithheldDevices) {
  DriverFacts facts = registered_driver();
  facts.published.pools["b"].withheld = {{"gpu-4", "is tainted, and the cluster drops taints"}};
  EXPECT_EQ(
      driver_report(facts).publication,
      (Condition{Level::kGood, "published", "1 device is withheld; gpu-4: is tainted, and the cluster drops taints"}));
  facts.published.pools["b"].withheld.push_back({"gpu-5", "the name is not a DNS label"});
  EXPECT_EQ(driver_report(facts).publication.text,
            "2 devices are withheld; gpu-4: is tainted, and the cluster drops taints");
}

TEST(DriverReportTest, PublicationNamesTheFeatureGatesThatFieldsNeed) {
  DriverFacts facts = registered_driver();
  facts.published.disabled_gates = {"DRADeviceTaints", "DRAListTypeAttributes"};
  EXPECT_EQ(driver_report(facts).publication,
            (Condition{Level::kGood, "published",
                       "the cluster does not take all fields of devices; enable its feature gates to publish them: "
                       "DRADeviceTaints, DRAListTypeAttributes"}));
}

TEST(DriverReportTest, APoolThatAnotherNodePublishesTooIsShown) {
  DriverFacts facts = registered_driver();
  facts.shared_pools["gpus"] = "node8";
  const Condition shown = driver_report(facts).publication;
  EXPECT_EQ(shown.level, Level::kBad);
  EXPECT_EQ(shown.reason, "shared");
  EXPECT_THAT(shown.text, ::testing::HasSubstr("node 'node8' publishes slices of the same pool 'gpus'"));
  facts.published.last_error = "connection refused";
  EXPECT_EQ(driver_report(facts).publication.reason, "failing");
}

TEST(DriverReportTest, ADriverThatIsNoLongerConfiguredIsWithdrawnOnceItsSlicesAreGone) {
  DriverFacts facts = registered_driver();
  facts.modules.clear();
  facts.published.in_sync = false;
  EXPECT_EQ(driver_report(facts).module, "");
  EXPECT_EQ(driver_report(facts).publication,
            (Condition{Level::kInProgress, "withdrawing", "it is no longer configured"}));
  facts.published.last_error = "connection refused";
  EXPECT_EQ(driver_report(facts).publication, (Condition{Level::kBad, "failing", "connection refused"}));
  facts.published.last_error.clear();
  facts.published.in_sync = true;
  EXPECT_EQ(driver_report(facts).publication.reason, "withdrawn");
}

}  // namespace
}  // namespace cardcage
