// cagectl import nvidia: configurations of NVIDIA's device plugin and DRA driver, and other files.
#include <gmock/gmock.h>

#include <boost/json/parse.hpp>

#include "host/config/config.h"
#include "sim/scratch_folder.h"
#include "tests/unit/ctl/cagectl_process.h"
#include "tests/unit/ctl/golden.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Ended import_nvidia(const std::string& yaml, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"import", "nvidia", "-"});
  return run_cagectl(more, yaml);
}

std::string input(const std::string& name) {
  return read_file(source_folder() / "tests/golden/ctl" / ("import_" + name + ".yaml"), 100'000).value();
}

std::expected<Config, ConfigErrors> read_result(const std::string& toml) {
  return parse_config(toml, "made.toml", [](const std::string& name) {
    return name == "NODE_NAME" ? std::optional<std::string>("node1") : std::nullopt;
  });
}

// The rules of the only module.
std::vector<ServeConfig> rules_of(const std::string& yaml) {
  const Ended ended = import_nvidia(yaml);
  const auto config = read_result(ended.out);
  EXPECT_TRUE(config) << config.error().to_string() << ended.err << ended.out;
  return config && config->modules.size() == 1 ? config->modules.front().serve : std::vector<ServeConfig>();
}

struct ImportCase {
  std::string name;
  int code;
  std::vector<std::string> options = {};
};
void PrintTo(const ImportCase& about, std::ostream* out) { *out << about.name; }

class ImportGoldenTest : public ::testing::TestWithParam<ImportCase> {};

TEST_P(ImportGoldenTest, WritesTheGoldenConfiguration) {
  const auto& [name, code, options] = GetParam();
  const Ended ended = import_nvidia(input(name), options);
  EXPECT_EQ(ended.code, code) << ended.err;
  expect_golden("import_" + name + ".toml", ended.out);
  expect_golden("import_" + name + ".err", ended.err);
  const auto config = read_result(ended.out);
  EXPECT_TRUE(config) << config.error().to_string();
}

const ImportCase kImportCases[] = {{"plugin_timeslicing", 0}, {"plugin_mixed", 0},  {"plugin_patterns", 4},
                                   {"plugin_mps", 4},         {"plugin_values", 4}, {"plugin_defaults", 0},
                                   {"dra_values", 4},         {"dra_defaults", 4},  {"operator_values", 4}};
INSTANTIATE_TEST_SUITE_P(Golden, ImportGoldenTest, ::testing::ValuesIn(kImportCases),
                         [](const auto& about) { return about.param.name; });

// The GPU operator's chart has the keys of the plugin's chart in other places, and its own defaults.
TEST(ImportTest, TellsValuesOfTheGpuOperatorFromThoseOfThePlugin) {
  for (const char* values : {"driver: {enabled: true}\ndevicePlugin: {enabled: true}\n", "toolkit: {enabled: false}\n",
                             "devicePlugin: {config: {name: \"\"}}\n", "dcgmExporter: {}\ngfd: {enabled: true}\n"}) {
    const Ended ended = import_nvidia(values);
    EXPECT_THAT(ended.out, HasSubstr("Helm values of NVIDIA's GPU operator")) << values << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("driver_root = \"/run/nvidia/driver\"  # the GPU operator's default")) << values;
    const auto rules = rules_of(values);
    ASSERT_EQ(rules.size(), 1U) << values;
    EXPECT_THAT(rules[0].select, ElementsAre(SelectTable())) << "its migStrategy is single: " << values;
  }
  EXPECT_THAT(import_nvidia("devicePlugin: {enabled: true}\ngfd: {enabled: true}\n").out,
              HasSubstr("Helm values of NVIDIA's device plugin"));
}

TEST(ImportTest, TakesTheDriverOfTheNodeIfTheOperatorInstallsNone) {
  EXPECT_THAT(import_nvidia("driver: {enabled: false}\n").out, Not(HasSubstr("driver_root")));
  EXPECT_THAT(import_nvidia("hostPaths: {driverInstallDir: /opt/driver}\n").out,
              HasSubstr("driver_root = \"/opt/driver\"  # hostPaths.driverInstallDir"));
}

