// Slices, CDI files and responses are the same wherever the module runs.
#include "host/core/file.h"
#include "tests/daemon/daemon_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

class IsolationTest : public DaemonTest {
 protected:
  // Everything that others read: slices and CDI files, by name, and the response to the kubelet.
  struct Outputs {
    std::map<std::string, std::string> slices, cdi;
    std::vector<PreparedDevice> response;
  };
  // Prepares and unprepares the claim on a fresh node.
  Outputs run_claim(const ClaimRef& claim, const std::string& isolation) {
    configure("devices = [\"gpu:3\", \"fpga:2\", \"nic:2\"]\npartitions = 2", kDriver, isolation);
    start_and_register();
    const auto slices = daemon.folder() / "node/slices", cdi = daemon.folder() / "cdi";
    // Devices that consume counters are published after the slice that has the counters.
    EXPECT_TRUE(kubelet.wait_for([&] {
      const auto now = specs(slices);
      return now.size() == 2 && now.rbegin()->second.find("gpu-2-part-1") != std::string::npos;
    })) << daemon.log();
    Outputs seen{.slices = {}, .cdi = {}, .response = prepare(claim)};
    seen.slices = specs(slices);
    seen.cdi = contents(cdi);
    EXPECT_TRUE(unprepare(claim));
    daemon.stop();
    for (const fs::path& left : {slices, cdi, daemon.folder() / "state", hardware()}) fs::remove_all(left);
    return seen;
  }

 private:
  std::map<std::string, std::string> contents(const fs::path& folder) const {
    std::map<std::string, std::string> found;
    for (const std::string& name : files(folder)) found[name] = read_file(folder / name, 1 << 20).value_or("");
    return found;
  }
  // Without the metadata, which the API server generates.
  std::map<std::string, std::string> specs(const fs::path& folder) const {
    auto slices = contents(folder);
    for (auto& [name, text] : slices) text.erase(0, text.find("\"spec\""));
    return slices;
  }
};

TEST_F(IsolationTest, SlicesAndCdiFilesAreTheSameByteForByte) {
  const ClaimRef claim = add_claim("one", {"gpu-0", "fpga-1", "nic-0"});
  const Outputs inside = run_claim(claim, "in-process"), outside = run_claim(claim, "process");
  ASSERT_EQ(inside.slices.size(), 2u);
  for (const auto& [name, spec] : inside.slices) {
    ASSERT_GT(spec.size(), 100u);
    EXPECT_EQ(spec, outside.slices.at(name));
  }
  EXPECT_EQ(inside.cdi, outside.cdi);
  EXPECT_EQ(inside.response, outside.response);
  EXPECT_EQ(inside.cdi.size(), 1u);
}

}  // namespace
}  // namespace cardcage
