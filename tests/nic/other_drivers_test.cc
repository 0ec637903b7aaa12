// Tests parameters that were written for dranet and dra-driver-sriov: their effects, and their errors.
// other_drivers.json has documents of both projects, with the file of the project that each comes from.
#include <boost/json.hpp>

#include "host/core/file.h"
#include "tests/fakes/network_namespace.h"
#include "tests/fakes/pod_namespace.h"
#include "tests/fakes/source_folder.h"
#include "tests/nic/nic_fixture.h"

namespace cardcage {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;
using Texts = std::vector<std::string>;

const std::string kFunction = "0000:41:00.0";

Texts texts_of(const json::object& row, std::string_view key) {
  const json::value* value = row.if_contains(key);
  return value == nullptr ? Texts() : json::value_to<Texts>(*value);
}

class OtherDrivers : public NicFixture {
 protected:
  void SetUp() override {
    if (!node.works()) GTEST_SKIP() << "no network namespace can be made here";
    ASSERT_TRUE(node.ip("link add nic0 address 02:00:00:00:00:10 type veth peer name peer0"));
    ASSERT_TRUE(node.ip("link set peer0 up"));
    ASSERT_TRUE(node.ip("address add 192.0.2.7/24 dev nic0"));
    tree.netdev("nic0");
    tree.netdev_attribute("nic0", "address", "02:00:00:00:00:10");
    tree.card(kFunction, "vfio-pci");
    tree.iommu_group(kFunction, "23");
    programs = {"/usr/lib/cni/dhcp"};
    ASSERT_TRUE(start({{"interfaces", Texts{"nic*"}}}));
  }
  // Returns the claim with only this document, or why its parameters are refused.
  Result<ModuleClaim> claim_with(const json::object& row) {
    const bool is_function = row.contains("device");
    ModuleClaim made = claim("u1", {});
    const Device found = device(is_function ? "nic-0000-41-00-0" : "nic-nic0");
    const ConfigSource source = row.contains("source") ? ConfigSource::kClass : ConfigSource::kClaim;
    const auto decoded = decode_params(module->identity(), source, json::serialize(row.at("parameters")));
    if (!decoded) return std::unexpected(decoded.error());
    auto values = resolve_params(module->identity(), found.kind, {*decoded});
    if (!values) return std::unexpected(values.error());
    auto& allocation = made.allocations.emplace_back();
    allocation.device_id = found.id;
    allocation.request = "main";
    allocation.values = std::move(*values);
    return made;
  }
  Result<PreparedEdits> prepared(const json::object& row) {
    auto made = claim_with(row);
    if (!made) return std::unexpected(made.error());
    claimed = std::move(*made);
    return prepare(claimed);
  }
  // Expects lines such as "route show table 100: default via 10.1.2.1": a command of ip(8), and its output in the pod.
  void expect_in_pod(const Texts& lines) {
    const PodNamespace pod;
    const Status attached = run(module->call(AttachCall{claimed, pod.pod()}, soon()));
    ASSERT_TRUE(attached) << attached.error().message;
    for (const std::string& line : lines) {
      const auto colon = line.find(": ");
      EXPECT_TRUE(pod.ip_says(line.substr(0, colon), line.substr(colon + 2))) << line;
    }
    EXPECT_TRUE(run(module->call(DetachCall{claimed, pod.pod()}, soon())));
  }

  NetworkNamespace node;
  ModuleClaim claimed;
};
INSTANTIATE_TEST_SUITE_P(Isolation, OtherDrivers, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(OtherDrivers, DocumentsMeanTheSameOrAreRefusedWithTheirPath) {
  const auto text = read_file(source_folder() / "tests/nic/other_drivers.json", 1'000'000);
  ASSERT_TRUE(text);
  const json::value rows = json::parse(*text);
  for (const json::value& value : rows.as_array()) {
    const json::object& row = value.as_object();
    SCOPED_TRACE(json::serialize(value));
    const auto edits = prepared(row);
    if (const json::value* path = row.if_contains("refused"); path != nullptr) {
      ASSERT_FALSE(edits);
      EXPECT_EQ(edits.error().code, Code::kInvalidArgument);
      EXPECT_THAT(edits.error().message, HasSubstr(json::value_to<std::string>(*path)));
      continue;
    }
    if (row.contains("binds")) {
      ASSERT_FALSE(edits) << "the configuration allows no writes";
      EXPECT_THAT(edits.error().message, HasSubstr("/sys/bus/pci/devices/" + kFunction + "/driver_override"));
      continue;
    }
    ASSERT_TRUE(edits) << edits.error().message;
    if (row.contains("nodes")) {
      Texts nodes;
      for (const DeviceNode& given : edits->allocations.at(0).device_nodes) nodes.push_back(given.path);
      EXPECT_THAT(nodes, UnorderedElementsAreArray(texts_of(row, "nodes")));
    }
    if (row.contains("pod")) expect_in_pod(texts_of(row, "pod"));
    EXPECT_TRUE(unprepare(claimed));
  }
}

TEST_P(OtherDrivers, OneForMultusStaysOnTheNodeAlsoWhileItsPluginHasIt) {
  const json::object row{{"parameters", {{"interface", {{"movedBy", "Multus"}}}}}};
  const auto edits = prepared(row);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(edits->statements, IsEmpty());
  const PodNamespace pod;
  ASSERT_TRUE(run(module->call(AttachCall{claimed, pod.pod()}, soon())));
  EXPECT_TRUE(node.ip("link show nic0"));
  tree.card("0000:42:00.0");
  tree.netdev("nic1", "0000:42:00.0");
  auto made = claim_with(row);
  ASSERT_TRUE(made);
  made->allocations.at(0).device_id = device("nic-0000-42-00-0").id;
  ASSERT_TRUE(prepare(*made));
  tree.move_away("nic1", "0000:42:00.0");
  EXPECT_TRUE(prepare(*made)) << "for the next container";
  EXPECT_TRUE(unprepare(*made));
  const auto named = prepared({{"parameters", {{"interface", {{"movedBy", "Multus"}, {"name", "net1"}}}}}});
  ASSERT_FALSE(named);
  EXPECT_THAT(named.error().message, HasSubstr("a CNI plugin names and configures the interface"));
}

}  // namespace
}  // namespace cardcage
