#include "host/config/config.h"

#include <gmock/gmock.h>

#include <random>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/source_folder.h"
#include "tests/unit/config/shipped_files.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::expected<Config, ConfigErrors> parse(const std::string& text) {
  return parse_config("[node]\nname = \"node1\"\n" + text, "t.toml", environment);
}

Config accepted(const std::string& text) {
  auto config = parse(text);
  EXPECT_TRUE(config) << (config ? "" : config.error().to_string());
  return config.value_or(Config{});
}

TEST(ConfigTest, AMinimalFileGetsEveryDefault) {
  const Config config = accepted("");
  EXPECT_EQ(config.node.name, "node1");
  EXPECT_EQ(config.node.kubelet_root, "/var/lib/kubelet");
  EXPECT_EQ(config.node.admin_socket, "/run/cardcage/admin.sock");
  EXPECT_EQ(config.node.claims_folder, "");
  EXPECT_EQ(config.node.instance, "");
  EXPECT_EQ(config.node.numa_attribute, NumaAttribute::kScalar);
  EXPECT_EQ(config.apiserver.request_timeout, 10s);
  EXPECT_EQ(config.log.level, LogLevel::kInfo);
  EXPECT_EQ(config.deadlines.prepare, 40s);
  EXPECT_EQ(config.node.device_plugins_dir, "/var/lib/kubelet/device-plugins");
  EXPECT_EQ(config.deadlines.allocate, 10s);
  EXPECT_EQ(config.deadlines.pre_start, 25s);
  EXPECT_EQ(config.deadlines.module_call, 2min);
  EXPECT_THAT(config.modules, IsEmpty());
}

TEST(ConfigTest, EveryKeyArrivesWhereItBelongs) {
  const auto config = parse_config(R"(
[node]
name = "$NODE_NAME"
kubelet_root = "/k"
state_dir = "/s/"
run_dir = "/r"
cdi_dir = "/c/./d"
hooks_dir = "/opt/h/"
modules_dir = "/m"
admin_socket = "/a.sock"
read_only_socket = "/view/b.sock"
read_only_group = 65532
claims = "${CARDCAGE_DEMO_DIR}/claims"
instance = "$POD_UID"
numa_attribute = "list"
device_plugins_dir = "${CARDCAGE_DEMO_DIR}/device-plugins/"
[apiserver]
kubeconfig = "/kc$$"
request_timeout = "1s500ms"
claim_labels = "cardcage/cardcage-fleet"
[log]
level = "debug"
format = "json"
[deadlines]
prepare = "1s"
unprepare = "2s"
discover = "3s"
start = "4s"
stop = "5s"
allocate = "6s"
pre_start = "7s"
module_call = "8m"
)",
                                   "t.toml", environment);
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->node.name, "node1");
  EXPECT_EQ(config->node.kubelet_root.native(), "/k");
  EXPECT_EQ(config->node.state_dir.native(), "/s");
  EXPECT_EQ(config->node.run_dir.native(), "/r");
  EXPECT_EQ(config->node.cdi_dir.native(), "/c/d");
  EXPECT_EQ(config->node.hooks_dir.native(), "/opt/h");
  EXPECT_THAT(config->node.modules_dirs, ::testing::ElementsAre("/m"));
  EXPECT_EQ(config->node.admin_socket.native(), "/a.sock");
  EXPECT_EQ(config->node.read_only_socket.native(), "/view/b.sock");
  EXPECT_EQ(config->node.read_only_group, 65532u);
  EXPECT_EQ(config->node.claims_folder.native(), "/tmp/demo/claims");
  EXPECT_EQ(config->node.numa_attribute, NumaAttribute::kList);
  EXPECT_EQ(config->node.instance, "0f1d2c3b-aaaa-bbbb-cccc-123456789012");
  EXPECT_EQ(config->apiserver.kubeconfig.native(), "/kc$");
  EXPECT_EQ(config->apiserver.request_timeout, 1500ms);
  EXPECT_EQ(config->apiserver.claim_labels, "cardcage/cardcage-fleet");
  EXPECT_EQ(config->log.level, LogLevel::kDebug);
  EXPECT_EQ(config->log.format, LogFormat::kJson);
  EXPECT_EQ(config->deadlines.prepare, 1s);
  EXPECT_EQ(config->deadlines.unprepare, 2s);
  EXPECT_EQ(config->deadlines.discover, 3s);
  EXPECT_EQ(config->deadlines.start, 4s);
  EXPECT_EQ(config->deadlines.stop, 5s);
  EXPECT_EQ(config->node.device_plugins_dir.native(), "/tmp/demo/device-plugins");
  EXPECT_EQ(config->deadlines.allocate, 6s);
  EXPECT_EQ(config->deadlines.pre_start, 7s);
  EXPECT_EQ(config->deadlines.module_call, 8min);
}