TEST(ImportTest, ReadsTheMigStrategyOfTheOperator) {
  EXPECT_THAT(import_nvidia("mig: {strategy: mixed}\n").out,
              AllOf(HasSubstr("nvidia.com/mig-{profile}"), HasSubstr("label_mig_strategy = \"mixed\"")));
  EXPECT_THAT(import_nvidia("mig: {strategy: mixed}\ndevicePlugin: {env: [{name: MIG_STRATEGY, value: none}]}\n").out,
              Not(HasSubstr("{profile}")))
      << "a variable of the container wins";
}

TEST(ImportTest, RefusesAFileOfTheMigManager) {
  const Ended ended =
      import_nvidia("version: v1\nmig-configs:\n  all-disabled:\n  - devices: all\n    mig-enabled: false\n");
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("this is a configuration of NVIDIA's MIG manager (mig-parted)"));
  EXPECT_EQ(ended.out, "");
}

TEST(ImportTest, OfMpsAndTimeSlicesNvidiaUsesMps) {
  const std::string resources = "{resources: [{name: nvidia.com/gpu, replicas: 4}]}";
  const auto rules = rules_of("version: v1\nsharing: {mps: " + resources + ", timeSlicing: " + resources + "}\n");
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].plugin, ResourceConfig()) << "not shared";
  EXPECT_THAT(import_nvidia("version: v1\nsharing: {mps: " + resources + ", timeSlicing: " + resources + "}\n").out,
              HasSubstr("sharing.timeSlicing: NVIDIA's device plugin uses sharing.mps if both are there"));
  EXPECT_EQ(rules_of("version: v1\nsharing: {mps: {resources: []}, timeSlicing: " + resources + "}\n").size(), 1U);
}

TEST(ImportTest, TranslatesWhatContainersGetBesideGpus) {
  const std::string out =
      import_nvidia("version: v1\nflags: {gdsEnabled: true, gdrcopyEnabled: true, mofedEnabled: false}\n").out;
  EXPECT_THAT(out, AllOf(HasSubstr("gds = true"), HasSubstr("gdrcopy = true"), Not(HasSubstr("mofed = "))));
}

TEST(ImportTest, TellsTheLabelsWhatTheRulesShare) {
  const auto replicas = [](const std::string& more) {
    return import_nvidia(
               "version: v1\nflags: {migStrategy: mixed}\nsharing: {timeSlicing: {" + more +
               "resources: [{name: nvidia.com/gpu, replicas: 4}, {name: nvidia.com/mig-1g.10gb, replicas: 2}]}}\n")
        .out;
  };
  EXPECT_THAT(replicas(""), HasSubstr(R"(label_replicas = ["gpu=4", "mig-1g.10gb=2"])"));
  EXPECT_THAT(replicas("renameByDefault: true, "),
              HasSubstr(R"(label_replicas = ["gpu=4 renamed", "mig-1g.10gb=2 renamed"])"));
}

TEST(ImportTest, TranslatesMigStrategies) {
  auto rules = rules_of("version: v1\n");
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].resource, "nvidia.com/gpu");
  EXPECT_THAT(rules[0].select, ElementsAre(SelectTable{{"kind", {"gpu"}}}));
  EXPECT_EQ(rules[0].plugin, ResourceConfig());

  rules = rules_of("version: v1\nflags: {migStrategy: single}\n");
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].resource, "nvidia.com/gpu");
  EXPECT_THAT(rules[0].select, ElementsAre(SelectTable())) << "a node without MIG offers its GPUs";
  EXPECT_THAT(import_nvidia("version: v1\nflags: {migStrategy: single}\n").err, HasSubstr("whose MIG devices differ"));
}

TEST(ImportTest, TranslatesPatternsThatMatchAnywhere) {
  const auto rules = rules_of(
      "version: v1\n"
      "resources:\n  gpus:\n"
      "  - {pattern: 'A100 [x]?', name: a100}\n"
      "  - {pattern: '*H100', name: example.com/h100}\n");
  ASSERT_EQ(rules.size(), 3U);
  EXPECT_EQ(rules[0].resource, "nvidia.com/a100");
  EXPECT_THAT(rules[0].select.at(0).at("attributes.productName"), ElementsAre(SelectValue(R"(*A100 \[x\]\?*)")));
  EXPECT_EQ(rules[1].resource, "example.com/h100");
  EXPECT_THAT(rules[1].select.at(0).at("attributes.productName"), ElementsAre(SelectValue("*H100*")));
  EXPECT_EQ(rules[2].resource, "nvidia.com/gpu");
}

