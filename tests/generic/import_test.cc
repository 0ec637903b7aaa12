// cagectl import generic-device-plugin and smarter-device-manager: the output is parsed as by the daemon, and the
// module offers the devices.
#include "ctl/import/device_nodes.h"
#include "ctl/import/toml.h"
#include "host/config/config.h"
#include "host/serving/select.h"
#include "tests/generic/generic_fixture.h"

namespace cardcage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Import = ImportDraft (*)(const YamlNode&, const std::string&, ImportRecord&);

class GenericImport : public GenericFixture {
 protected:
  // Imports the text, and starts the module as the result says.
  void start_imported(Import import, const std::string& text, const std::string& chosen = "") {
    const auto document = read_yaml(text, "given");
    ASSERT_TRUE(document) << document.error().message;
    ImportRecord record("given", "the author");
    const ImportDraft draft = import(*document, chosen, record);
    ASSERT_FALSE(record.failed()) << record.errors().to_string();
    remarks.clear();
    for (const ImportedSetting& setting : record.settings())
      if (setting.fate != Fate::kTranslated && setting.fate != Fate::kNotNeeded)
        remarks.push_back(setting.path + ": " + std::string(word_of(setting.fate)) + ": " + setting.text);
    const std::string toml = render_toml("a test", draft.tables, record.settings());
    const auto config = parse_config(toml, "made.toml", [](const std::string&) { return std::optional("node1"); });
    ASSERT_TRUE(config) << config.error().to_string() << toml;
    ASSERT_EQ(config->modules.size(), 1U) << toml;
    rules = config->modules.front().serve;
    ModuleConfig wanted = config->modules.front();
    wanted.isolation = isolation;
    module.reset();
    const Status started = start_module(wanted);
    ASSERT_TRUE(started) << started.error().message << toml;
  }
  // Returns texts such as "squat.ai/fuse x10: fuse", sorted, for the devices that are offered.
  List offers() {
    List all;
    for (const Device& found : discover()->devices) {
      const auto rule = std::ranges::find_if(rules, [&](const auto& each) { return matches(each.select, found); });
      EXPECT_NE(rule, rules.end()) << found.id;
      if (rule != rules.end())
        all.push_back(fmt::format("{} x{}: {}", rule->resource, rule->plugin.replicas, found.name));
    }
    std::ranges::sort(all);
    return all;
  }
  static std::string error_of(Import import, const std::string& text) {
    const auto document = read_yaml(text, "given");
    ImportRecord record("given", "the author");
    if (document) import(*document, "", record);
    return record.errors().to_string();
  }

  std::vector<ServeConfig> rules;
  List remarks;
};
INSTANTIATE_TEST_SUITE_P(Isolation, GenericImport, ::testing::Values(Isolation::kInProcess), name_of_isolation);

TEST_P(GenericImport, DevicesOfGenericDevicePlugin) {
  node("ttyUSB0", 188, 0);
  node("ttyACM0", 166, 0);
  node("fuse", 10, 229);
  node("snd/pcmC0D0c", 116, 3);
  node("snd/controlC0", 116, 2);
  node("bus/usb/001/002", 189, 1);
  tree.file("sys/devices/usb1/1-2/idVendor", "0403\n");
  tree.file("sys/devices/usb1/1-2/idProduct", "2838\n");
  tree.file("sys/devices/usb1/1-2/serial", "7\n");
  known("189:1", "sys/devices/usb1/1-2", "usb");
  start_imported(import_generic_device_plugin, R"(
apiVersion: v1
kind: ConfigMap
data:
  config.yaml: |
    log-level: debug
    devices:
    - name: serial
      groups:
      - paths: [{path: "/dev/ttyUSB*"}]
      - paths: [{path: "/dev/ttyACM*", permissions: rw}]
    - name: fuse
      groups: [{count: 10, paths: [{path: /dev/fuse, mountPath: /dev/fuse0}]}]
    - name: capture
      groups: [{paths: [{path: /dev/snd/pcmC0D0c}, {path: /dev/snd/controlC0}]}]
    - name: rtlsdr
      groups: [{usb: [{vendor: 403, product: 2838, serial: "7"}]}]
    - name: files
      groups: [{paths: [{path: /etc/hosts, type: Mount}]}]
)");
  EXPECT_THAT(offers(), ElementsAre("squat.ai/capture x1: capture", "squat.ai/fuse x10: fuse",
                                    "squat.ai/rtlsdr x1: rtlsdr-0403-2838-7", "squat.ai/serial x1: serial-2-ttyacm0",
                                    "squat.ai/serial x1: serial-ttyusb0"));
  EXPECT_THAT(remarks, Contains(HasSubstr("no counterpart: only device nodes are devices; mount '/etc/hosts' with a "
                                          "volume of the pod")));
  EXPECT_THAT(remarks, Contains(HasSubstr("none of its groups is left, so the resource is left out")));
  EXPECT_EQ(remarks.size(), 2U);
}