TEST(ConfigTest, ModulesAreSearchedInTheFoldersOfTheListOrInOne) {
  const auto folders = [](const std::string& text) {
    const auto config = parse_config("[node]\nname = \"a\"\n" + text, "t.toml", environment);
    return config ? config->node.modules_dirs : std::vector<std::filesystem::path>{config.error().to_string()};
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(folders(""), ElementsAre("/etc/cardcage/modules", "/usr/lib/cardcage/modules"));
  EXPECT_THAT(folders("modules_dir = \"/m\""), ElementsAre("/m"));
  EXPECT_THAT(folders("modules_dir = [\"/m\", \"/n\"]"), ElementsAre("/m", "/n"));
  EXPECT_THAT(folders("modules_dir = []"),
              ElementsAre("t.toml:3:15: node.modules_dir: the list is empty; leave the key out for the default\n"));
  EXPECT_THAT(
      folders("modules_dir = 5"),
      ElementsAre("t.toml:3:15: node.modules_dir: expected a list of strings, or a string, found the integer 5\n"));
}

TEST(ConfigTest, AProcessMayBeConfined) {
  const Config config = accepted(R"(
[[module]]
name = "nvidia"
path = "libnvidia.so"
serve = [{ driver = "gpu.nvidia.com" }]
[module.process]
environment = ["LD_LIBRARY_PATH"]
user = "nvidia"
capabilities = []
seccomp = true
limits = { nofile = 1024, as = 8589934592 }
[[module]]
name = "nic"
path = "libnic.so"
serve = [{ driver = "nic.example.com" }]
)");
  const ProcessConfig& confined = config.modules.at(0).process;
  EXPECT_EQ(confined.environment, std::vector<std::string>{"LD_LIBRARY_PATH"});
  EXPECT_EQ(confined.user, "nvidia");
  EXPECT_EQ(confined.capabilities, std::vector<std::string>()) << "an empty list differs from no value";
  EXPECT_TRUE(confined.seccomp);
  EXPECT_EQ(confined.limits, (std::map<std::string, std::uint64_t>{{"nofile", 1024}, {"as", 8589934592}}));
  EXPECT_EQ(config.modules.at(1).process, ProcessConfig());
}

TEST(ConfigTest, WhatContainersMayGetIsNothingForAConfinedModuleUnlessItIsListed) {
  const Config config = accepted(R"(
[[module]]
name = "free"
path = "a.so"
mounts = ["/usr/lib/acme/*", "/run/acme:rw"]
serve = [{ driver = "a.example.com" }]
[[module]]
name = "confined"
path = "b.so"
device_nodes = ["/dev/acme*"]
groups = [44]
serve = [{ driver = "b.example.com" }]
process = { seccomp = true }
[[module]]
name = "bounded"
path = "c.so"
serve = [{ driver = "c.example.com" }]
process = { environment = ["A"], limits = { core = 0 } }
)");
  using Texts = std::vector<std::string>;
  const AllowedEdits free = allowed_edits(config.modules.at(0)), confined = allowed_edits(config.modules.at(1));
  EXPECT_EQ(free.mounts, (Texts{"/usr/lib/acme/*", "/run/acme:rw"}));
  EXPECT_EQ(free.device_nodes, std::nullopt) << "any";
  EXPECT_EQ(confined.device_nodes, Texts{"/dev/acme*"});
  EXPECT_EQ(confined.groups, std::vector<std::uint32_t>{44});
  for (const auto& list : {confined.mounts, confined.hooks, confined.net_devices, confined.env})
    EXPECT_EQ(list, Texts{}) << "none";
  EXPECT_EQ(allowed_edits(config.modules.at(2)), AllowedEdits{}) << "limits and variables do not restrict edits";
}

TEST(ConfigTest, ModulesKeepTheirOrderOptionsAndRules) {
  const Config config = accepted(R"(
[[module]]
name = "nvidia"
path = "vendor/libcardcage_nvidia.so"
sha256 = "AAAABBBBCCCCDDDDEEEEFFFF0000111122223333444455556666777788889999"
programs = ["/usr/bin/nvidia-smi", "/opt/fan"]
writes = ["/sys/bus/pci/devices/*/reset"]
[module.options]
mig = "mixed"
count = 3
fast = true
names = ["a", "b"]
[[module.serve]]
driver = "mig.nvidia.com"
pool = "node1/mig"
select = { kind = "mig", attributes.slices = 3, "attributes.example.com/ecc" = true, "attributes.model" = "A*" }
[[module.serve]]
api = "dra"
driver = "gpu.nvidia.com"
[[module]]
name = "nic"
path = "libnic.so"
serve = [{ driver = "nic.example.com" }]
)");
  ASSERT_EQ(config.modules.size(), 2u);
  const ModuleConfig& gpu = config.modules[0];
  EXPECT_EQ(gpu.name, "nvidia");
  EXPECT_EQ(gpu.path, "vendor/libcardcage_nvidia.so");
  EXPECT_EQ(gpu.sha256, "aaaabbbbccccddddeeeeffff0000111122223333444455556666777788889999");
  EXPECT_EQ(gpu.programs, (std::vector<std::filesystem::path>{"/usr/bin/nvidia-smi", "/opt/fan"}));
  EXPECT_EQ(gpu.writes, std::vector<std::string>{"/sys/bus/pci/devices/*/reset"});
  EXPECT_EQ(gpu.isolation, Isolation::kProcess);
  EXPECT_EQ(gpu.options.at("mig").value, decltype(RawOption::value)("mixed"));
  EXPECT_EQ(gpu.options.at("count").value, decltype(RawOption::value)(std::int64_t{3}));
  EXPECT_EQ(gpu.options.at("fast").value, decltype(RawOption::value)(true));
  EXPECT_EQ(gpu.options.at("names").value, decltype(RawOption::value)(std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(gpu.options.at("names").position.to_string(), "t.toml:14:9");
  ASSERT_EQ(gpu.serve.size(), 2u);
  EXPECT_EQ(gpu.serve[0].pool, "node1/mig");
  EXPECT_THAT(gpu.serve[0].select, ElementsAre(SelectTable{{"attributes.example.com/ecc", {true}},
                                                           {"attributes.model", {"A*"}},
                                                           {"attributes.slices", {std::int64_t{3}}},
                                                           {"kind", {"mig"}}}));
  EXPECT_THAT(gpu.serve[1].select, ElementsAre(SelectTable()));
  EXPECT_EQ(gpu.serve[1].driver, "gpu.nvidia.com");
  EXPECT_EQ(gpu.serve[1].position.to_string(), "t.toml:19:1");
  EXPECT_EQ(config.modules[1].serve.at(0).driver, "nic.example.com");
}

TEST(ConfigTest, AModuleMayServeThroughBothApis) {
  const Config config = accepted(R"(
[[module]]
name = "fpga"
path = "libfpga.so"
[[module.serve]]
driver = "fpga.example.com"
select = { kind = "fpga" }
[[module.serve]]
api = "device-plugin"
resource = "example.com/port"
select = { kind = "port" }
registration = "kubelet"
deliver = "cdi-annotations"
placement = "spread"
replicas = 1000
fail_requests_greater_than_one = true
restart_grace = "30s"
[[module.serve]]
api = "device-plugin"
resource = "example.com/rest"
registration = "registry"
deliver = "direct"
fail_requests_greater_than_one = false
)");
  ASSERT_EQ(config.modules.size(), 1u);
  const auto& rules = config.modules[0].serve;
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].api, Api::kDra);
  EXPECT_EQ(rules[0].served().name, "fpga.example.com");
  EXPECT_EQ(rules[1].api, Api::kDevicePlugin);
  EXPECT_EQ(rules[1].served().name, "example.com/port");
  EXPECT_EQ(rules[1].plugin, (ResourceConfig{RegistrationWay::kKubelet, Delivery::kCdiAnnotations, Placement::kSpread,
                                             1000, true, std::chrono::seconds(30)}));
  EXPECT_THAT(rules[1].select, ElementsAre(SelectTable{{"kind", {"port"}}}));
  EXPECT_EQ(rules[2].plugin, (ResourceConfig{RegistrationWay::kRegistry, Delivery::kDirect, Placement::kPacked, 1,
                                             false, std::chrono::seconds(5)}));
}

TEST(ConfigTest, ASelectMayHaveAlternatives) {
  const Config config = accepted(R"(
[[module]]
name = "nic"
path = "libnic.so"
[[module.serve]]
driver = "a.example.com"
select = { attributes.vendor = ["0x8086", "0x15b3"], attributes.vfIndex = [0, 2], attributes.rdma = [true] }
[[module.serve]]
driver = "b.example.com"
select = [
  { kind = ["pf", "vf"], pci = "0000:3b:*" },
  { attributes.alias = "spare" },
]
[[module.serve]]
driver = "c.example.com"
[[module.serve.select]]
kind = "interface"
[[module.serve.select]]
"attributes.example.com/tier" = "gold"
)");
  const auto& rules = config.modules.at(0).serve;
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_THAT(rules[0].select, ElementsAre(SelectTable{{"attributes.vendor", {"0x8086", "0x15b3"}},
                                                       {"attributes.vfIndex", {std::int64_t{0}, std::int64_t{2}}},
                                                       {"attributes.rdma", {true}}}));
  EXPECT_THAT(rules[1].select, ElementsAre(SelectTable{{"kind", {"pf", "vf"}}, {"pci", {"0000:3b:*"}}},
                                           SelectTable{{"attributes.alias", {"spare"}}}));
  EXPECT_THAT(rules[2].select, ElementsAre(SelectTable{{"kind", {"interface"}}},
                                           SelectTable{{"attributes.example.com/tier", {"gold"}}}));
}

// The names from a pattern are known only with the devices, so names that two rules could give are not an error.
TEST(ConfigTest, AResourceMayTakeItsNameFromAttributes) {
  const Config config = accepted(R"(
[[module]]
name = "nvidia"
path = "libnvidia.so"
[[module.serve]]
api = "device-plugin"
resource = "nvidia.com/mig-{profile}"
select = { kind = "mig" }
replicas = 2
[[module.serve]]
api = "device-plugin"
resource = "nvidia.com/mig-1g.5gb"
select = { kind = "part" }
[[module.serve]]
api = "device-plugin"
resource = "nvidia.com/{resource.kubernetes.io/pcieRoot}{type}"
)");
  ASSERT_EQ(config.modules.size(), 1u);
  const auto& rules = config.modules[0].serve;
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].resource, "nvidia.com/mig-{profile}");
  EXPECT_EQ(rules[0].plugin.replicas, 2u);
  EXPECT_EQ(rules[2].resource, "nvidia.com/{resource.kubernetes.io/pcieRoot}{type}");
}