TEST(ImportTest, LeavesOutRulesThatNoDeviceReaches) {
  const auto rules = rules_of("version: v1\nresources: {gpus: [{pattern: '*', name: card}]}\n");
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].resource, "nvidia.com/card");
}

TEST(ImportTest, OneRuleNamesAResource) {
  const std::string yaml =
      "version: v1\nresources: {gpus: [{pattern: A100, name: big}, {pattern: T4, name: small}, "
      "{pattern: H100, name: big}]}\n";
  EXPECT_EQ(rules_of(yaml).size(), 3U);
  EXPECT_THAT(import_nvidia(yaml).err, HasSubstr("another rule offers 'nvidia.com/big' already"));
}

TEST(ImportTest, SharesAtMostAsOftenAsTheHostDoes) {
  const std::string yaml = "version: v1\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 5000}]}}\n";
  const auto rules = rules_of(yaml);
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].plugin.replicas, kMaxReplicas);
  EXPECT_EQ(rules[0].plugin.placement, Placement::kSpread);
  EXPECT_EQ(import_nvidia(yaml).code, 4);
}

TEST(ImportTest, AShareOfWhatIsNotOfferedIsNotNeeded) {
  const Ended ended =
      import_nvidia("version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/mig-1g.5gb, replicas: 2}]}}\n");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("shares 'nvidia.com/mig-1g.5gb', which this migStrategy does not offer"));
}

TEST(ImportTest, AResourceIsSharedOnce) {
  const std::string yaml =
      "version: v1\nsharing: {timeSlicing: {resources: [{name: gpu, rename: gpu-light, devices: [0], replicas: 2}, "
      "{name: gpu, rename: gpu-heavy, devices: [1], replicas: 4}]}}\n";
  const auto rules = rules_of(yaml);
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].resource, "nvidia.com/gpu-light");
  EXPECT_EQ(rules[0].plugin.replicas, 2U);
  const Ended ended = import_nvidia(yaml);
  EXPECT_EQ(ended.code, 4);
  EXPECT_THAT(ended.err, HasSubstr("resources[1]: no counterpart: another entry shares this resource"));
}

TEST(ImportTest, PathsKeepTheirDollarSigns) {
  const Ended ended = import_nvidia("version: v1\nflags: {nvidiaDriverRoot: '/opt/$driver'}\n");
  const auto config = read_result(ended.out);
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->node.roots.driver, "/opt/$driver");
}

TEST(ImportTest, ChoosesAConfigurationOfHelmValues) {
  const std::string values = input("plugin_values");
  const Ended other = import_nvidia(values, {"--config", "whole"});
  EXPECT_THAT(other.out, AllOf(Not(HasSubstr("replicas")), HasSubstr("config.map.shared: --config chose another")));
  const Ended missing = import_nvidia(values, {"--config", "none"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(
      missing.err,
      "cagectl: stdin:4:3: config.map: there is no configuration 'none'; choose one with --config: shared, whole\n");
  const Ended several = import_nvidia("config: {map: {a: 'version: v1', b: 'version: v1'}}\n");
  EXPECT_EQ(several.code, 1);
  EXPECT_THAT(several.err, HasSubstr("several configurations and no default; choose one with --config: a, b"));
  EXPECT_THAT(import_nvidia("version: v1\n", {"--config", "a"}).err, HasSubstr("leave it out"));
}

TEST(ImportTest, MistakesInAConfigurationOfHelmValuesNameIt) {
  const Ended ended =
      import_nvidia("config:\n  map:\n    only: |\n      version: v1\n      flags:\n        migStrategy: both\n");
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, StartsWith("cagectl: stdin config.map.only:3:3: config.map.only.flags.migStrategy: 'both'"));
}

TEST(ImportTest, AValuesFileWithoutGpusHasNoModule) {
  const Ended ended = import_nvidia("resources: {gpus: {enabled: false}, computeDomains: {enabled: false}}\n");
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto config = read_result(ended.out);
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_TRUE(config->modules.empty());
}

TEST(ImportTest, NotesThatComputeDomainsAreOnByDefault) {
  const Ended ended = import_nvidia("featureGates: {DynamicMIG: false}\n");
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, StartsWith("stdin: resources.computeDomains.enabled: note: Cardcage runs no IMEX daemons"));
  EXPECT_THAT(ended.out, HasSubstr("mig = \"static\"  # featureGates.DynamicMIG"));
}

