// Labels of the node, compared with those that NVIDIA's GPU feature discovery writes: the names in
// tests/expected-output*.txt of NVIDIA/k8s-device-plugin, the cases of its internal/lm/mig-strategy_test.go and
// resource_test.go with the products of the fakes for its MOCKMODEL, the capability of internal/vgpu/vgpu_test.go, and
// published labels of nodes.
#include <fstream>
#include <regex>

#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

using Labels = std::map<std::string, std::string>;

// The names and values of expected-output.txt and expected-output-mig-none.txt, which every strategy has.
const std::vector<std::pair<std::string, std::string>> kAlways{
    {"gfd.timestamp", "[0-9]{10}"},
    {"cuda.driver.major", "[0-9]+"},
    {"cuda.driver.minor", "[0-9]+"},
    {"cuda.driver.rev", "[0-9]*"},
    {"cuda.runtime.major", "[0-9]+"},
    {"cuda.runtime.minor", "[0-9]+"},
    {"cuda.driver-version.major", "[0-9]+"},
    {"cuda.driver-version.minor", "[0-9]+"},
    {"cuda.driver-version.revision", "[0-9]*"},
    {"cuda.driver-version.full", "[0-9]+[.][0-9]+[.][0-9]+"},
    {"cuda.runtime-version.major", "[0-9]+"},
    {"cuda.runtime-version.minor", "[0-9]+"},
    {"cuda.runtime-version.full", "[0-9]+[.][0-9]+"},
    {"gpu.machine", ".*"},
    {"gpu.count", "[0-9]+"},
    {"gpu.replicas", "[0-9]+"},
    {"gpu.sharing-strategy", "none|mps|time-slicing"},
    {"gpu.product", "[A-Za-z0-9_.-]+"},
    {"gpu.memory", "[0-9]+"},
    {"gpu.family", "[a-z-]+"},
    {"gpu.mode", "unknown|compute|graphics"},
    {"mig.capable", "true|false"},
    {"gpu.compute.major", "[0-9]+"},
    {"gpu.compute.minor", "[0-9]+"},
    {"mps.capable", "true|false"},
    {"vgpu.present", "true|false"},  // expected-output-vgpu.txt
};
// The names for the resource gpu in expected-output-mig-single.txt, and for each profile in
// expected-output-mig-mixed.txt.
const std::vector<std::string> kOfInstances{"multiprocessors", "engines.copy", "engines.decoder", "engines.encoder",
                                            "engines.jpeg",    "engines.ofa",  "slices.gi",       "slices.ci"};
const std::vector<std::string> kOfProfiles{"product", "count", "replicas", "sharing-strategy", "memory"};

struct Node {
  std::string product = "h100";
  int gpus = 1;
  std::map<int, std::vector<std::pair<unsigned, unsigned>>> divided = {};  // profile ids and places, by GPU in MIG mode
};

class NvidiaLabels : public NvidiaFixture {
 protected:
  void lay_out(const Node& node) {
    gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = node.product, .gpus = node.gpus});
    for (const auto& [gpu, instances] : node.divided) {
      gpus->set_mig_mode(gpu, true);
      for (const auto& [profile, start] : instances) gpus->create_instance(gpu, profile, start);
    }
  }
  void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  void name_machine(const std::string& name) { write(gpus->sysfs() / "class/dmi/id/product_name", name + "\n"); }
  fs::path function(int gpu) const { return gpus->sysfs() / "bus/pci/devices" / gpus->bus_id(gpu); }

  // The labels, by name without the domain.
  Labels labels(const Options& options = {}) {
    const Status started = start_again(options);
    EXPECT_TRUE(started) << started.error().message;
    if (!started) return {};
    discover();
    const auto collected = run(module->call(CollectLabelsCall{}, soon()));
    EXPECT_TRUE(collected) << collected.error().message;
    EXPECT_EQ(collected->left_out.count, 0u) << collected->left_out.first;
    Labels found;
    for (const auto& [name, value] : collected->values) {
      EXPECT_TRUE(name.starts_with("nvidia.com/")) << name;
      found[name.substr(name.find('/') + 1)] = value;
    }
    return found;
  }
  Labels labels(const Node& node, const Options& options) {
    lay_out(node);
    return labels(options);
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaLabels, ::testing::Values(Isolation::kInProcess), name_of_isolation);