// The longest names that the kubelet accepts.
TEST(ConfigTest, ResourceNamesMayBeAsLongAsTheKubeletAllows) {
  std::string domain(244, 'a');
  for (std::size_t at = 60; at < domain.size(); at += 60) domain[at] = '.';
  const Config config =
      accepted(fmt::format("[[module]]\nname = \"a\"\npath = \"a.so\"\n"
                           "serve = [{{ api = \"device-plugin\", resource = \"{}/{}\" }}]\n",
                           domain, std::string(63, 'B')));
  ASSERT_EQ(config.modules.size(), 1u);
  EXPECT_EQ(config.modules[0].serve.at(0).resource.size(), 244u + 1 + 63);
}

TEST(ConfigTest, EqualityIgnoresPositions) {
  const std::string module = "[[module]]\nname = \"a\"\npath = \"a.so\"\nserve = [{ driver = \"a.com\" }]\n";
  const Config one = accepted(module);
  const Config moved = accepted("\n# moved\n\n" + module);
  EXPECT_EQ(one.modules, moved.modules);
  EXPECT_NE(one.modules[0].position.line, moved.modules[0].position.line);
  EXPECT_NE(one.modules, accepted(module + "[module.options]\nx = 1\n").modules);

  const auto with_select = [&](const std::string& select) {
    return accepted("[[module]]\nname = \"a\"\npath = \"a.so\"\nserve = [{ driver = \"a.com\", select = " + select +
                    " }]\n")
        .modules;
  };
  EXPECT_EQ(one.modules, with_select("{}"));
  EXPECT_EQ(with_select("{ kind = \"gpu\" }"), with_select("[{ kind = [\"gpu\"] }]"));
  EXPECT_NE(with_select("{ kind = [\"gpu\", \"mig\"] }"), with_select("{ kind = \"gpu\" }"));
  EXPECT_NE(with_select("[{ kind = \"gpu\" }, { id = \"1\" }]"), with_select("{ kind = \"gpu\", id = \"1\" }"));
}

