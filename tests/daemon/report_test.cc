// Reports of modules reach Prometheus and Node Feature Discovery.
#include "host/core/file.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/fake_pod_resources.h"
#include "tests/fakes/http_get.h"
#include "tests/fakes/sanitizers.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class ReportTest : public DaemonTest, public ::testing::WithParamInterface<const char*> {
 protected:
  ReportTest() {
    fs::create_directory(features);
    configure_with("labels = [\"example.com/driver=1.2\"]");
  }
  void configure_with(const std::string& options) {
    std::string node = daemon.node_section((daemon.folder() / "node").native());
    const std::string off = "listen = \"\"";
    node.replace(node.find(off), off.size(), fmt::format("listen = \"127.0.0.1:{}\"", port));
    daemon.configure(node + "[[module]]\nname = \"mock\"\npath = \"libcardcage_mock.so\"\nisolation = \"" + GetParam() +
                     "\"\n[module.options]\ndevices = [\"gpu:2\"]\nscript_file = \"" + script().native() + "\"\n" +
                     options + "\n[[module.serve]]\napi = \"dra\"\ndriver = \"" + kDriver + "\"\n");
  }
  std::string page() const { return http_get(port, "/metrics"); }
  bool page_has(const std::string& text) {
    return eventually([&] { return page().find(text) != std::string::npos; }, 10s);
  }
  std::string labels() const { return read_file(features / "cardcage", 1 << 20).value_or(""); }

  const std::uint16_t port = free_port();
  const fs::path features = daemon.folder() / "features.d";
  FakePodResources pods{daemon.folder() / "kubelet", daemon.folder() / "device-plugins"};
};

INSTANTIATE_TEST_SUITE_P(Isolation, ReportTest, ::testing::Values("in-process", "process"), name_of_isolation);

TEST_P(ReportTest, TheNodesSysfsMayBeElsewhere) {
  const fs::path devices = daemon.folder() / "sys/bus/pci/devices";
  fs::create_directories(devices);
  fs::create_directories(daemon.folder() / "sys/devices/pci4d00:00/4d00:01:00.0");
  fs::create_symlink("../../../devices/pci4d00:00/4d00:01:00.0", devices / "4d00:01:00.0");
  daemon.set_sysfs(daemon.folder() / "sys");
  configure_with("");
  start_and_register();
  EXPECT_TRUE(eventually([&] { return cagectl("devices --json").text.find("pci4d00:00") != std::string::npos; }, 10s))
      << cagectl("devices --json").text;
}

TEST_P(ReportTest, AScrapeNamesThePodThatUsesADevice) {
  pods.start();
  const ClaimRef claim = add_claim("training", {"gpu-1"});
  start_and_register();
  ASSERT_TRUE(page_has("cardcage_hw_temperature_celsius{module=\"mock\",device=\"gpu-1\"} ")) << page();
  EXPECT_THAT(page(), HasSubstr("# TYPE cardcage_hw_lane_errors_total counter\n"));
  EXPECT_THAT(page(), HasSubstr("cardcage_hw_devices{module=\"mock\"} 2\n"));
  EXPECT_THAT(page(), HasSubstr("cardcage_module_samples{module=\"mock\"} 9\n"));
  EXPECT_THAT(page(), HasSubstr("cardcage_build_info"));
  ASSERT_THAT(prepare(claim), ::testing::SizeIs(1));
  EXPECT_TRUE(page_has("cardcage_hw_temperature_celsius{module=\"mock\",device=\"gpu-1\",namespace=\"" +
                       claim.name_space + "\",claim=\"training\"} "))
      << page();
  pods.put_pod({claim.name_space, "trainer-0", "uid-1", {{"main", {}, false, {"training"}}}});
  EXPECT_TRUE(eventually(
      [&] {
        return page().find("device=\"gpu-1\",namespace=\"" + claim.name_space +
                           "\",pod=\"trainer-0\",container=\"main\",claim=\"training\"") != std::string::npos;
      },
      25s))
      << page();
}

