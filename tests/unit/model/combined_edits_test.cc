#include "host/model/combined_edits.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two devices of one call.
struct Pair {
  Edits common, first, second;
  std::vector<DeviceEdits> devices() const { return {{"card-1", &second, &common}, {"card-0", &first, &common}}; }
  std::string refusal() const {
    const Status checked = check_combination(devices());
    return checked ? "" : checked.error().message;
  }
};

TEST(CombinedEdits, EqualValuesFit) {
  const Edits edits{.env = {{"MODE", "fast"}},
                    .device_nodes = {{.path = "/dev/vfio/vfio"}},
                    .mounts = {{.host_path = "/lib/a.so", .container_path = "/lib/a.so"}}};
  EXPECT_EQ((Pair{edits, edits, edits}.refusal()), "");
}

TEST(CombinedEdits, TwoValuesOfOneVariableAreRefusedWithARemedy) {
  Pair pair;
  pair.first.env = {{"MODE", "fast"}};
  pair.second.env = {{"MODE", "slow"}};
  EXPECT_THAT(pair.refusal(), AllOf(HasSubstr("devices 'card-1' and 'card-0' give the environment variable 'MODE' the "
                                              "values 'slow' and 'fast'"),
                                    HasSubstr("claim the devices separately"), HasSubstr("env_list")));
}

TEST(CombinedEdits, ADevicesOwnValueReplacesTheCommonOneForThatDeviceOnly) {
  Pair pair;
  pair.common.env = {{"MODE", "fast"}};
  pair.first.env = pair.second.env = {{"MODE", "slow"}};
  EXPECT_EQ(pair.refusal(), "");
  pair.second.env.clear();
  EXPECT_THAT(pair.refusal(), HasSubstr("'fast' and 'slow'"));
}

TEST(CombinedEdits, CommonValuesOfTwoModulesMustAgree) {
  Pair gpus, nics;
  gpus.common.env = {{"PLACE", "a"}};
  nics.common.env = {{"PLACE", "b"}};
  EXPECT_FALSE(check_combination({{"gpu-0", &gpus.first, &gpus.common}, {"nic-0", &nics.first, &nics.common}}));
}

TEST(CombinedEdits, AListAndASingleValueAreRefused) {
  Pair pair;
  pair.first.env = {{"CARDS", "a"}};
  pair.second.env_lists = {{"CARDS", "a"}};
  EXPECT_THAT(pair.refusal(), HasSubstr("'CARDS' is a list"));
}

TEST(CombinedEdits, TwoThingsInOnePlaceAreRefused) {
  Pair mounts, nodes, interfaces;
  mounts.first.mounts = {{.host_path = "/run/a", .container_path = "/run/card"}};
  mounts.second.mounts = {{.host_path = "/run/b", .container_path = "/run/card"}};
  EXPECT_THAT(mounts.refusal(), HasSubstr("different mounts at '/run/card'"));
  nodes.common.device_nodes = {{.path = "/dev/card", .host_path = "/dev/card0"}};
  nodes.second.device_nodes = {{.path = "/dev/card", .host_path = "/dev/card1"}};
  EXPECT_THAT(nodes.refusal(), HasSubstr("different device nodes at '/dev/card'"));
  interfaces.first.net_devices = {{"eth1", "net1"}};
  interfaces.second.net_devices = {{"eth2", "net1"}};
  EXPECT_THAT(interfaces.refusal(), HasSubstr("different network devices at 'net1'"));
}

TEST(CombinedEdits, ListsAreJoinedInTheOrderOfTheNames) {
  Pair pair;
  pair.common.env_lists = {{"CARDS", "all"}};
  pair.first.env_lists = {{"CARDS", "A"}};
  pair.second.env_lists = {{"CARDS", "B"}, {"PORTS", "1"}};
  EXPECT_EQ(pair.refusal(), "");
  EXPECT_THAT(joined_lists(pair.devices()), ElementsAre(EnvVar{"CARDS", "all,A,B"}, EnvVar{"PORTS", "1"}));
}

// As the SR-IOV network device plugin describes two devices in PCIDEVICE_INTEL_COM_INTEL_FEC_ACC100_INFO (the SRIOV-FEC
// Operator's documents).
TEST(CombinedEdits, JsonObjectsBecomeOne) {
  Pair pair;
  pair.first.env_lists = {{"CARDS_INFO", R"({"0000:8b:01.5":{"generic":{"deviceID":"0000:8b:01.5"}}})"}};
  pair.second.env_lists = {{"CARDS_INFO", R"({"0000:8b:01.7":{"generic":{"deviceID":"0000:8b:01.7"}}})"}};
  EXPECT_THAT(joined_lists(pair.devices()),
              ElementsAre(EnvVar{"CARDS_INFO", R"({"0000:8b:01.5":{"generic":{"deviceID":"0000:8b:01.5"}},)"
                                               R"("0000:8b:01.7":{"generic":{"deviceID":"0000:8b:01.7"}}})"}));
  pair.second.env_lists = {{"CARDS_INFO", "{}"}};
  EXPECT_THAT(joined_lists(pair.devices()),
              ElementsAre(EnvVar{"CARDS_INFO", R"({"0000:8b:01.5":{"generic":{"deviceID":"0000:8b:01.5"}}},{})"}))
      << "there is no member to add";
}

}  // namespace
}  // namespace cardcage