Options with(const std::string& strategy, const std::vector<std::string>& replicas = {}) {
  return {{"label_mig_strategy", strategy}, {"label_replicas", replicas}};
}

// Compares names and value patterns, as the end-to-end tests of GPU feature discovery do.
void expect_shape(Labels found, const std::vector<std::pair<std::string, std::string>>& shape) {
  for (const auto& [name, value] : shape) {
    const auto label = found.extract(name);
    ASSERT_FALSE(label.empty()) << name << " is missing";
    EXPECT_TRUE(std::regex_match(label.mapped(), std::regex(value))) << name << "=" << label.mapped();
  }
  EXPECT_THAT(found, IsEmpty());
}

TEST_P(NvidiaLabels, HaveTheNamesOfEachStrategy) {
  const Node divided{.gpus = 1, .divided = {{0, {{19, 0}, {19, 1}}}}};
  expect_shape(labels(divided, with("none")), kAlways);

  auto single = kAlways;
  single.emplace_back("mig.strategy", "single");
  for (const std::string& name : kOfInstances) single.emplace_back("gpu." + name, "[0-9]+");
  expect_shape(labels(divided, with("single")), single);

  auto mixed = kAlways;
  mixed.emplace_back("mig.strategy", "mixed");
  for (const std::string& name : kOfInstances) mixed.emplace_back("mig-1g.10gb." + name, "[0-9]+");
  for (const std::string& name : kOfProfiles) mixed.emplace_back("mig-1g.10gb." + name, ".+");
  expect_shape(labels(divided, with("mixed")), mixed);
}

struct Case {
  std::string about;
  Node node;
  Options options;
  Labels expected;
};

const Labels kHopper{{"gpu.compute.major", "9"}, {"gpu.compute.minor", "0"}, {"gpu.family", "hopper"}};
constexpr const char* kProduct = "NVIDIA-H100-80GB-HBM3";

Labels gpu_labels(const std::string& product, int count, int replicas, const std::string& strategy = "none") {
  Labels made = kHopper;
  made.insert({{"gpu.product", product},
               {"gpu.count", std::to_string(count)},
               {"gpu.replicas", std::to_string(replicas)},
               {"gpu.sharing-strategy", strategy}});
  return made;
}
Labels mig_labels(const std::string& resource, const std::string& product, int count, int replicas) {
  return {{resource + ".product", product},
          {resource + ".count", std::to_string(count)},
          {resource + ".replicas", std::to_string(replicas)},
          {resource + ".sharing-strategy", replicas > 1 ? "time-slicing" : "none"},
          {resource + ".slices.gi", "1"},
          {resource + ".slices.ci", "1"},
          {resource + ".multiprocessors", "16"}};
}
Labels invalid_labels(std::string product) {
  return {{"gpu.product", product += "-MIG-INVALID"},
          {"gpu.count", "0"},
          {"gpu.replicas", "0"},
          {"gpu.memory", "0"},
          {"mig.strategy", "single"}};
}