TEST(ImportTest, WritesAFileOnlyOnce) {
  const ScratchFolder scratch;
  const std::string file = scratch / "cardcage.toml";
  const Ended first = import_nvidia("version: v1\n", {"--output", file});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, "wrote '" + file + "'; check it: cardcage --check " + file + "\n");
  const std::string text = read_file(file, 10'000).value();
  EXPECT_TRUE(read_result(text));
  const Ended second = import_nvidia("version: v1\nflags: {migStrategy: single}\n", {"--output", file});
  EXPECT_EQ(second.code, 1);
  EXPECT_EQ(second.err, "cagectl: '" + file + "' exists: remove it, or name another file with --output\n");
  EXPECT_EQ(read_file(file, 10'000).value(), text);
  EXPECT_EQ(import_nvidia("version: v1\n", {"--output", scratch / "none/x.toml"}).code, 1);
}

TEST(ImportTest, PrintsJson) {
  const Ended ended = import_nvidia(input("plugin_mps"), {"--json"});
  EXPECT_EQ(ended.code, 4);
  const auto report = boost::json::parse(ended.out);
  EXPECT_EQ(report.at("form"), "a configuration of NVIDIA's device plugin");
  EXPECT_TRUE(read_result(std::string(report.at("config").as_string())));
  const auto& settings = report.at("settings").as_array();
  const auto mps = std::ranges::find_if(settings, [](const auto& one) { return one.at("path") == "sharing.mps"; });
  ASSERT_NE(mps, settings.end());
  EXPECT_EQ(mps->at("state"), "no counterpart");
  EXPECT_EQ(mps->at("position"), "stdin:3:3");
}

TEST(ImportTest, HostileTextStaysInItsComment) {
  const Ended ended =
      import_nvidia("version: v1\n\"a\\n[node]\\nname = 1\": \"x\"\nflags: {nvidiaDriverRoot: '/a\"b'}\n");
  EXPECT_EQ(ended.code, 4);
  EXPECT_THAT(ended.out, HasSubstr("a?[node]?name = 1: not a setting"));
  EXPECT_THAT(ended.err, Not(HasSubstr("\n[node]")));
  const auto config = read_result(ended.out);
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->node.roots.driver, "/a\"b");
}

TEST(ImportTest, HostileNamesOfConfigurationsStayInTheirComments) {
  const Ended ended = import_nvidia(
      "nvidiaDriverRoot: /x\nconfig: {map: {\"a\\n[[module]]\\nname = \\\"evil\\\"\\npath = \\\"evil.so\\\"\\n#\": "
      "\"version: v1\\nflags: {migStrategy: mixed}\\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: "
      "2}]}}\\n\"}}\n");
  const auto config = read_result(ended.out);
  ASSERT_TRUE(config) << config.error().to_string() << ended.out << ended.err;
  ASSERT_EQ(config->modules.size(), 1U);
  EXPECT_EQ(config->modules[0].path, "libcardcage_nvidia.so");
}

TEST(ImportTest, HelmValuesGoBeforeTheFile) {
  const Ended ended = import_nvidia(
      "sharedDevicesAllocationPolicy: packed\ndeviceListStrategy: envvar\nconfig: {map: {default: \"version: "
      "v1\\nflags: "
      "{plugin: {sharedDevicesAllocationPolicy: distributed, deviceListStrategy: [cdi-annotations]}}\\nsharing: "
      "{timeSlicing: {resources: [{name: gpu, replicas: 2}]}}\\n\"}}\n");
  EXPECT_THAT(ended.out, HasSubstr("placement = \"packed\""));
  EXPECT_THAT(ended.out, Not(HasSubstr("\ndeliver = ")));
}

struct Mistake {
  std::string name, yaml, message;
};
void PrintTo(const Mistake& about, std::ostream* out) { *out << about.name; }

class ImportMistakeTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(ImportMistakeTest, IsNamedWithItsPlaceAndNothingIsWritten) {
  const Ended ended = import_nvidia(GetParam().yaml);
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, StartsWith("cagectl: " + GetParam().message));
}

