// cagectl import sriov: configurations of the SR-IOV network device plugin, and other files. The output is parsed as by
// the daemon, and serves devices as the module describes them.
#include <gmock/gmock.h>

#include "host/config/config.h"
#include "host/serving/select.h"
#include "tests/unit/ctl/cagectl_process.h"
#include "tests/unit/ctl/golden.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Ended import_sriov(const std::string& text, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"import", "sriov", "-"});
  return run_cagectl(more, text);
}

std::string resource_with(const std::string& selectors) {
  return R"({"resourceList": [{"resourceName": "r", "selectors": )" + selectors + "}]}";
}

// The rules of the only module.
std::vector<ServeConfig> read_rules(const std::string& toml) {
  const auto config = parse_config(toml, "made.toml", [](const std::string& name) {
    return name == "NODE_NAME" ? std::optional<std::string>("node1") : std::nullopt;
  });
  EXPECT_TRUE(config) << config.error().to_string() << toml;
  return config && config->modules.size() == 1 ? config->modules.front().serve : std::vector<ServeConfig>();
}

Select select_of(const std::string& selectors) {
  const Ended ended = import_sriov(resource_with(selectors));
  const auto rules = read_rules(ended.out);
  EXPECT_EQ(rules.size(), 1u) << ended.err;
  return rules.empty() ? Select() : rules.front().select;
}

using NicAttributes = std::map<std::string, AttributeValue>;

// A function as modules/nic/devices.cc describes it.
Device function(const std::string& kind, const std::string& address, NicAttributes attributes) {
  Device device{.id = address, .kind = kind, .pci_bus_id = address};
  attributes.emplace("type", kind);
  attributes.emplace("rdma", false);
  for (const auto& [name, value] : attributes) device.attributes[name] = value;
  return device;
}

// A virtual function of the card ens1f0.
Device virtual_function(std::int64_t number, NicAttributes more = {}) {
  more.insert({{"vendor", "0x15b3"}, {"device", "0x101e"}, {"driver", "mlx5_core"}, {"encapsulation", "ether"}});
  more.insert({{"pfName", "ens1f0"}, {"pfPciAddress", "0000:01:00.0"}, {"vfIndex", number}});
  return function("vf", fmt::format("0000:01:10.{}", number), more);
}

Device card(NicAttributes more = {}) {
  more.insert({{"vendor", "0x15b3"}, {"device", "0x101d"}, {"driver", "mlx5_core"}, {"ifName", "ens1f0"}});
  return function("pf", "0000:01:00.0", more);
}

bool is_selected(const std::string& selectors, const Device& device) { return matches(select_of(selectors), device); }

std::string resource_for(const Device& device, const std::vector<ServeConfig>& rules) {
  const auto rule = std::ranges::find_if(rules, [&](const auto& each) { return matches(each.select, device); });
  return rule == rules.end() ? "" : rule->resource;
}