TEST_P(GenericImport, WhatGenericDevicePluginPairsIsSaid) {
  start_imported(import_generic_device_plugin,
                 "domain: example.com\ndevices:\n- name: pair\n  groups:\n  - count: 2\n    paths:\n    - path: "
                 "/dev/a*\n      mountPath: /dev/x\n    - path: /dev/b\n      limit: 3\n  - paths: [{path: /dev/c}]\n");
  EXPECT_EQ(rules.front().resource, "example.com/pair");
  EXPECT_THAT(remarks, Contains(HasSubstr("note: all nodes that match are one device, where the plugin makes pairs")));
  EXPECT_THAT(remarks, Contains(HasSubstr("no counterpart: the nodes of a group have their own paths")));
  EXPECT_THAT(remarks, Contains(HasSubstr("note: all groups of a device have the greatest count here")));
  EXPECT_EQ(remarks.size(), 4U);
}

TEST_P(GenericImport, DevicesOfSmarterDeviceManager) {
  node("video0", 81, 0);
  node("video11", 81, 11);
  node("rtc0", 254, 0);
  node("snd/controlC0", 116, 2);
  node("snd/timer", 116, 33);
  node("ttyACM0", 166, 0);
  start_imported(import_smarter_device_manager, R"(
- devicematch: ^snd$
  nummaxdevices: 20
- devicematch: ^rtc0$
  nummaxdevices: 20
- devicematch: ^video[0-9]*$
  nummaxdevices: 1
- devicematch: "^ttyACM\\d+$"
  nummaxdevices: 5
- devicematch: ^(i2c|spi).*$
  nummaxdevices: 1
- devicematch: nvidia-gpu
  nummaxdevices: 1
)");
  EXPECT_THAT(offers(), UnorderedElementsAre("smarter-devices/rtc0 x20: rtc0", "smarter-devices/snd x20: snd",
                                             "smarter-devices/ttyacm x5: ttyacm-ttyacm0",
                                             "smarter-devices/{file} x1: video-video0",
                                             "smarter-devices/{file} x1: video-video11"));
  EXPECT_THAT(attributes_of(device("video-video11")), Contains("file=video11"));
  EXPECT_THAT(remarks, UnorderedElementsAre(HasSubstr("[3].devicematch: note: its nodes become one resource"),
                                            HasSubstr("'^(i2c|spi).*$' cannot be written as a pattern of paths"),
                                            HasSubstr("the NVIDIA module serves GPUs")));
}

TEST_P(GenericImport, MistakesSayWhere) {
  EXPECT_THAT(error_of(import_generic_device_plugin, "listen: :8080\n"), HasSubstr("this file has no devices; import"));
  EXPECT_THAT(error_of(import_generic_device_plugin, "devices:\n- groups: []\n"), HasSubstr("a device needs a name"));
  EXPECT_THAT(
      error_of(import_generic_device_plugin, "devices:\n- name: a\n  groups: [{usb: [{vendor: xyz, product: 1}]}]\n"),
      HasSubstr("'xyz' is not four hexadecimal digits"));
  EXPECT_THAT(error_of(import_smarter_device_manager, "a: b\n"), HasSubstr("this file is not a list of devicematch"));
  EXPECT_THAT(error_of(import_smarter_device_manager, "- nummaxdevices: 1\n"), HasSubstr("needs a devicematch"));
  EXPECT_THAT(error_of(import_smarter_device_manager, "- {devicematch: a, nummaxdevices: 5000}\n"),
              HasSubstr("5000 is not a number from 1 to 1000"));
}

}  // namespace
}  // namespace cardcage