const std::vector<Case> kCases{
    {"single non-mig device", {}, with("none"), gpu_labels(kProduct, 1, 1)},
    {"sharing is applied to single device",
     {},
     with("none", {"gpu=2"}),
     gpu_labels("NVIDIA-H100-80GB-HBM3-SHARED", 1, 2, "time-slicing")},
    {"sharing is applied to multiple devices",
     {.gpus = 2},
     with("none", {"nvidia.com/gpu=2"}),
     gpu_labels("NVIDIA-H100-80GB-HBM3-SHARED", 2, 2, "time-slicing")},
    {"time-slicing ignores non-matching resource", {}, with("none", {"not-gpu=2"}), gpu_labels(kProduct, 1, 1)},
    {"renamed does not append suffix", {}, with("none", {"gpu=2 renamed"}), gpu_labels(kProduct, 1, 2, "time-slicing")},
    {"one replica is not sharing", {}, with("none", {"gpu=1"}), gpu_labels(kProduct, 1, 1)},
    {"sharing is not applied to multiple MIG devices",
     {.gpus = 2, .divided = {{0, {}}, {1, {}}}},
     with("none", {"gpu=2"}),
     gpu_labels(kProduct, 2, 0)},
    {"sharing is applied to MIG device and non-MIG device",
     {.gpus = 2, .divided = {{0, {}}}},
     with("none", {"gpu=2"}),
     gpu_labels("NVIDIA-H100-80GB-HBM3-SHARED", 2, 2, "time-slicing")},
    {"single: multiple non-mig devices return none labels", {.gpus = 2}, with("single"), gpu_labels(kProduct, 2, 1)},
    {"single: mig-enabled devices return mig labels",
     {.gpus = 2, .divided = {{0, {{19, 0}}}, {1, {{19, 0}, {19, 4}}}}},
     with("single"),
     mig_labels("gpu", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", 3, 1)},
    {"single: shared appends suffix",
     {.divided = {{0, {{19, 0}}}}},
     with("single", {"gpu=2"}),
     mig_labels("gpu", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb-SHARED", 1, 2)},
    {"single: empty mig devices return MIG invalid label",
     {.divided = {{0, {}}}},
     with("single"),
     invalid_labels(kProduct)},
    {"single: several profiles return MIG invalid label",
     {.divided = {{0, {{19, 0}, {9, 4}}}}},
     with("single"),
     invalid_labels(kProduct)},
    {"single: mig enabled and disabled return invalid config",
     {.gpus = 2, .divided = {{0, {{19, 0}}}}},
     with("single"),
     invalid_labels(kProduct)},
    {"mixed",
     {.divided = {{0, {{19, 0}, {19, 1}, {9, 4}}}}},
     with("mixed"),
     mig_labels("mig-1g.10gb", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", 2, 1)},
    {"mixed appends shared",
     {.divided = {{0, {{19, 0}}}}},
     with("mixed", {"gpu=2", "mig-1g.10gb=3"}),
     mig_labels("mig-1g.10gb", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb-SHARED", 1, 3)},
    {"mixed rename does not append",
     {.divided = {{0, {{19, 0}}}}},
     with("mixed", {"mig-1g.10gb=3 renamed"}),
     mig_labels("mig-1g.10gb", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", 1, 3)},
    // The resource is nvidia.com/mig-1g.10gb.me, because names have no '+'.
    {"mixed with media extensions",
     {.divided = {{0, {{20, 0}}}}},
     with("mixed"),
     {{"mig-1g.10gb.me.count", "1"}, {"mig-1g.10gb.me.product", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gbme"}}},
};

TEST_P(NvidiaLabels, AreThoseOfItsTests) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.about);
    EXPECT_THAT(labels(one.node, one.options), IsSupersetOf(one.expected));
  }
}

// Labels of published nodes: a T4 at Google, and A100s at VMware.
TEST_P(NvidiaLabels, AreThoseOfAPublishedNode) {
  lay_out({.product = "t4"});
  name_machine("Google Compute Engine");
  Labels found = labels();
  EXPECT_TRUE(std::regex_match(found["gfd.timestamp"], std::regex("[0-9]{10}")));
  std::erase_if(found, [](const auto& one) { return one.first.starts_with("cuda.") || one.first == "gfd.timestamp"; });
  EXPECT_EQ(found, (Labels{{"gpu.compute.major", "7"},
                           {"gpu.compute.minor", "5"},
                           {"gpu.count", "1"},
                           {"gpu.family", "turing"},
                           {"gpu.machine", "Google-Compute-Engine"},
                           {"gpu.memory", "15360"},
                           {"gpu.mode", "compute"},
                           {"gpu.product", "Tesla-T4"},
                           {"gpu.replicas", "1"},
                           {"gpu.sharing-strategy", "none"},
                           {"mig.capable", "false"},
                           {"mps.capable", "false"},
                           {"vgpu.present", "false"}}));
}

TEST_P(NvidiaLabels, NameTheMachineWithoutWhatALabelCannotHave) {
  lay_out({});
  EXPECT_EQ(labels()["gpu.machine"], "unknown");
  for (const auto& [name, label] :
       {std::pair<std::string, std::string>("Standard PC (Q35 + ICH9, 2009)", "Standard-PC-Q35-ICH9-2009"),
        {"VMware7,1", "VMware71"},
        {"VMware20,1", "VMware201"},
        {"g6.12xlarge", "g6.12xlarge"},
        {"VivoBook_ASUSLaptop X571GT_F571GT", "VivoBook_ASUSLaptop-X571GT_F571GT"},
        {"  DGX   H100  ", "DGX-H100"}}) {
    name_machine(name);
    EXPECT_EQ(labels()["gpu.machine"], label);
  }
}

TEST_P(NvidiaLabels, HaveTheVersionsUnderTheirOlderNamesToo) {
  Labels found = labels(Node{}, {});
  EXPECT_EQ(found["cuda.driver.major"], "580");
  EXPECT_EQ(found["cuda.driver.minor"], "65");
  EXPECT_EQ(found["cuda.driver.rev"], "06");
  EXPECT_EQ(found["cuda.runtime.major"], "13");
  EXPECT_EQ(found["cuda.runtime.minor"], "0");
  gpus->upgrade_driver("535.161");
  found = labels();
  EXPECT_EQ(found["cuda.driver-version.revision"], "");
  EXPECT_EQ(found["cuda.driver.rev"], "");
}

TEST_P(NvidiaLabels, HaveNoCliqueIfTheGpusDifferInIt) {
  lay_out({.gpus = 2});
  for (const int gpu : {0, 1}) {
    gpus->set_fabric(gpu, nvml::kFabricCompleted, nvml::kSuccess, 7);
    std::ranges::fill(gpus->state()->gpus[gpu].fabric.clusterUuid, static_cast<unsigned char>(0xab));
  }
  EXPECT_EQ(labels()["gpu.clique"], "abababab-abab-abab-abab-abababababab.7");
  gpus->set_fabric(1, nvml::kFabricCompleted, nvml::kSuccess, 8);
  EXPECT_FALSE(labels().contains("gpu.clique"));
}

TEST_P(NvidiaLabels, TellTheModeByTheClassOfTheGpus) {
  lay_out({.gpus = 2});
  for (const int gpu : {0, 1}) write(function(gpu) / "class", "0x030000\n");
  EXPECT_EQ(labels()["gpu.mode"], "graphics");
  write(function(1) / "class", "0x030200\n");
  EXPECT_EQ(labels()["gpu.mode"], "unknown");
}

// The capability of vgpu_test.go, at the offset where it was seen.
TEST_P(NvidiaLabels, NameTheDriverOfTheHostOfAVirtualGpu) {
  lay_out({});
  gpus->state()->gpus[0].virtualization = nvml::kVgpuGuest;
  EXPECT_EQ(labels()["vgpu.present"], "true") << "without the privilege to read more";
  EXPECT_FALSE(labels().contains("vgpu.host-driver-version"));

  const std::string capability = std::string("\x09\x00\x1e\x56\x46", 5) + std::string("\x01\x03\xff", 3) +
                                 std::string("\x00\x16", 2) + std::string("460.16\0\0\0\0", 10) +
                                 std::string("r460_00\0\0\0", 10);
  std::string space(256, '\0');
  space[0x06] = 0x10;
  space[0x34] = '\xd0';
  space.replace(0xd0, capability.size(), capability);
  write(function(0) / "config", space);
  Labels found = labels();
  EXPECT_EQ(found["vgpu.host-driver-version"], "460.16");
  EXPECT_EQ(found["vgpu.host-driver-branch"], "r460_00");

  // The malformed records of that test.
  for (const char* records : {"", "\x01", "\x01\x01", "\x01\xff", "\x02\x02"}) {
    std::string broken = space;
    broken.replace(0xd5, capability.size() - 5, capability.size() - 5, '\0');
    broken.replace(0xd5, std::strlen(records), records);
    broken[0xd2] = static_cast<char>(5 + std::strlen(records));
    write(function(0) / "config", broken);
    EXPECT_FALSE(labels().contains("vgpu.host-driver-version")) << testing::PrintToString(std::string(records));
  }
}

TEST_P(NvidiaLabels, LeaveTheTimeOutIfTheOperatorWantsThat) {
  EXPECT_FALSE(labels(Node{}, {{"label_timestamp", false}}).contains("gfd.timestamp"));
}

TEST_P(NvidiaLabels, RefuseReplicasThatAreNone) {
  lay_out({});
  for (const char* wrong : {"gpu", "gpu=", "=2", "gpu=two", "gpu=0", "gpu=2 shared", "gpu=-1"}) {
    const Status started = start_again({{"label_replicas", std::vector<std::string>{wrong}}});
    ASSERT_FALSE(started) << wrong;
    EXPECT_THAT(started.error().message, ::testing::HasSubstr(std::string("label_replicas: '") + wrong + "'"));
  }
}

}  // namespace
}  // namespace cardcage
