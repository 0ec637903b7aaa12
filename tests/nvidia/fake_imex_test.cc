// The fake nvidia-imex-ctl, compared with what is known of NVIDIA's: the states of its daemon and domain in DCGM's
// dcgm_fields.h (DCGM_FI_IMEX_DAEMON_STATUS and DCGM_FI_IMEX_DOMAIN_STATUS), scripts of operators that compare all of
// `nvidia-imex-ctl -q` with "READY", and output of `nvidia-imex-ctl -N -j -H` from nodes with a domain that is up and
// with one that is down, as published with NVIDIA's checks of clusters.
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <cstdio>

#include "sim/nvml/fake_gpus.h"
#include "sim/scratch_folder.h"

namespace cardcage {
namespace {

namespace json = boost::json;

class FakeImexCtl : public ::testing::Test {
 protected:
  // Returns the standard output, and sets `status` to the exit status.
  std::string ask(const std::string& arguments) {
    const std::string command = (gpus.driver_root() / "usr/bin/nvidia-imex-ctl").native() + " " + arguments;
    std::FILE* const pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
    std::string text;
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
    status = ::pclose(pipe);
    return text;
  }
  static std::vector<std::string> keys(const json::object& object) {
    std::vector<std::string> all;
    for (const auto& [key, value] : object) all.emplace_back(key);
    return all;
  }

  ScratchFolder folder;
  FakeGpus gpus{folder / "node"};
  int status = 0;
};

TEST_F(FakeImexCtl, PrintsTheStateOfTheDaemonAlone) {
  for (const char* state : {"INITIALIZING", "STARTING_AUTH_SERVER", "WAITING_FOR_PEERS", "WAITING_FOR_RECOVERY",
                            "INIT_GPU", "READY", "SHUTTING_DOWN"}) {
    gpus.run_imex(state);
    EXPECT_EQ(ask("-q"), std::string(state) + "\n");
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(ask("-q --u=/etc/nvidia-imex/imex_ctrl.sock"), "SHUTTING_DOWN\n") << "NVIDIA's driver asks so";
}

TEST_F(FakeImexCtl, FailsWithoutADaemon) {
  gpus.run_imex("READY");
  gpus.end_imex();
  EXPECT_EQ(ask("-q"), "");
  EXPECT_NE(status, 0);
}

TEST_F(FakeImexCtl, DescribesTheDomainAsNvidiasDoes) {
  const json::value up = json::parse(
      R"({"nodes":{"0":{"status":"READY","host":"10.0.0.1","hostName":"gpu-node-a","connections":{
            "0":{"host":"10.0.0.1","status":"CONNECTED","changed":true},
            "1":{"host":"10.0.0.2","status":"CONNECTED","changed":true}}},
          "1":{"status":"READY","host":"10.0.0.2","hostName":"gpu-node-b","connections":{
            "0":{"host":"10.0.0.1","status":"CONNECTED","changed":true},
            "1":{"host":"10.0.0.2","status":"CONNECTED","changed":true}}}},
          "timestamp":"9/4/2026 00:00:00.000","status":"UP"})");
  gpus.run_imex("READY", "UP");
  const json::value fake = json::parse(ask("-N -j"));
  EXPECT_EQ(keys(fake.as_object()), keys(up.as_object()));
  EXPECT_EQ(fake.at("status"), up.at("status"));
  for (const char* node : {"0", "1"}) {
    const json::object &ours = fake.at("nodes").at(node).as_object(), &theirs = up.at("nodes").at(node).as_object();
    EXPECT_EQ(keys(ours), keys(theirs));
    EXPECT_EQ(ours.at("status"), theirs.at("status"));
    EXPECT_EQ(ours.at("host"), theirs.at("host"));
    for (const char* peer : {"0", "1"}) {
      const json::object &link = ours.at("connections").at(peer).as_object(),
                         &real = theirs.at("connections").at(peer).as_object();
      EXPECT_EQ(keys(link), keys(real));
      EXPECT_EQ(link.at("status"), real.at("status"));
    }
  }
}

TEST_F(FakeImexCtl, ADomainThatIsDownHasNoPeers) {
  gpus.run_imex("READY", "DOWN");
  const json::value fake = json::parse(ask("-N -j"));
  EXPECT_EQ(fake.at("status"), "DOWN");
  for (const char* node : {"0", "1"}) EXPECT_EQ(fake.at("nodes").at(node).at("status"), "UNAVAILABLE");
  EXPECT_EQ(fake.at("nodes").at("1").at("hostName"), "N/A");
  EXPECT_EQ(fake.at("nodes").at("0").at("connections").at("1").at("status"), "INVALID");
}

}  // namespace
}  // namespace cardcage
