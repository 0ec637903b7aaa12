// Statements of modules about a claim's devices, from the module to the embedded node and to a file for containers.
#include "host/core/file.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/eventually.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace fs = std::filesystem;

class ClaimStatusDaemonTest : public DaemonTest, public ::testing::WithParamInterface<const char*> {
 protected:
  ClaimStatusDaemonTest() {
    daemon.configure(
        daemon.node_section((daemon.folder() / "node").native()) +
        "[[module]]\nname = \"mock\"\npath = \"libcardcage_mock.so\"\nisolation = \"" + GetParam() +
        "\"\n[module.options]\ndevices = [\"gpu:2\"]\n"
        "statements = [\"condition Ready true Linked up\", \"data {\\\"lanes\\\": 16}\", \"describe slot a\"]\n"
        "[[module.serve]]\napi = \"dra\"\ndriver = \"" +
        kDriver + "\"\n");
  }
  fs::path status_file(const ClaimRef& claim) const {
    return daemon.folder() / "node/statuses" / (claim.name_space + "_" + claim.name + ".json");
  }
  std::string status_of(const ClaimRef& claim) const { return read_file(status_file(claim), 1 << 20).value_or(""); }
  // The file that containers mount; empty if there is none.
  fs::path metadata_file() const {
    for (const auto& entry : fs::recursive_directory_iterator(daemon.folder()))
      if (entry.path().parent_path().parent_path().filename() == "metadata") return entry.path();
    return {};
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, ClaimStatusDaemonTest, ::testing::Values("in-process", "process"),
                         name_of_isolation);

TEST_P(ClaimStatusDaemonTest, IsThereFromPrepareToUnprepareOverARestart) {
  const ClaimRef claim = add_claim("training", {"gpu-1"});
  start_and_register();
  ASSERT_THAT(prepare(claim), SizeIs(1));
  ASSERT_TRUE(eventually([&] { return fs::exists(status_file(claim)); }, 5s)) << daemon.log();
  EXPECT_THAT(status_of(claim), AllOf(HasSubstr(R"("device":"gpu-1")"), HasSubstr(R"("reason":"Linked")"),
                                      HasSubstr(R"("data":{"lanes":16})")));
  EXPECT_TRUE(shows("status", "claim status   written"));
  const std::string described = read_file(metadata_file(), 1 << 20).value_or("");
  EXPECT_THAT(described, AllOf(HasSubstr("metadata.resource.k8s.io/v1beta1"), HasSubstr(R"("slot":{"string":"a"})"),
                               HasSubstr(R"("model":{"string":"Mock G100"})")));

  const std::string before = status_of(claim);
  fs::remove(status_file(claim));
  daemon.crash();
  start_and_register();
  ASSERT_TRUE(eventually([&] { return fs::exists(status_file(claim)); }, 5s)) << daemon.log();
  EXPECT_EQ(status_of(claim), before) << "the time of each condition is kept, too";
  EXPECT_EQ(read_file(metadata_file(), 1 << 20).value_or(""), described);
  ASSERT_TRUE(unprepare(claim));
  EXPECT_TRUE(eventually([&] { return !fs::exists(status_file(claim)); }, 5s)) << daemon.log();
  EXPECT_EQ(metadata_file(), fs::path());
}

}  // namespace
}  // namespace cardcage
