// Compares the functions that imported selectors choose with those that the SR-IOV network device plugin chooses.
// sriov_plugin.json describes a node, and its rows name the test or function of the plugin that they come from. The
// plugin's own code, run on that node, chooses what the rows say. A row whose `here` differs from `chosen` says why.
#include <boost/json.hpp>

#include "ctl/import/sriov.h"
#include "ctl/import/toml.h"
#include "host/config/config.h"
#include "host/core/file.h"
#include "host/serving/select.h"
#include "tests/fakes/source_folder.h"
#include "tests/nic/nic_fixture.h"

namespace cardcage {
namespace {

namespace json = boost::json;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::Not;
using Names = std::vector<std::string>;

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? "" : json::value_to<std::string>(*value);
}

std::int64_t number_of(const json::object& object, std::string_view key, std::int64_t otherwise) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? otherwise : value->as_int64();
}

class ImportedSelectors : public NicFixture {
 protected:
  void SetUp() override {
    const auto text = read_file(source_folder() / "tests/nic/sriov_plugin.json", 1'000'000);
    ASSERT_TRUE(text);
    table = json::parse(*text).as_object();
    for (const json::value& function : table.at("functions").as_array()) describe(function.as_object());
    ASSERT_TRUE(start());
    const SnapshotPtr found = discover();
    for (const Device& device : found->devices) offered.emplace(names_of_functions.at(device.pci_bus_id), device);
  }

  void describe(const json::object& function) {
    const std::string address = text_of(function, "address"), interface = text_of(function, "interface"),
                      group = text_of(function, "class"), card = text_of(function, "card");
    names_of_functions.emplace(address, text_of(function, "name"));
    tree.card(address, text_of(function, "driver"), group.empty() ? "0x020000" : group);
    for (const char* id : {"vendor", "device"}) tree.attribute(address, id, "0x" + text_of(function, id) + "\n");
    if (function.contains("acpi_index")) tree.attribute(address, "acpi_index", text_of(function, "acpi_index") + "\n");
    if (function.contains("rdma"))
      std::filesystem::create_directories(tree.root() / NicTree::function(address) / "infiniband" /
                                          text_of(function, "rdma"));
    if (!card.empty()) {
      tree.virtual_function(card, static_cast<unsigned>(function.at("number").as_int64()), address);
      tree.attribute(card, "sriov_numvfs", "8\n");
    }
    if (interface.empty()) return;
    describe_interface(function, address, interface);
    if (function.contains("in_pod")) tree.move_away(interface, address);
  }

  void describe_interface(const json::object& function, const std::string& address, const std::string& interface) {
    tree.netdev(interface, address);
    tree.netdev_attribute(interface, "type", std::to_string(number_of(function, "type", 1)));
    const std::string port = text_of(function, "port"), representor = text_of(function, "representor");
    if (port.empty()) return;
    tree.netdev(representor, address);
    for (const auto& [name, port_name] : {std::pair(interface, port), std::pair(representor, std::string("pf0vf0"))}) {
      tree.netdev_attribute(name, "phys_switch_id", "5e8d4b0003a1420c");
      tree.netdev_attribute(name, "phys_port_name", port_name);
    }
  }

  // Returns the rules that the import writes. Nothing if it refuses the document.
  static std::optional<std::vector<ServeConfig>> import_list(const json::array& resources) {
    const std::string document = json::serialize(json::object{{"resourceList", resources}});
    const auto read = read_yaml(document, "config.json");
    if (!read) return std::nullopt;
    ImportRecord record("config.json", "the plugin");
    const ImportDraft draft = import_sriov(*read, "", record);
    if (record.failed()) return std::nullopt;
    const auto config = parse_config(render_toml("", draft.tables, record.settings()), "made.toml",
                                     [](const std::string&) { return std::optional<std::string>("node1"); });
    EXPECT_TRUE(config) << config.error().to_string() << document;
    if (!config || config->modules.empty()) return std::vector<ServeConfig>();
    return config->modules.front().serve;
  }

  // Returns the functions that go to the resource: its rule is the first that selects them.
  Names taken_by(const std::string& resource, const std::vector<ServeConfig>& rules) const {
    Names taken;
    for (const auto& [name, device] : offered) {
      const auto first = std::ranges::find_if(rules, [&](const auto& rule) { return matches(rule.select, device); });
      if (first != rules.end() && first->resource == resource) taken.push_back(name);
    }
    return taken;
  }

  json::object table;
  std::map<std::string, std::string> names_of_functions;  // by PCI address
  std::map<std::string, Device> offered;                  // by the names of the table
};
INSTANTIATE_TEST_SUITE_P(Isolation, ImportedSelectors, ::testing::Values(Isolation::kInProcess), name_of_isolation);

TEST_P(ImportedSelectors, SelectAsThePluginDoes) {
  const json::array& rows = table.at("rows").as_array();
  EXPECT_GE(rows.size(), 60u);
  for (const json::value& value : rows) {
    const json::object& row = value.as_object();
    const json::value& wanted = row.contains("here") ? row.at("here") : row.at("chosen");
    if (row.contains("here")) {
      EXPECT_THAT(text_of(row, "why"), Not(IsEmpty())) << value;
    }
    const auto rules = import_list({{{"resourceName", "r"}, {"selectors", row.at("selectors")}}});
    EXPECT_EQ(rules.has_value(), wanted != "refused") << value;
    if (!rules || wanted == "refused") continue;
    EXPECT_THAT(taken_by("intel.com/r", *rules), ElementsAreArray(json::value_to<Names>(wanted))) << value;
  }
}

TEST_P(ImportedSelectors, GoToTheFirstResourceThatSelectsThem) {
  for (const json::value& value : table.at("lists").as_array()) {
    const json::object& list = value.as_object();
    const auto rules = import_list(list.at("resourceList").as_array());
    ASSERT_TRUE(rules) << value;
    for (const auto& [resource, functions] : list.at("chosen").as_object())
      EXPECT_THAT(taken_by("intel.com/" + std::string(resource), *rules),
                  ElementsAreArray(json::value_to<Names>(functions)))
          << resource << " of " << value;
  }
}

TEST_P(ImportedSelectors, ChooseAmongTheFunctionsThatThePluginHas) {
  Names all;
  for (const auto& [name, device] : offered) all.push_back(name);
  std::erase(all, "a3");  // has no driver
  const json::array& rows = table.at("rows").as_array();
  const auto* const every = std::ranges::find_if(
      rows, [](const json::value& row) { return row.as_object().at("selectors") == json::object{}; });
  ASSERT_NE(every, rows.end());
  EXPECT_THAT(all, ElementsAreArray(json::value_to<Names>(every->as_object().at("chosen"))));
}

}  // namespace
}  // namespace cardcage