std::string shared(const std::string& entry) {
  return "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - " + entry + "\n";
}

// Nine levels of nine aliases each.
std::string alias_bomb() {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 9; ++level) {
    text += fmt::format("a{0}: &a{0} [", level);
    for (int item = 0; item < 9; ++item) text += fmt::format("{}*a{}", item == 0 ? "" : ", ", level - 1);
    text += "]\n";
  }
  return text;
}

std::string repeated_text() {
  std::string text = "a: &a " + std::string(500'000, 'x') + "\nb: [*a";
  for (int item = 0; item < 1000; ++item) text += ", *a";
  return text + "]\n";
}

const Mistake kMistakes[] = {
    {"NotYaml", "version: v1\nflags: {a: b\n",
     "stdin:3:1: not valid YAML: end of map flow not found; correct the line"},
    {"NotUtf8", "version: v1\nname: \xc3\xa4\xff\n", "stdin:2:8: not UTF-8; save the file in that encoding"},
    {"Empty", "", "stdin:1:1: the file is empty; write NVIDIA's configuration to it"},
    {"OnlyAComment", "# nothing\n", "stdin"},
    {"ListAtTheTop", "- version: v1\n", "stdin:1:1: expected a map at the top, KEY: VALUE on each line"},
    {"TextAtTheTop", "hello\n", "stdin:1:1: expected a map at the top"},
    {"TwoDocuments", "version: v1\n---\nversion: v1\n", "stdin:2:1: a second document begins here; put each"},
    {"SameKeyTwice", "version: v1\nversion: v1\n", "stdin:2:1: the key 'version' stands there twice; remove one"},
    {"KeyIsAList", "? [a]\n: b\n", "stdin:1:3: a key is not a plain word"},
    {"UnknownVersion", "version: v2\n", "stdin:1:1: version: 'v2' is not known; this command reads version v1"},
    {"NoVersion", "flags: {migStrategy: none}\n", "stdin:1:1: version is missing; write version: v1"},
    {"UnknownForm", "hello: world\n", "stdin:1:1: this file is neither a configuration of NVIDIA's device plugin"},
    {"ConfigMap", "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n", "stdin:1:1: this is a ConfigMap; save the text"},
    {"ClusterPolicy", "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\n",
     "stdin:1:1: this is a Kubernetes object of kind"},
    {"BothForms", "migStrategy: none\nfeatureGates: {}\n",
     "stdin:1:1: keys of different files are mixed: migStrategy, feat"},
    {"ReplicasAreText", shared("{name: gpu, replicas: \"four\"}"),
     "stdin:5:29: sharing.timeSlicing.resources[0].replicas: expected an integer without quotes, found 'four'"},
    {"ReplicasAreQuoted", shared("{name: gpu, replicas: \"4\"}"),
     "stdin:5:29: sharing.timeSlicing.resources[0].replicas: expected an integer without quotes, found '4'"},
    {"ReplicasAreOne", shared("{name: gpu, replicas: 1}"),
     "stdin:5:19: sharing.timeSlicing.resources[0].replicas: 1 is less than 2; write 2 or more, or remove the entry"},
    {"ReplicasAreZero", shared("{name: gpu, replicas: 0}"),
     "stdin:5:19: sharing.timeSlicing.resources[0].replicas: 0 is"},
    {"ReplicasAreNegative", shared("{name: gpu, replicas: -3}"),
     "stdin:5:19: sharing.timeSlicing.resources[0].replicas: -3"},
    {"ReplicasAreHuge", shared("{name: gpu, replicas: 99999999999999999999}"),
     "stdin:5:29: sharing.timeSlicing.resources[0].replicas: expected an integer without quotes, found '999"},
    {"ReplicasAreOctal", shared("{name: gpu, replicas: 010}"),
     "stdin:5:29: sharing.timeSlicing.resources[0].replicas: expected an integer without quotes, found '010'"},
    {"ChannelsAreANumber", "version: v1\nimex: {channelIDs: 0}\n",
     "stdin:2:20: imex.channelIDs: expected a list, found '0'"},
    {"ConfigurationsAreText", "nvidiaDriverRoot: /x\nconfig: {map: hello}\n",
     "stdin:2:15: config.map: expected a map, found 'hello'"},
    {"NoReplicas", shared("{name: gpu}"),
     "stdin:5:7: sharing.timeSlicing.resources[0]: name and replicas are required"},
    {"ResourceHasNoName", shared("{name: 'a b', replicas: 2}"),
     "stdin:5:8: sharing.timeSlicing.resources[0].name: 'nvid"},
    {"EntryIsText", shared("gpu"), "stdin:5:7: sharing.timeSlicing.resources[0]: expected a map, found 'gpu'"},
    {"ResourcesAreAMap", "version: v1\nsharing: {timeSlicing: {resources: {name: gpu}}}\n",
     "stdin:2:36: sharing.timeSlicing.resources: expected a list, found a map"},
    {"FlagsAreAList", "version: v1\nflags: []\n", "stdin:2:8: flags: expected a map, found a list"},
    {"UnknownStrategy", "version: v1\nflags: {migStrategy: both}\n",
     "stdin:2:9: flags.migStrategy: 'both' is none of the values that NVIDIA knows; write one of: none, single, mixed"},
    {"UnknownDelivery", "version: v1\nflags: {plugin: {deviceListStrategy: [envvar, cdi]}}\n",
     "stdin:2:18: flags.plugin.deviceListStrategy: 'cdi' is none of the values that NVIDIA knows"},
    {"GateIsText", "featureGates: {DynamicMIG: \"true\"}\n",
     "stdin:1:28: featureGates.DynamicMIG: expected true or false, found 'true'"},
    {"RootIsRelative", "version: v1\nflags: {nvidiaDriverRoot: run/driver}\n",
     "stdin:2:9: flags.nvidiaDriverRoot: 'run/dri"},
    {"VerbosityIsAWord", "logVerbosity: loud\n", "stdin:1:1: logVerbosity: expected a number such as 4, found 'loud'"},
    {"AliasBomb", alias_bomb(), "stdin:"},
    {"RepeatedText", repeated_text(), "stdin:1:4: the document is too large with its aliases expanded"},
    {"AliasOfItself", "a: &a [*a]\n", "stdin:1:4: nested deeper than 64; flatten it"},
    {"DeepNesting", std::string(200'000, '['), "stdin:1:1: not valid YAML"},
    {"TenMegabytes", std::string(10'000'000, ' '),
     "'-' is larger than 1 MiB: no configuration is; name the right file"},
};
INSTANTIATE_TEST_SUITE_P(Import, ImportMistakeTest, ::testing::ValuesIn(kMistakes),
                         [](const auto& about) { return about.param.name; });

TEST(ImportTest, AnAliasBombIsRefusedForItsSize) {
  EXPECT_THAT(import_nvidia(alias_bomb()).err, HasSubstr("the document is too large with its aliases expanded"));
}

TEST(ImportTest, AllMistakesAreNamed) {
  const Ended ended = import_nvidia("version: v2\nflags: {migStrategy: both}\n");
  EXPECT_THAT(ended.err, AllOf(HasSubstr("version: 'v2'"), HasSubstr("\nstdin:2:9: flags.migStrategy: 'both'")));
}

TEST(ImportTest, AFileThatCannotBeReadIsAnError) {
  const Ended missing = run_cagectl({"import", "nvidia", "/nonexistent/values.yaml"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err, "cagectl: cannot read '/nonexistent/values.yaml': No such file or directory\n");
  const Ended folder = run_cagectl({"import", "nvidia", "/"});
  EXPECT_EQ(folder.code, 1);
  EXPECT_EQ(folder.err, "cagectl: cannot read '/': Is a directory\n");
  EXPECT_EQ(run_cagectl({"import", "nvidia"}).code, 2);
  EXPECT_EQ(run_cagectl({"import"}).code, 2);
}

}  // namespace
}  // namespace cardcage