TEST_P(ReportTest, LabelsComeStayOverARestartAndGoWithTheirModule) {
  start_and_register();
  ASSERT_TRUE(eventually([&] { return !labels().empty(); }, 5s)) << daemon.log();
  EXPECT_THAT(labels(), HasSubstr("\nexample.com/driver=1.2\n"));
  EXPECT_TRUE(shows("status", "node labels    written"));
  EXPECT_TRUE(shows("modules mock", "example.com/driver=1.2"));
  daemon.stop();
  EXPECT_THAT(labels(), HasSubstr("example.com/driver=1.2")) << "the next daemon takes them over";
  configure_with("labels = [\"example.com/driver=1.3\"]");
  start_and_register();
  ASSERT_TRUE(eventually([&] { return labels().find("driver=1.3") != std::string::npos; }, 5s)) << daemon.log();
  std::string node = daemon.node_section((daemon.folder() / "node").native());
  daemon.configure(node);
  EXPECT_EQ(cagectl("reload").code, 0);
  EXPECT_TRUE(eventually([&] { return !fs::exists(features / "cardcage"); }, 5s)) << daemon.log();
}

TEST_P(ReportTest, LabelsOfAModuleThatStaysQuiescedOutlastTheDaemon) {
  start_and_register();
  ASSERT_TRUE(eventually([&] { return !labels().empty(); }, 5s)) << daemon.log();
  const std::string before = labels();
  ASSERT_EQ(cagectl("module quiesce mock").code, 0);
  daemon.stop();
  daemon.start();
  ASSERT_TRUE(shows("status", "node labels    written", 20s)) << "the next daemon has looked at the file";
  EXPECT_TRUE(shows("modules", "quiesced"));
  EXPECT_EQ(labels(), before);
}

TEST_P(ReportTest, TheCatalogueIsShownWithWhatIsWrong) {
  configure_with("catalogue = [\"bitstream aes usable AES at 300 MHz\", \"bitstream old refused part is missing\"]");
  std::ofstream(script()).flush();
  start_and_register();
  EXPECT_TRUE(shows("catalogue", "mock    bitstream  aes   usable   AES at 300 MHz"));
  EXPECT_TRUE(shows("catalogue mock", "mock    bitstream  old   refused  part is missing"));
  const auto unknown = cagectl("catalogue mokc");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.text, HasSubstr("no module 'mokc' (did you mean 'mock'?)"));
  play("fail catalogue * the folder is gone");
  EXPECT_TRUE(shows("catalogue", "module 'mock' cannot collect its catalogue: the folder is gone"));
  play("heal catalogue");
  EXPECT_TRUE(shows("catalogue", "AES at 300 MHz"));
  ASSERT_EQ(cagectl("module quiesce mock").code, 0);
  EXPECT_TRUE(shows("catalogue", "quiesced"));
  EXPECT_EQ(cagectl("catalogue").code, 1);
}

TEST_P(ReportTest, AFloodOfSamplesHarmsNobody) {
  configure_with("metrics_flood = 300000");
  start_and_register();
  ASSERT_TRUE(page_has("cardcage_module_samples{module=\"mock\"} 50000\n")) << page().size();
  EXPECT_THAT(page(), HasSubstr("cardcage_module_samples_left_out{module=\"mock\"} 250009\n"));
  EXPECT_THAT(page(), HasSubstr("cardcage_hw_temperature_celsius"));
  if (!kAddressSanitizer) {  // which keeps 256 MiB of freed memory
    EXPECT_LT(daemon.pss_kib(), 300u * 1024);
  }
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  EXPECT_THAT(prepare(claim), ::testing::SizeIs(1));
}

TEST_P(ReportTest, ACollectionThatHangsLeavesTheLastFigures) {
  std::ofstream(script()).flush();
  start_and_register();
  ASSERT_TRUE(page_has("cardcage_hw_temperature_celsius"));
  play("hang metrics");
  ASSERT_TRUE(eventually([&] { return page(), daemon.logged("metrics hangs until the script heals it"); }, 10s));
  EXPECT_THAT(page(), HasSubstr("cardcage_hw_temperature_celsius"));
  play("heal metrics");
}

}  // namespace
}  // namespace cardcage
