// Slices, CDI files and responses are the same in each isolation.
#include <fstream>

#include "host/core/file.h"
#include "tests/daemon/daemon_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

class IsolationTest : public DaemonTest {
 protected:
  // The output that other programs read: slices and CDI files, by name, and the response to the kubelet.
  struct Outputs {
    std::map<std::string, std::string> slices, cdi;
    std::vector<PreparedDevice> response;
  };
  // Prepares and unprepares the claim on a fresh node that has `count` slices, the last of them with the text.
  Outputs run_claim(const ClaimRef& claim, const std::string& isolation, const std::string& options, std::size_t count,
                    const std::string& text) {
    configure(options, kDriver, isolation);
    start_and_register();
    const auto slices = daemon.folder() / "node/slices", cdi = daemon.folder() / "cdi";
    EXPECT_TRUE(kubelet.wait_for([&] {
      const auto now = specs(slices);
      return now.size() == count && now.rbegin()->second.find(text) != std::string::npos;
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
  // The specs of the slices, without the metadata that the API server generates.
  std::map<std::string, std::string> specs(const fs::path& folder) const {
    auto slices = contents(folder);
    for (auto& [name, text] : slices) text.erase(0, text.find("\"spec\""));
    return slices;
  }
};

TEST_F(IsolationTest, SlicesAndCdiFilesAreTheSameByteForByte) {
  const ClaimRef claim = add_claim("one", {"gpu-0", "fpga-1", "nic-0"});
  const auto run = [&](const std::string& isolation) {
    // Devices that consume counters are published after the slice that has the counters.
    return run_claim(claim, isolation, "devices = [\"gpu:3\", \"fpga:2\", \"nic:2\"]\npartitions = 2", 2,
                     "gpu-2-part-1");
  };
  const Outputs inside = run("in-process"), outside = run("process");
  ASSERT_EQ(inside.slices.size(), 2u);
  for (const auto& [name, spec] : inside.slices) {
    ASSERT_GT(spec.size(), 100u);
    EXPECT_EQ(spec, outside.slices.at(name));
  }
  EXPECT_EQ(inside.cdi, outside.cdi);
  EXPECT_EQ(inside.response, outside.response);
  EXPECT_EQ(inside.cdi.size(), 1u);
}

TEST_F(IsolationTest, AShareOfADeviceIsTheSame) {
  const ClaimRef claim = add_claim("one", {"nic-0"});
  const fs::path file = daemon.folder() / "node/claims/default_one.json";
  std::string text = read_file(file, 1 << 20).value();
  const std::string share =
      R"(,"shareID":"5b2c9f1e-0000-4000-8000-000000000001","consumedCapacity":{"bandwidth":"150G"})";
  const std::string_view device = R"("device":"nic-0")";
  text.insert(text.find(device) + device.size(), share);
  std::ofstream(file) << text;
  const auto run = [&](const std::string& isolation) {
    return run_claim(claim, isolation,
                     "devices = [\"nic:1\"]\nshared = true\n"
                     "shared_capacity = [\"nic bandwidth 100G range 50G 200G 50G\"]",
                     1, R"("validRange":{"min":"50G","max":"200G","step":"50G"})");
  };
  const Outputs inside = run("in-process"), outside = run("process");
  EXPECT_EQ(inside.slices, outside.slices);
  EXPECT_EQ(inside.cdi, outside.cdi);
  EXPECT_EQ(inside.response, outside.response);
  ASSERT_EQ(inside.cdi.size(), 1u);
  EXPECT_NE(inside.cdi.begin()->second.find("MOCK_NIC_0_BANDWIDTH=150000000000"), std::string::npos);
  EXPECT_NE(inside.cdi.begin()->second.find("MOCK_NIC_0_SHARE=5b2c9f1e-0000-4000-8000-000000000001"),
            std::string::npos);
}

}  // namespace
}  // namespace cardcage