TEST(ImportSriovTest, WritesTheGoldenConfiguration) {
  const auto input = read_file(source_folder() / "tests/golden/ctl/import_sriov.yaml", 100'000).value();
  const Ended ended = import_sriov(input);
  EXPECT_EQ(ended.code, 4) << ended.err;
  expect_golden("import_sriov.toml", ended.out);
  expect_golden("import_sriov.err", ended.err);
}

TEST(ImportSriovTest, TheGoldenConfigurationServesTheDevicesOfThePlugin) {
  const auto rules = read_rules(read_file(source_folder() / "tests/golden/ctl/import_sriov.toml", 100'000).value());
  const auto intel = [](const std::string& device, const std::string& driver) {
    return function("vf", "0000:3b:02.0", {{"vendor", "0x8086"}, {"device", device}, {"driver", driver}});
  };
  EXPECT_EQ(resource_for(intel("0x154c", "i40evf"), rules), "intel.com/intel_sriov_netdevice");
  EXPECT_EQ(resource_for(intel("0x10ed", "ixgbevf"), rules), "intel.com/intel_sriov_netdevice");
  EXPECT_EQ(resource_for(intel("0x10ed", "vfio-pci"), rules), "intel.com/all");
  for (const auto& [number, resource] : std::map<std::int64_t, std::string>{{0, "example.com/mlnx_rdma"},
                                                                            {1, "intel.com/all"},
                                                                            {2, "example.com/mlnx_rdma"},
                                                                            {3, "example.com/mlnx_rdma"},
                                                                            {4, "intel.com/all"}})
    EXPECT_EQ(resource_for(virtual_function(number, {{"rdma", true}}), rules), resource) << number;
  EXPECT_EQ(resource_for(virtual_function(0), rules), "intel.com/all") << "without RDMA";
  EXPECT_EQ(resource_for(virtual_function(7, {{"rdma", true}, {"pfName", "ens2f0"}}), rules), "example.com/mlnx_rdma");
  EXPECT_EQ(resource_for(card({{"rdma", true}, {"ifName", "ens2f0"}}), rules), "intel.com/all");
  EXPECT_EQ(resource_for(card({{"rdma", true}}), rules), "intel.com/all");
  EXPECT_EQ(
      resource_for(virtual_function(5, {{"pfPciAddress", "0000:86:00.0"}, {"encapsulation", "infiniband"}}), rules),
      "example.com/mlnx_rdma");
  EXPECT_EQ(resource_for(function("pf", "0000:02:00.0", {{"driver", "vfio-pci"}}), rules), "intel.com/dpdk");
  EXPECT_EQ(resource_for(virtual_function(0, {{"driver", "iavf"}, {"pfName", "ens4f0"}}), rules),
            "intel.com/vdpa_or_port");
}

TEST(ImportSriovTest, TheDocumentationShowsWhatIsWritten) {
  const std::string doc = read_file(source_folder() / "docs/nic.md", 1'000'000).value();
  const auto block = [&](const std::string& start) {
    const auto at = doc.find(start);
    EXPECT_NE(at, std::string::npos) << start;
    const auto begin = doc.find('\n', at) + 1;
    return at == std::string::npos ? "" : doc.substr(begin, doc.find("```", begin) - begin);
  };
  const auto written = read_rules(import_sriov(block("```json\n{\"resourceList\"")).out);
  const auto shown =
      read_rules("[node]\nname = \"n\"\n[[module]]\nname = \"nic\"\npath = \"libcardcage_nic.so\"\n" +
                 block("```toml\n[[module.serve]]\napi = \"device-plugin\"\nresource = \"intel.com/fast\""));
  EXPECT_EQ(written, shown);
  EXPECT_EQ(shown.size(), 1u);
}

TEST(ImportSriovTest, ADeviceMustMatchOneValueOfEachSelector) {
  const std::string selectors = R"({"vendors": ["8086", "15b3"], "drivers": ["igbvf", "mlx5_core"]})";
  EXPECT_THAT(select_of(selectors), ElementsAre(SelectTable{{"attributes.vendor", {"0x8086", "0x15b3"}},
                                                            {"attributes.driver", {"igbvf", "mlx5_core"}}}));
  EXPECT_TRUE(is_selected(selectors, card()));
  EXPECT_FALSE(is_selected(selectors, card({{"driver", "vfio-pci"}})));
  EXPECT_FALSE(is_selected(selectors, card({{"vendor", "0x1d0f"}})));
  EXPECT_EQ(read_rules(import_sriov(resource_with(selectors)).out).at(0).resource, "intel.com/r")
      << "the default prefix";
}

TEST(ImportSriovTest, EachSelectorSelects) {
  const Device device = virtual_function(3, {{"rdma", true}, {"acpiIndex", std::int64_t{3}}});
  for (const std::string selected :
       {R"({"devices": ["101e"]})", R"({"pciAddresses": ["0000:01:10.3"]})", R"({"pfNames": ["ens1f0"]})",
        R"({"rootDevices": ["0000:01:00.0"]})", R"({"rootDevices": ["0000:01:00.0#0,2-7"]})",
        R"({"linkTypes": ["infiniband", "ether"]})", R"({"isRdma": true})", R"({"isRdma": false})",
        R"({"acpiIndexes": ["101", "3"]})", R"({"vendors": [], "drivers": []})",
        R"([{"vendors": ["8086"]}, {"vendors": ["15b3"]}])"})
    EXPECT_TRUE(is_selected(selected, device)) << selected;
  for (const std::string other : {R"({"devices": ["101d"]})", R"({"pciAddresses": ["0000:01:10.4"]})",
                                  R"({"pfNames": ["ens1f1", "ens1"]})", R"({"rootDevices": ["0000:02:00.0"]})",
                                  R"({"rootDevices": ["0000:01:00.0#0,2,4-7"]})", R"({"linkTypes": ["infiniband"]})",
                                  R"({"acpiIndexes": ["4"]})", R"([{"vendors": ["8086"]}, {"devices": ["101d"]}])",
                                  R"({"pfNames": ["ens1f0"], "rootDevices": ["0000:02:00.0"]})"})
    EXPECT_FALSE(is_selected(other, device)) << other;
  EXPECT_FALSE(is_selected(R"({"isRdma": true})", virtual_function(3)));
}

TEST(ImportSriovTest, RangesNameVirtualFunctions) {
  const std::string selectors = R"([{"pfNames": ["ens1f0#1,3-4"]}])";
  EXPECT_THAT(select_of(selectors),
              ElementsAre(SelectTable{{"attributes.driver", {"*"}},
                                      {"attributes.pfName", {"ens1f0"}},
                                      {"attributes.vfIndex", {std::int64_t{1}, std::int64_t{3}, std::int64_t{4}}}}));
  EXPECT_FALSE(is_selected(selectors, card())) << "a card has no number";
  for (const std::string range : {"#", "#x", "#3-1", "#1-", "#-1", "#1,", "#,1", "#1#2", "#4096", "#99999999999"}) {
    const Ended ended = import_sriov(resource_with(R"({"pfNames": ["e)" + range + R"("]})"));
    EXPECT_EQ(ended.code, 1) << range;
    EXPECT_THAT(ended.err, HasSubstr("does not end in numbers of virtual functions")) << range;
  }
}

// As the plugin does since version 3.5.
TEST(ImportSriovTest, ACardWithoutVirtualFunctionsIsNotSelectedByItsName) {
  for (const std::string selectors : {R"({"pfNames": ["ens1f0"]})", R"({"rootDevices": ["0000:01:00.0"]})"}) {
    EXPECT_FALSE(is_selected(selectors, card())) << selectors;
    EXPECT_TRUE(is_selected(selectors, virtual_function(0))) << selectors;
  }
  EXPECT_FALSE(is_selected(R"({"pfNames": ["ens1f0"]})", virtual_function(0, {{"pfName", "x"}, {"ifName", "ens1f0"}})));
}

// Both are translated to the condition vfIndex.
TEST(ImportSriovTest, NumbersOfNamesAndOfAddressesMustBothMatch) {
  const std::string selectors = R"({"pfNames": ["ens1f0#0-3"], "rootDevices": ["0000:01:00.0#2-5"]})";
  for (const auto& [number, selected] :
       {std::pair(1, false), std::pair(2, true), std::pair(3, true), std::pair(4, false)})
    EXPECT_EQ(is_selected(selectors, virtual_function(number)), selected) << number;
  const Ended none = import_sriov(resource_with(R"({"pfNames": ["ens1f0#0"], "rootDevices": ["0000:01:00.0#1"]})"));
  EXPECT_EQ(none.code, 4);
  EXPECT_THAT(none.err, HasSubstr("no device can match it and the selectors before it"));
}

TEST(ImportSriovTest, TheFirstEntryForACardCounts) {
  for (const std::string selectors :
       {R"({"pfNames": ["ens1f0#0", "ens1f0#2"]})", R"({"pfNames": ["ens1f0#0", "ENS1F0"]})"}) {
    EXPECT_TRUE(is_selected(selectors, virtual_function(0))) << selectors;
    EXPECT_FALSE(is_selected(selectors, virtual_function(2))) << selectors;
  }
  EXPECT_TRUE(is_selected(R"({"pfNames": ["ens1f0", "ens1f0#2"]})", virtual_function(0)));
  EXPECT_THAT(import_sriov(resource_with(R"({"pfNames": ["ens1f0#0", "ens1f0#2"]})")).err,
              HasSubstr("pfNames: note: the plugin uses the first entry for 'ens1f0' alone"));
}

TEST(ImportSriovTest, FunctionsWithoutADriverAreNotThePlugins) {
  Device bare = virtual_function(0);
  NicAttributes attributes;
  for (const auto& [name, value] : bare.attributes)
    if (name != "driver") attributes.emplace(name, value);
  const Device without = function("vf", "0000:01:10.0", attributes);
  for (const std::string selectors : {R"({"vendors": ["15b3"]})", "{}"}) {
    EXPECT_TRUE(is_selected(selectors, bare)) << selectors;
    EXPECT_FALSE(is_selected(selectors, without)) << selectors;
  }
}

TEST(ImportSriovTest, TheCaseOfKeysDoesNotMatter) {
  const Ended ended = import_sriov(
      R"({"ResourceList": [{"RESOURCENAME": "r", "Selectors": {"IsRdma": true, "PfNames": ["ens1f0"]}}]})");
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto rules = read_rules(ended.out);
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_TRUE(matches(rules[0].select, virtual_function(0, {{"rdma", true}})));
  EXPECT_FALSE(matches(rules[0].select, virtual_function(0)));
}

TEST(ImportSriovTest, AddressesOfFunctionsAndOfCardsMustBothMatch) {
  const std::string selectors =
      R"({"pciAddresses": ["0000:01:00.0", "0000:01:10.0", "0000:02:00.0"], "rootDevices": ["0000:01:00.0"]})";
  EXPECT_TRUE(is_selected(selectors, virtual_function(0)));
  EXPECT_FALSE(is_selected(selectors, card()));
  EXPECT_FALSE(is_selected(selectors, virtual_function(1)));
  EXPECT_FALSE(is_selected(selectors, function("pf", "0000:02:00.0", {})));
}

TEST(ImportSriovTest, NamesOfCardsMatchWholeWhateverTheirCase) {
  EXPECT_TRUE(is_selected(R"({"pfNames": ["ENS1F0"]})", virtual_function(0)));
  EXPECT_TRUE(is_selected(R"({"pfNames": ["Ens1f0#0"]})", virtual_function(0)));
  EXPECT_TRUE(
      is_selected(R"({"rootDevices": ["0000:0A:00.0"]})", virtual_function(0, {{"pfPciAddress", "0000:0a:00.0"}})));
  for (const std::string name : {"ens1", "ens.*", "ens1f0np0", "ens1f?"})
    EXPECT_FALSE(is_selected(R"({"pfNames": [")" + name + R"("]})", virtual_function(0))) << name;
}

TEST(ImportSriovTest, SpecialCharactersOfPatternsAreOrdinary) {
  EXPECT_TRUE(is_selected(R"({"drivers": ["a*[b]\\"]})", card({{"driver", R"(a*[b]\)"}})));
  EXPECT_FALSE(is_selected(R"({"drivers": ["m*"]})", card()));
}

TEST(ImportSriovTest, WhatSelectsNothingIsNamed) {
  for (const auto& [selectors, message] : std::vector<std::pair<std::string, std::string>>{
           {R"({"vendors": ["15B3"]})", "vendors: note: '15B3' selects no device, as in the plugin, which compares it"},
           {R"({"pciAddresses": ["3b:02.0"]})", "which compares it with full addresses in lower case"},
           {R"({"linkTypes": ["ieee802.11"]})",
            "linkTypes: no counterpart: 'ieee802.11' selects no device: the links that can be selected are ether "
            "and"}}) {
    const Ended ended = import_sriov(resource_with(selectors));
    EXPECT_EQ(ended.code, 4) << selectors;
    EXPECT_THAT(ended.err, HasSubstr(message)) << selectors;
    EXPECT_THAT(ended.out, Not(HasSubstr("[[module.serve]]"))) << selectors;
  }
}

TEST(ImportSriovTest, SelectorsThatCannotBeTranslatedAreLeftOut) {
  for (const std::string selector :
       {R"("ddpProfiles": ["GTP"])", R"("pKeys": ["0x1"])", R"("vdpaType": "vhost")", R"("vdpaType": "virtio")"}) {
    const std::string name = selector.substr(1, selector.find('"', 1) - 1);
    const std::string object = R"({"vendors": ["15b3"], )" + selector + "}";
    const Ended alone = import_sriov(resource_with(object));
    EXPECT_EQ(alone.code, 4) << selector;
    EXPECT_THAT(alone.out, Not(HasSubstr("[[module.serve]]"))) << selector;
    EXPECT_THAT(alone.err, HasSubstr("resourceList[0].selectors." + name +
                                     ": no counterpart: devices cannot be "
                                     "selected by this, so these selectors are left out"));
    EXPECT_THAT(alone.err, HasSubstr("resourceList[0].resourceName: no counterpart: none of its selectors is left"));
    const Ended beside = import_sriov(resource_with("[" + object + R"(, {"vendors": ["8086"]}])"));
    EXPECT_EQ(beside.code, 4) << selector;
    EXPECT_THAT(read_rules(beside.out).at(0).select,
                ElementsAre(SelectTable{{"attributes.driver", {"*"}}, {"attributes.vendor", {"0x8086"}}}));
  }
}

TEST(ImportSriovTest, WhatContainersLackIsNamed) {
  const Ended ended = import_sriov(
      R"({"resourceList": [{"resourceName": "r", "excludeTopology": true, "additionalInfo": {"*": {"a": "b"}},
          "selectors": {"needVhostNet": true, "drivers": ["uio_pci_generic"], "auxTypes": ["sf"]}}]})");
  EXPECT_EQ(ended.code, 4);
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("excludeTopology: no counterpart"), HasSubstr("additionalInfo: no counterpart"),
                    HasSubstr("needVhostNet: no counterpart"), Not(HasSubstr("uio_pci_generic"))));
  EXPECT_THAT(ended.out, HasSubstr("auxTypes: without effect"));
  EXPECT_EQ(import_sriov(R"({"resourceList": [{"resourceName": "r", "excludeTopology": false,
                       "selectors": {"needVhostNet": false, "vdpaType": ""}}]})")
                .code,
            0);
}

TEST(ImportSriovTest, OtherTypesOfDevicesAreLeftOut) {
  for (const std::string type : {"accelerator", "auxNetDevice"}) {
    const Ended ended = import_sriov(R"({"resourceList": [{"resourceName": "r", "deviceType": ")" + type +
                                     R"(", "selectors": {"auxTypes": ["sf"]}}]})");
    EXPECT_EQ(ended.code, 4);
    EXPECT_THAT(ended.out, Not(HasSubstr("[[module.serve]]")));
    EXPECT_THAT(ended.err, HasSubstr("resourceList[0].deviceType: no counterpart: the module offers PCI network"));
  }
}

