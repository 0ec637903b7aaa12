// Addresses from an IPAM plugin: Debian's host-local, and scripts that fail as plugins do.
#include <fstream>

#include "modules/nic/ipam.h"
#include "tests/fakes/network_namespace.h"
#include "tests/fakes/pod_namespace.h"
#include "tests/nic/nic_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kHostLocal = "/usr/lib/cni/host-local";

class NicIpam : public NicFixture {
 protected:
  void SetUp() override {
    if (!node.works()) GTEST_SKIP() << "no network namespace can be made here";
    for (const char* name : {"nic0", "nic1"}) {
      const std::string mac = fmt::format("02:00:00:00:00:1{}", name[3]);
      ASSERT_TRUE(node.ip(fmt::format("link add {} address {} type veth peer name {}p", name, mac, name)));
      ASSERT_TRUE(node.ip(fmt::format("link set {}p up", name)));
      tree.netdev(name);
      tree.netdev_attribute(name, "address", mac);
    }
    programs = {kHostLocal, folder / "plugin"};
    ASSERT_TRUE(start({{"interfaces", std::vector<std::string>{"nic*"}}}));
  }
  // A script that serves as the plugin "plugin".
  void write_plugin(const std::string& script) {
    std::ofstream(folder / "plugin") << "#!/bin/sh\n" << script << "\n" << std::flush;
    fs::permissions(folder / "plugin", fs::perms::owner_all);
  }
  // "host-local" has room for the addresses 10.9.8.2 to 10.9.8.3.
  std::string config_of(const std::string& plugin) const {
    return fmt::format(
        R"({{"name":"storage","ipam":{{"type":"{}","dataDir":"{}","ranges":[[{{"subnet":"10.9.8.0/29","rangeEnd":"10.9.8.3",)"
        R"("gateway":"10.9.8.1"}}]],"routes":[{{"dst":"10.0.0.0/8"}},{{"dst":"10.20.0.0/16","gw":"10.9.8.6"}}]}}}})",
        plugin, (folder / "leases").native());
  }
  ModuleClaim claim_with(const std::string& uid, const std::string& config, const std::string& device = "nic-nic0") {
    std::string escaped;
    for (const char c : config) escaped += c == '"' ? std::string("\\\"") : std::string(1, c);
    return claim_of(uid, {device}, R"("ipam":{"mode":"Delegate","config":")" + escaped + "\"}", "NicConfig",
                    ConfigSource::kClass);
  }
  static std::vector<std::string> addresses_in(const Result<PreparedEdits>& prepared) {
    EXPECT_TRUE(prepared) << prepared.error().message;
    return prepared ? prepared->statements.at(0).network->ips : std::vector<std::string>();
  }
  std::string refusal(const std::string& config) {
    ModuleClaim made = claim_with("u9", config);
    const auto prepared = prepare(made);
    return prepared ? "prepared" : prepared.error().message;
  }
  // The addresses that host-local has noted as taken.
  std::vector<std::string> taken() const {
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(folder / "leases/storage"))
      if (const std::string name = file.path().filename(); name.starts_with("10.")) names.push_back(name);
    std::ranges::sort(names);
    return names;
  }

  NetworkNamespace node;
};
INSTANTIATE_TEST_SUITE_P(Isolation, NicIpam, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NicIpam, ThePodHasTheAddressAndTheRoutesUntilTheClaimEnds) {
  ModuleClaim first = claim_with("u1", config_of("host-local")),
              second = claim_with("u2", config_of("host-local"), "nic-nic1");
  EXPECT_THAT(addresses_in(prepare(first)), ElementsAre("10.9.8.2/29"));
  EXPECT_THAT(addresses_in(prepare(second)), ElementsAre("10.9.8.3/29"));
  EXPECT_THAT(addresses_in(prepare(first)), ElementsAre("10.9.8.2/29")) << "for the next container";
  EXPECT_THAT(taken(), ElementsAre("10.9.8.2", "10.9.8.3"));
  const PodNamespace pod;
  const Status attached = run(module->call(AttachCall{first, pod.pod()}, soon()));
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_TRUE(pod.ip_says("address show nic0", "10.9.8.2/29"));
  EXPECT_TRUE(pod.ip_says("route show", "10.0.0.0/8 via 10.9.8.1 dev nic0"));
  EXPECT_TRUE(pod.ip_says("route show", "10.20.0.0/16 via 10.9.8.6 dev nic0"));
  ASSERT_TRUE(run(module->call(DetachCall{first, pod.pod()}, soon())));
  ASSERT_TRUE(unprepare(first));
  EXPECT_FALSE(node.ip("address show dev nic0 | grep -q 10.9.8.2"));
  EXPECT_THAT(taken(), ElementsAre("10.9.8.3"));
  EXPECT_TRUE(unprepare(first)) << "again";
  ASSERT_TRUE(unprepare(second));
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_P(NicIpam, AnUnfinishedPrepareKeepsNoAddress) {
  ModuleClaim killed = claim_with("u1", config_of("host-local"));
  EXPECT_THAT(addresses_in(prepare(killed)), ElementsAre("10.9.8.2/29"));
  killed.state.clear();  // the daemon ended before it had the state
  EXPECT_THAT(addresses_in(prepare(killed)), ElementsAre("10.9.8.3/29"))
      << "host-local gives each address once a round";
  EXPECT_THAT(taken(), ElementsAre("10.9.8.3"));
  killed.state.clear();
  ASSERT_TRUE(unprepare(killed));
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_P(NicIpam, AnAddressIsGivenBackAfterAReboot) {
  ModuleClaim claimed = claim_with("u1", config_of("host-local"));
  EXPECT_THAT(addresses_in(prepare(claimed)), ElementsAre("10.9.8.2/29"));
  claimed.other_boot = true;
  claimed.journal.clear();
  ASSERT_TRUE(unprepare(claimed));
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_P(NicIpam, AFailureOfThePluginIsExplained) {
  ModuleClaim first = claim_with("u1", config_of("host-local")), second = claim_with("u2", config_of("host-local"));
  EXPECT_TRUE(prepare(first) && prepare(second));
  EXPECT_THAT(refusal(config_of("host-local")),
              HasSubstr("the IPAM plugin 'host-local' of interface 'nic0' gave no address: failed to allocate for "
                        "range 0: no IP addresses available in range set: 10.9.8.1-10.9.8.3"));
  EXPECT_THAT(refusal(config_of("static")), AllOf(HasSubstr("may not run 'static'"), HasSubstr("the key programs")));
  const std::string plugin = config_of("plugin");
  write_plugin("echo 'cannot open the database' >&2; exit 3");
  EXPECT_THAT(refusal(plugin), HasSubstr("of interface 'nic0' gave no address: cannot open the database"));
  write_plugin("exit 1");
  EXPECT_THAT(refusal(plugin), HasSubstr("gave no address: it printed nothing"));
  write_plugin("kill -SEGV $$");
  EXPECT_THAT(refusal(plugin), HasSubstr("gave no address: signal 11 ended it"));
  for (const char* printed :
       {"", "[]", "{}", R"({"ips":[]})", R"({"ips":{"address":"10.0.0.1/8"}})", R"({"ips":[5]})"}) {
    write_plugin(fmt::format("echo '{}'", printed));
    EXPECT_THAT(refusal(plugin), HasSubstr("its result has no 'ips'")) << printed;
  }
  write_plugin(R"(echo '{"ips":[{"address":"ten"}]}')");
  EXPECT_THAT(refusal(plugin), HasSubstr("gave the address 'ten', which is not one"));
  write_plugin("yes | head -c 9000");
  EXPECT_THAT(refusal(plugin), HasSubstr("printed more than 8 KiB"));
}

TEST_P(NicIpam, AnAddressThatIsNotTakenBackKeepsTheClaim) {
  write_plugin(
      R"(test $CNI_COMMAND = ADD || { echo '{"code":11,"msg":"try again later","details":"locked"}'; exit 1; })"
      "\n"
      R"(echo '{"ips":[{"address":"10.1.2.3/24"}]}')");
  ModuleClaim claimed = claim_with("u1", config_of("plugin"));
  EXPECT_THAT(addresses_in(prepare(claimed)), ElementsAre("10.1.2.3/24"));
  const Status failed = unprepare(claimed);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message,
              HasSubstr("'plugin' of interface 'nic0' did not take its address back: try again later; locked"));
  write_plugin("env | grep ^CNI_ > " + (folder / "env").native() + "; cat > " + (folder / "config").native());
  ASSERT_TRUE(unprepare(claimed));
  const std::string variables = read_file(folder / "env", 1000).value_or("");
  for (const char* line : {"CNI_COMMAND=DEL\n", "CNI_CONTAINERID=u1\n", "CNI_IFNAME=nic0\n", "CNI_NETNS=", "CNI_PATH="})
    EXPECT_THAT(variables, HasSubstr(line));
  EXPECT_THAT(read_file(folder / "config", 1000).value_or(""), HasSubstr(R"("cniVersion":"0.4.0")"));
}

TEST(NicIpamConfig, IsANetworkConfigurationWithAPlugin) {
  EXPECT_EQ(
      nic::network_config_from(" {\"name\": \"a\",\n\"ipam\": {\"type\": \"static\"}, \"cniVersion\": \"1.0.0\"}"),
      R"({"name":"a","ipam":{"type":"static"},"cniVersion":"1.0.0"})");
  const std::pair<const char*, const char*> refused[] = {
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {R"({"name":"a")", "not a JSON object"},
      {R"({"ipam":{"type":"static"}})", "has no name"},
      {R"({"name":5,"ipam":{"type":"static"}})", "has no name"},
      {R"({"name":"a"})", "does not name a plugin"},
      {R"({"name":"a","ipam":"static"})", "does not name a plugin"},
      {R"({"name":"a","ipam":{"type":"../bin/sh"}})", "does not name a plugin"},
  };
  for (const auto& [text, reason] : refused) try {
      nic::network_config_from(text);
      ADD_FAILURE() << text;
    } catch (const cage::Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("ipam.config: "), HasSubstr(reason), HasSubstr("host-local"))) << text;
    }
}

TEST_P(NicIpam, OnlyADeviceClassMayNameThePlugin) {
  const auto refused = decode_params(
      module->identity(), ConfigSource::kClaim,
      R"({"apiVersion":"nic.cardcage.dev/v1alpha1","kind":"NicConfig","ipam":{"mode":"Delegate","config":"{}"}})");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("ipam.config"));
  ModuleClaim made = claim_of("u1", {"nic-nic0"}, R"("ipam":{"mode":"Delegate"})", "NicConfig");
  const auto prepared = prepare(made);
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message, HasSubstr("needs ipam.config in the DeviceClass"));
}

}  // namespace
}  // namespace cardcage