TEST(ConfigTest, AnEmptyInstanceIsNoInstance) {
  const auto config = parse_config("[node]\nname = \"n\"\ninstance = \"$EMPTY\"", "t.toml",
                                   [](const std::string&) { return std::optional<std::string>(""); });
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->node.instance, "");
}

TEST(ConfigTest, APoolMayContainVariables) {
  const auto parsed = [](const std::string& pool) {
    const std::string text =
        "[node]\nname = \"n\"\n[[module]]\nname = \"m\"\npath = \"m.so\"\n[[module.serve]]\n"
        "driver = \"d.example.com\"\npool = \"" +
        pool + "\"\n";
    return parse_config(text, "t.toml", [](const std::string& name) -> std::optional<std::string> {
      return name == "NODE_NAME" ? std::optional<std::string>("node1") : std::nullopt;
    });
  };
  for (const auto& [given, pool] : {std::pair{"$NODE_NAME", "node1"}, {"${NODE_NAME}/mig", "node1/mig"}, {"a", "a"}}) {
    const auto config = parsed(given);
    ASSERT_TRUE(config) << config.error().to_string();
    EXPECT_EQ(config->modules.at(0).serve.at(0).pool, pool);
  }
  for (const char* wrong : {"$NOT_SET", "$NODE_NAME/", "a b"}) EXPECT_FALSE(parsed(wrong)) << wrong;
}