TEST(ImportSriovTest, NothingIsLeftBehindAResourceThatTakesEveryDevice) {
  const Ended ended = import_sriov(
      R"({"resourceList": [{"resourceName": "all", "selectors": [{"vendors": ["8086"]}, {}]}, {"resourceName": "late", "selectors": {}}]})");
  EXPECT_EQ(ended.code, 0);
  const auto rules = read_rules(ended.out);
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_THAT(rules[0].select, ElementsAre(SelectTable{{"attributes.driver", {"*"}}}));
  EXPECT_THAT(ended.err, HasSubstr("resourceList[1].resourceName: note: 'intel.com/all' before it takes every device"));
}

TEST(ImportSriovTest, AKeyOfTheConfigMapMayBeChosen) {
  const std::string map =
      "kind: ConfigMap\ndata:\n  node1: '{\"resourceList\": [{\"resourceName\": \"one\", \"selectors\": {}}]}'\n"
      "  node2: '{\"resourceList\": [{\"resourceName\": \"two\", \"selectors\": {}}]}'\n";
  EXPECT_THAT(import_sriov(map).err, HasSubstr("choose one with --config: node1, node2"));
  EXPECT_THAT(import_sriov(map, {"--config", "node2"}).out,
              AllOf(HasSubstr("intel.com/two"), Not(HasSubstr("intel.com/one"))));
  EXPECT_THAT(import_sriov(map, {"--config", "node3"}).err, HasSubstr("there is no key 'node3'"));
  EXPECT_THAT(import_sriov(resource_with("{}"), {"--config", "node1"}).err,
              HasSubstr("this file is none; leave it out"));
}

