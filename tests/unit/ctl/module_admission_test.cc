// cagectl module admission: the policies of running modules and of module files.
#include <gmock/gmock.h>

#include "tests/fakes/admin_fixture.h"
#include "tests/fakes/built_files.h"
#include "tests/unit/ctl/cagectl_process.h"
#include "tests/unit/ctl/golden.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ModuleAdmissionTest : public AdminFixture {
 protected:
  Ended admission(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--socket", socket.native(), "module", "admission"});
    return run_cagectl(arguments);
  }
  void restart_with(std::vector<ModuleReport> modules) {
    stop();
    daemon.module_reports = std::move(modules);
    start();
  }
};

TEST_F(ModuleAdmissionTest, PrintsThePolicyOfARunningModule) {
  const Ended yaml = admission({"mock"});
  EXPECT_EQ(yaml.code, 0) << yaml.err;
  EXPECT_EQ(yaml.err, "");
  expect_golden("admission.yaml", yaml.out);
  const Ended json = admission({"mock", "--json"});
  EXPECT_EQ(json.code, 0) << json.err;
  expect_golden("admission.json", json.out);
}

TEST_F(ModuleAdmissionTest, EachDriverHasAPolicyOfItsOwn) {
  std::vector<ModuleReport> modules = daemon.module_reports;
  modules.front().drivers = {"one.example.com", "two.example.com"};
  restart_with(modules);
  const std::string both = admission({"mock"}).out;
  EXPECT_EQ(both, admission({"mock", "--driver", "one.example.com"}).out + "---\n" +
                      admission({"mock", "--driver", "two.example.com"}).out);
  EXPECT_THAT(both, HasSubstr("name: two.example.com\n"));
}

TEST_F(ModuleAdmissionTest, ModulesThatShareADriverShareThePolicy) {
  std::vector<ModuleReport> modules = daemon.module_reports;
  ModuleReport other = modules.front();
  other.name = "other";
  other.identity->schemas = {{.api_version = "nic.example.com/v1", .kind = "NicConfig"}};
  modules.push_back(other);
  restart_with(modules);
  const std::string policy = admission({"other"}).out;
  EXPECT_THAT(policy, HasSubstr("gpu.example.com/v1 GpuConfig or nic.example.com/v1 NicConfig"));
  EXPECT_EQ(admission({"mock"}).out, policy);
}

TEST_F(ModuleAdmissionTest, FieldsThatTheModuleReadsItselfAreNotJudged) {
  std::vector<ModuleReport> modules = daemon.module_reports;
  modules.front().identity->schemas = {{.api_version = "gpu.example.com/v1", .kind = "GpuConfig", .raw = true}};
  restart_with(modules);
  const std::string policy = admission({"mock"}).out;
  EXPECT_THAT(policy, HasSubstr("gpu.example.com/v1 GpuConfig"));
  EXPECT_THAT(policy, Not(HasSubstr("does not take")));
}

TEST_F(ModuleAdmissionTest, SaysWhyThereIsNoPolicy) {
  const Ended misspelt = admission({"mok"});
  EXPECT_EQ(misspelt.code, 1);
  EXPECT_EQ(misspelt.err, "cagectl: no module 'mok' (did you mean 'mock'?)\n");
  EXPECT_THAT(admission({"nic", "--driver", "nic.example.com"}).err,
              HasSubstr("module 'nic' has not been loaded yet, so its parameters are unknown; it is "));
  std::vector<ModuleReport> modules = daemon.module_reports;
  modules.front().identity->schemas.clear();
  restart_with(modules);
  const Ended bare = admission({"mock"});
  EXPECT_EQ(bare.code, 1);
  EXPECT_EQ(bare.err,
            "cagectl: no module of driver 'gpu.mock.cardcage.dev' declares parameters that a policy can judge; the "
            "modules check them themselves in prepare\n");
  modules.front().drivers.clear();
  restart_with(modules);
  EXPECT_EQ(admission({"mock"}).err, "cagectl: module 'mock' serves no DRA driver; name one with --driver\n");
}

TEST_F(ModuleAdmissionTest, WrongUsageIsExitCodeTwo) {
  EXPECT_EQ(admission({}).code, 2);
  EXPECT_EQ(admission({"--file", "a.so"}).code, 2);
  EXPECT_EQ(admission({"mock", "--file", "a.so", "--driver", "gpu.example.com"}).code, 2);
  EXPECT_EQ(admission({"mock", "--driver", "Gpu!"}).code, 2);
  EXPECT_EQ(admission({"mock", "--option", "devices=1"}).code, 2);
}

TEST(ModuleFileAdmissionTest, TheFileIsLoadedWithTheOptions) {
  const Ended ended = run_cagectl({"module", "admission", "--file", built_module("mock"), "--driver",
                                   "gpu.mock.cardcage.dev", "--option", "device=1"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("has no option 'device' (did you mean 'devices'?)"));
}

struct Shipped {
  std::string module, driver;
};
void PrintTo(const Shipped& shipped, std::ostream* out) { *out << shipped.module; }

class ShippedModuleTest : public ::testing::TestWithParam<Shipped> {};

TEST_P(ShippedModuleTest, ThePolicyOfItsFileIsTheGoldenOne) {
  const std::string file = built_module(GetParam().module);
  const Ended ended = run_cagectl({"module", "admission", "--file", file, "--driver", GetParam().driver});
  EXPECT_EQ(ended.code, 0) << ended.err;
  expect_golden("admission_" + GetParam().module + ".yaml", ended.out);
}
INSTANTIATE_TEST_SUITE_P(Modules, ShippedModuleTest,
                         ::testing::Values(Shipped{"mock", "gpu.mock.cardcage.dev"},
                                           Shipped{"nvidia", "gpu.nvidia.com"}, Shipped{"fpga", "fpga.cardcage.dev"}),
                         [](const auto& about) { return about.param.module; });

}  // namespace
}  // namespace cardcage