TEST(ConfigTest, TheEnvironmentIsTheProcessEnvironmentByDefault) {
  EXPECT_EQ(process_environment("CARDCAGE_SURELY_NOT_SET"), std::nullopt);
  EXPECT_NE(process_environment("PATH"), std::nullopt);
}

TEST(ConfigKeysTest, TheListIsComplete) {
  EXPECT_THAT(known_config_keys(),
              ::testing::IsSupersetOf({"node", "node.name", "apiserver.kubeconfig", "log.level", "deadlines.prepare",
                                       "module.options", "module.serve.api", "module.serve.driver",
                                       "module.serve.resource", "module.serve.select.kind"}));
}

std::pair<int, std::string> printed_check(const std::filesystem::path& file, const std::vector<Error>& problems = {}) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  const int code = check_config(file, out, [&](const Config&) { return problems; });
  std::fclose(out);
  std::string printed(text, size);
  std::free(text);
  return {code, printed};
}

TEST(CheckConfigTest, CountsWhatItFound) {
  const ScratchFolder folder;
  const auto file = folder / "c.toml";
  const std::string module =
      "[[module]]\nname = \"a\"\npath = \"a.so\"\n"
      "[[module.serve]]\ndriver = \"a.com\"\nselect = { kind = \"a\" }\n"
      "[[module.serve]]\ndriver = \"b.com\"\nselect = { kind = \"b\" }\n"
      "[[module.serve]]\napi = \"device-plugin\"\nresource = \"c.com/c\"\n";
  ASSERT_TRUE(write_file_atomically(file, "[node]\nname = \"n\"\n" + module, 0600));
  EXPECT_EQ(printed_check(file), std::pair(0, file.native() + ": ok, 1 module, 2 drivers, 1 resource\n"));
  const Error problem{Code::kNotFound, "module 'a': no file 'a.so'"};
  EXPECT_THAT(printed_check(file, {{Code::kInvalidArgument, "a:1:1: bad\na:2:1: worse"}}).second,
              ::testing::EndsWith(": 2 errors\n"));
  EXPECT_EQ(printed_check(file, {problem, problem}),
            std::pair(1, "module 'a': no file 'a.so'\nmodule 'a': no file 'a.so'\n" + file.native() + ": 2 errors\n"));
}