TEST(ImportSriovTest, MistakesAreErrors) {
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"version: v1", "this file has no resourceList"},
           {"", "this file has no resourceList"},
           {"- 1", "this file has no resourceList"},
           {"{a: b}, c", "a second document begins here"},
           {"kind: ConfigMap", "this ConfigMap has no data"},
           {"kind: ConfigMap\ndata: {config.json: '{'}", "data.config.json:1:"},
           {"resourceList: [{selectors: {}}]", "a resource needs a resourceName"},
           {"resourceList: {}", "resourceList: expected a list"},
           {"resourceList: [{resourceName: r, deviceType: gpu}]",
            "'gpu' is none of the values that the SR-IOV network device plugin knows"},
           {"resourceList: [{resourceName: 'a/b', selectors: {}}]", "is not"},
           {"resourceList: [{resourceName: r}]", "the plugin ends at a resource without selectors"},
           {"resourceList: [{resourceName: r, selectors: null}]", "the plugin ends at a resource without selectors"},
           {"resourceList: [{resourceName: r, selectors: {}}, {resourceName: r, selectors: {}}]",
            "'intel.com/r' is in the list twice, first as resourceList[0]"},
           {"resourceList: [{resourceName: r, selectors: {pfNames: 'e#0,2'}}]", "pfNames: expected a list of texts"},
           {"resourceList: [{resourceName: r, selectors: {drivers: ['']}}]", "drivers: a value is empty"},
           {"resourceList: [{resourceName: r, selectors: {acpiIndexes: [x]}}]", "acpiIndexes: 'x' is not a number"},
           {"resourceList: [{resourceName: r, selectors: {acpiIndexes: [101]}}]",
            "acpiIndexes: the plugin leaves a resource out that has the number 101 here; write it in quotes"},
           {"resourceList: [{resourceName: r, selectors: {drivers: [\"a\"], Drivers: [\"b\"]}}]",
            "'Drivers' and 'drivers' are one key for the plugin; remove one"},
           {"resourceList: [{resourceName: r, selectors: {vdpaType: x}}]", "'x' is none of the values"},
           {"resourceList: [{resourceName: r, selectors: []}]", "selectors: the plugin refuses an empty list"},
       }) {
    const Ended ended = import_sriov(text);
    EXPECT_EQ(ended.code, 1) << text;
    EXPECT_THAT(ended.err, HasSubstr(message)) << text;
  }
}

TEST(ImportSriovTest, TheNumberOfTablesIsBounded) {
  std::string cards, roots;
  for (int number = 0; number < 20; ++number) {
    cards += fmt::format(R"({}"ens{}f0#0-3")", number == 0 ? "" : ",", number);
    roots += fmt::format(R"({}"0000:{:02x}:00.0#0-3")", number == 0 ? "" : ",", number);
  }
  const Ended ended = import_sriov(resource_with(R"({"pfNames": [)" + cards + R"(], "rootDevices": [)" + roots + "]}"));
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("the selectors make more than 256 tables"));
}

}  // namespace
}  // namespace cardcage