TEST(CheckConfigTest, PrintsEveryErrorAndFails) {
  const ScratchFolder folder;
  const auto file = folder / "c.toml";
  ASSERT_TRUE(write_file_atomically(file, "[node]\nname = 1\nnmae = 2\n", 0600));
  EXPECT_EQ(printed_check(file),
            std::pair(1, fmt::format("{0}:2:8: node.name: expected a string, found the integer 1\n"
                                     "{0}:3:1: unknown key 'nmae' in [node] (did you mean 'name'?)\n"
                                     "{0}: 2 errors\n",
                                     file.native())));
}

// Seeded, so that a failure can be repeated. config_fuzz tests more.
TEST(ConfigPropertyTest, MutatedFilesNeverCrashAndAlwaysSayWhere) {
  std::mt19937 random(20260724);
  std::vector<std::string> corpus = {shipped("config/cardcage.toml"), shipped("config/demo.toml")};
  for (const auto& entry : std::filesystem::directory_iterator(kSource / "tests/golden/config"))
    if (entry.path().extension() == ".toml") corpus.push_back(read_file(entry.path(), 100'000).value());
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (int round = 0; round < 3000; ++round) {
    std::string text = corpus[below(corpus.size())];
    for (std::size_t edits = 1 + below(6); edits > 0; --edits) {
      const std::size_t at = below(text.size() + 1);
      switch (below(4)) {
        case 0: text.insert(at, 1, static_cast<char>(below(256))); break;
        case 1: text.erase(at, 1 + below(8)); break;
        case 2: text.insert(at, std::string(1, "[]{}\"'=.,#\n$"[below(12)])); break;
        default: {
          const std::string& other = corpus[below(corpus.size())];
          text.insert(at, other, below(other.size() + 1), below(60));
        }
      }
    }
    const auto config = parse_config(text, "m.toml", environment);
    if (config) continue;
    ASSERT_FALSE(config.error().entries.empty());
    for (const auto& entry : config.error().entries) {
      ASSERT_GT(entry.position.line, 0u) << entry.message << "\n" << text;
      ASSERT_EQ(entry.message.find('\n'), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace cardcage
