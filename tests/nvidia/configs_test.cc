// Configurations of claims for NVIDIA's DRA driver, and that driver's verdict on each.
//
// The verdicts are read from kubernetes-sigs/dra-driver-nvidia-gpu at c128a8b624c8 with the gates TimeSlicingSettings
// and MPSSupport: api.go (a strict decoder), gpuconfig.go and migconfig.go (Normalize), validate.go, sharing.go
// (limits), and getConfigResultsMap() and applySharingConfig() of cmd/gpu-kubelet-plugin/device_state.go. Amounts are
// the results of resource.Quantity in k8s.io/apimachinery 0.37.1, divided as sharing.go does.
#include <sys/mount.h>

#include "host/core/file.h"
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

enum class Verdict : std::uint8_t { kTaken, kRefused, kCrash };

struct Document {
  std::string kind, members;  // without apiVersion and kind
  ConfigSource source = ConfigSource::kClaim;
};

struct Configuration {
  std::vector<Document> documents;  // in the order of a claim's `config`
  Verdict theirs;
  std::string effect = {};  // expected part of the commands for nvidia-smi and the MPS control daemon
  bool differs = false;     // the module judges otherwise: see the comment there
  std::string device = {};  // instead of two GPUs
};

Document gpu(const std::string& members, ConfigSource source = ConfigSource::kClaim) {
  return {"GpuConfig", members, source};
}
Document mig(const std::string& members) { return {"MigDeviceConfig", members}; }
std::string sharing(const std::string& members) { return R"("sharing":{)" + members + "}"; }
std::string slicing(const std::string& more = {}) { return sharing(R"("strategy":"TimeSlicing")" + more); }
std::string interval(const std::string& value) { return slicing(R"(,"timeSlicingConfig":{"interval":)" + value + "}"); }
std::string mps(const std::string& config) { return sharing(R"("strategy":"MPS","mpsConfig":{)" + config + "}"); }
std::string threads(const std::string& value) { return mps(R"("defaultActiveThreadPercentage":)" + value); }
std::string memory(const std::string& value) { return mps(R"("defaultPinnedDeviceMemoryLimit":)" + value); }
std::string memories(const std::string& entries) {
  return mps(R"("defaultPerDevicePinnedMemoryLimit":{)" + entries + "}");
}
// The limits of both GPUs.
std::string limits(const std::string& amount) {
  return "set_default_device_pinned_mem_limit 0 " + amount + "\nset_default_device_pinned_mem_limit 1 " + amount + "\n";
}

constexpr const char *kNothing = "", *kMps = "started -f", *kMigDevice = "gpu-2-mig-1g10gb-19-0";

const std::vector<Configuration> kStrategies{
    {{}, Verdict::kTaken},
    {{gpu("")}, Verdict::kTaken},
    {{gpu(R"("sharing":{})")}, Verdict::kRefused},
    {{gpu(R"("sharing":null)")}, Verdict::kTaken, kNothing, true},  // no parameter is null here: write none
    {{gpu(R"("sharing":"MPS")")}, Verdict::kRefused},
    {{gpu(R"("sharing":[])")}, Verdict::kRefused},
    {{gpu(R"("Sharing":{"strategy":"MPS"})")}, Verdict::kRefused},
    {{gpu(sharing(R"("strategy":"")"))}, Verdict::kRefused},
    {{gpu(sharing(R"("strategy":"mps")"))}, Verdict::kRefused},
    {{gpu(sharing(R"("strategy":"Fabric")"))}, Verdict::kRefused},
    {{gpu(sharing(R"("strategy":"MPS","strategies":[])"))}, Verdict::kRefused},
    {{gpu(sharing(R"("mpsConfig":{})"))}, Verdict::kRefused},
    {{gpu(sharing(R"("timeSlicingConfig":{"interval":"Long"})"))}, Verdict::kRefused},
    {{gpu(slicing())}, Verdict::kTaken, "--set-timeslice 0"},
    {{gpu(interval(R"("Default")"))}, Verdict::kTaken, "--set-timeslice 0"},
    {{gpu(interval(R"("Short")"))}, Verdict::kTaken, "--set-timeslice 1"},
    {{gpu(interval(R"("Medium")"))}, Verdict::kTaken, "--set-timeslice 2"},
    {{gpu(interval(R"("Long")"))}, Verdict::kTaken, "--set-timeslice 3"},
    {{gpu(interval(R"("Tiny")"))}, Verdict::kRefused},
    {{gpu(interval(R"("")"))}, Verdict::kRefused},
    {{gpu(interval("3"))}, Verdict::kRefused},
    // Validate() of a null interval.
    {{gpu(slicing(R"(,"timeSlicingConfig":{})"))}, Verdict::kCrash, "--set-timeslice 0"},
    {{gpu(slicing(R"(,"mpsConfig":{})"))}, Verdict::kRefused},
    {{gpu(slicing(R"(,"mpsConfig":{"multiUser":true})"))}, Verdict::kRefused},
    {{gpu(sharing(R"("strategy":"MPS")"))}, Verdict::kTaken, kMps},
    {{gpu(mps(""))}, Verdict::kTaken, kMps},
    {{gpu(sharing(R"("strategy":"MPS","timeSlicingConfig":{})"))}, Verdict::kRefused},
    {{gpu(sharing(R"("strategy":"MPS","timeSlicingConfig":{"interval":"Default"})"))}, Verdict::kRefused},
    {{gpu(threads("0"))}, Verdict::kTaken, "set_default_active_thread_percentage 0\n"},
    {{gpu(threads("100"))}, Verdict::kTaken, "set_default_active_thread_percentage 100\n"},
    {{gpu(threads("101"))}, Verdict::kRefused},
    {{gpu(threads("-1"))}, Verdict::kRefused},
    {{gpu(threads(R"("50")"))}, Verdict::kRefused},
    {{gpu(threads("50.5"))}, Verdict::kRefused},
    {{gpu(mps(R"("defaultThreads":50)"))}, Verdict::kRefused},
    {{gpu(mps(R"("multiUser":true)"))}, Verdict::kTaken, "started -f -M"},
    {{gpu(mps(R"("multiUser":"true")"))}, Verdict::kRefused},
};

const std::vector<Configuration> kAmounts{
    {{gpu(memory(R"("10Gi")"))}, Verdict::kTaken, limits("10240M")},
    {{gpu(memory("4294967296"))}, Verdict::kTaken, limits("4096M")},
    {{gpu(memory(R"("4294967296")"))}, Verdict::kTaken, limits("4096M")},
    {{gpu(memory("1e10"))}, Verdict::kTaken, limits("9536M")},
    {{gpu(memory("1.5e9"))}, Verdict::kTaken, limits("1430M")},
    {{gpu(memory("1048576.5"))}, Verdict::kTaken, limits("1M")},
    {{gpu(memory(R"("1e10")"))}, Verdict::kTaken, limits("9536M")},
    {{gpu(memory(R"("10E9")"))}, Verdict::kTaken, limits("9536M")},
    {{gpu(memory(R"("1.5Gi")"))}, Verdict::kTaken, limits("1536M")},
    {{gpu(memory(R"(".5Gi")"))}, Verdict::kTaken, limits("512M")},
    {{gpu(memory(R"("+1Gi")"))}, Verdict::kTaken, limits("1024M")},
    {{gpu(memory(R"("1500M")"))}, Verdict::kTaken, limits("1430M")},
    {{gpu(memory(R"("1Mi")"))}, Verdict::kTaken, limits("1M")},
    {{gpu(memory(R"("1048575.5")"))}, Verdict::kTaken, limits("1M")},
    {{gpu(memory(R"("1073741824000m")"))}, Verdict::kTaken, limits("1024M")},
    {{gpu(memory(R"("1Pi")"))}, Verdict::kTaken, limits("1073741824M")},
    {{gpu(memory(R"("1Ei")"))}, Verdict::kTaken, limits("1099511627776M")},
    {{gpu(memory(R"("16Ei")"))}, Verdict::kTaken, "8796093022207M", true},  // they accept 8Ei
    {{gpu(memory(R"(" 1Gi ")"))}, Verdict::kTaken, limits("1024M"), true},  // they drop the spaces
    {{gpu(memory(R"("1048575")"))}, Verdict::kRefused},
    {{gpu(memory("1048575"))}, Verdict::kRefused},
    {{gpu(memory(R"("2k")"))}, Verdict::kRefused},
    {{gpu(memory(R"("500m")"))}, Verdict::kRefused},
    {{gpu(memory(R"("0")"))}, Verdict::kRefused},
    {{gpu(memory("0"))}, Verdict::kRefused},
    {{gpu(memory(R"("-1Gi")"))}, Verdict::kRefused},
    {{gpu(memory(R"("lots")"))}, Verdict::kRefused},
    {{gpu(memory(R"("")"))}, Verdict::kRefused},
    {{gpu(memory(R"("1 Gi")"))}, Verdict::kRefused},
    {{gpu(memory(R"("1GB")"))}, Verdict::kRefused},
    {{gpu(memory(R"("1K")"))}, Verdict::kRefused},
    {{gpu(memory(R"("1gi")"))}, Verdict::kRefused},
    {{gpu(memory(R"("1e")"))}, Verdict::kRefused},
    {{gpu(memory("true"))}, Verdict::kRefused},
    {{gpu(memories(R"("0":"1Gi")"))}, Verdict::kTaken, "set_default_device_pinned_mem_limit 0 1024M\n"},
    {{gpu(memories(R"("1":2147483648)"))}, Verdict::kTaken, "set_default_device_pinned_mem_limit 1 2048M\n"},
    {{gpu(memories(R"("01":"1Gi")"))}, Verdict::kTaken, "set_default_device_pinned_mem_limit 1 1024M\n"},
    {{gpu(memories(R"("FIRST":"1Gi")"))}, Verdict::kTaken, "set_default_device_pinned_mem_limit 0 1024M\n"},
    {{gpu(memories(R"("SECOND":"1Gi")"))}, Verdict::kTaken, "set_default_device_pinned_mem_limit 1 1024M\n"},
    {{gpu(memories(R"("2":"1Gi")"))}, Verdict::kRefused},
    {{gpu(memories(R"("-1":"1Gi")"))}, Verdict::kRefused},
    {{gpu(memories(R"("GPU-1":"1Gi")"))}, Verdict::kRefused},
    {{gpu(memories(R"("0":"1k")"))}, Verdict::kRefused},
    {{gpu(memories(R"("0":null)"))}, Verdict::kRefused},
    {{gpu(memories(R"("0":true)"))}, Verdict::kRefused},
    {{gpu(mps(R"("defaultPinnedDeviceMemoryLimit":"2Gi","defaultPerDevicePinnedMemoryLimit":{"1":"1Gi"})"))},
     Verdict::kTaken,
     "set_default_device_pinned_mem_limit 0 2048M\nset_default_device_pinned_mem_limit 1 1024M\n"},
};

constexpr ConfigSource kClass = ConfigSource::kClass;
const std::vector<Configuration> kSeveral{
    {{gpu(sharing(R"("strategy":"Fabric")"), kClass), gpu(interval(R"("Long")"))},
     Verdict::kTaken,
     "--set-timeslice 3"},
    {{gpu(threads("500")), gpu(threads("20"))}, Verdict::kTaken, "set_default_active_thread_percentage 20\n"},
    {{gpu(sharing("")), gpu(slicing())}, Verdict::kTaken, "--set-timeslice 0"},
    {{gpu(threads("20")), gpu(threads("500"))}, Verdict::kRefused},
    {{gpu(threads(R"("20")")), gpu(threads("20"))}, Verdict::kRefused},
    {{gpu(memory(R"("lots")")), gpu(memory(R"("1Gi")"))}, Verdict::kRefused},
    {{gpu(interval(R"("Long")"), kClass), gpu(sharing(R"("strategy":"MPS")"))}, Verdict::kTaken, kMps},
    {{gpu(mps(R"("multiUser":true)"), kClass), gpu(interval(R"("Short")"))}, Verdict::kTaken, "--set-timeslice 1"},
    {{gpu(sharing(R"("strategy":"MPS")"), kClass), gpu("")}, Verdict::kTaken},
    // The class precedes the claim in either order.
    {{gpu(interval(R"("Long")")), gpu(interval(R"("Short")"), kClass)}, Verdict::kTaken, "--set-timeslice 3"},
    {{gpu(interval(R"("Long")")), mig(sharing(R"("strategy":"MPS")"))}, Verdict::kTaken, "--set-timeslice 3"},
};

const std::vector<Configuration> kMigDevices{
    {{mig(slicing())}, Verdict::kTaken, kNothing, false, kMigDevice},
    {{mig(slicing(R"(,"mpsConfig":{"defaultActiveThreadPercentage":50})"))},
     Verdict::kTaken,
     kNothing,
     false,
     kMigDevice},
    {{mig(interval(R"("Long")"))}, Verdict::kRefused, kNothing, false, kMigDevice},
    {{mig(R"("sharing":{})")}, Verdict::kRefused, kNothing, false, kMigDevice},
    {{mig(sharing(R"("strategy":"MPS")"))}, Verdict::kTaken, "CUDA_VISIBLE_DEVICES=MIG-", false, kMigDevice},
    {{mig(threads("500"))}, Verdict::kRefused, kNothing, false, kMigDevice},
    {{mig(memory("1e9"))}, Verdict::kTaken, "set_default_device_pinned_mem_limit 0 953M\n", false, kMigDevice},
    {{gpu(sharing(R"("strategy":"MPS")"))}, Verdict::kTaken, kNothing, false, kMigDevice},  // not for MIG
    {{{"GpuConfiguration", ""}}, Verdict::kRefused, kNothing, false, kMigDevice},
};

class NvidiaConfigs : public NvidiaFixture {
 protected:
  NvidiaConfigs() { services = std::make_shared<Services>(core, clock, places); }
  ~NvidiaConfigs() override {
    let_go();
    EXPECT_TRUE(finish(services->stop_all("m", "u", later())));
    ::umount2((root() / "u/shm").c_str(), MNT_DETACH);
    ::umount2((root() / "u").c_str(), MNT_DETACH);
  }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
    ASSERT_TRUE(start_on({.product = "h100", .gpus = 3}, {{"mps_root", root().native()}}));
    gpus->set_mig_mode(2, true);
    gpus->create_instance(2, 19, 0);
  }
  fs::path root() const { return folder / "mps"; }

  // FIRST and SECOND are the GPUs in the order of their UUIDs.
  std::string with_uuids(std::string members) const {
    const std::string one = gpus->uuid(0), other = gpus->uuid(1);
    const std::pair<std::string, std::string> words[] = {{"FIRST", std::min(one, other)},
                                                         {"SECOND", std::max(one, other)}};
    for (const auto& [word, uuid] : words)
      if (const auto at = members.find(word); at != std::string::npos) members.replace(at, word.size(), uuid);
    return members;
  }

  // Reads them as the host does, for one device.
  Result<OptionValues> values_of(const Configuration& one, const std::string& kind) const {
    std::vector<DecodedParams> decoded;
    for (const ConfigSource source : {ConfigSource::kClass, ConfigSource::kClaim}) {
      for (const Document& document : one.documents) {
        if (document.source != source) continue;
        const std::string members = document.members.empty() ? "" : "," + with_uuids(document.members);
        const auto read = decode_params(
            module->identity(), source,
            fmt::format(R"({{"apiVersion":"resource.nvidia.com/v1beta1","kind":"{}"{}}})", document.kind, members));
        if (!read) return std::unexpected(read.error());
        if (takes(*read->schema, kind)) decoded.push_back(*read);
      }
    }
    return resolve_params(module->identity(), kind, decoded);
  }

  Status prepare_with(const Configuration& one, ModuleClaim& wanted) {
    for (ModuleAllocation& allocation : wanted.allocations) {
      auto values = values_of(one, one.device.empty() ? "gpu" : "mig");
      if (!values) return std::unexpected(values.error());
      allocation.values = std::move(*values);
    }
    auto prepared = kept(finish(preparing(wanted, later())), wanted);
    return prepared ? Status() : std::unexpected(prepared.error());
  }

  void judge(const Configuration& one) {
    std::string written;
    for (const Document& document : one.documents) written += document.kind + " {" + document.members + "} ";
    SCOPED_TRACE(written);
    const auto devices = one.device.empty() ? std::vector<std::string>{"gpu-0", "gpu-1"} : std::vector{one.device};
    ModuleClaim wanted = claim_of("u", devices);
    const std::size_t before = gpus->smi_log().size();
    const Status done = prepare_with(one, wanted);
    const bool expected = (one.theirs != Verdict::kRefused) != one.differs;
    EXPECT_EQ(done.has_value(), expected) << (done ? "it was prepared" : done.error().message);
    if (done) {
      const std::string told =
          gpus->smi_log().substr(before) + read_file(root() / "u/log/control.log", 10'000).value_or("");
      EXPECT_THAT(told, HasSubstr(one.effect));
      if (one.effect.empty()) {
        EXPECT_EQ(told, "");
      }
    }
    EXPECT_TRUE(finish(module->call(UnprepareCall{wanted}, later())));
  }

  Services::Places places{.records = folder / "records", .outputs = folder / "outputs", .groups = {}, .boot_id = "b"};
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaConfigs, ::testing::Values(Isolation::kInProcess), name_of_isolation);

TEST_P(NvidiaConfigs, StrategiesAreJudgedAsNvidiasDriverDoes) {
  for (const Configuration& one : kStrategies) judge(one);
}

TEST_P(NvidiaConfigs, AmountsAreReadAsNvidiasDriverDoes) {
  for (const Configuration& one : kAmounts) judge(one);
}

TEST_P(NvidiaConfigs, OfSeveralTheLastCountsAsNvidiasDriverDoesIt) {
  for (const Configuration& one : kSeveral) judge(one);
}

TEST_P(NvidiaConfigs, ThoseOfMigDevicesAreJudgedAsNvidiasDriverDoes) {
  for (const Configuration& one : kMigDevices) judge(one);
}

// mps_capability.go.
TEST_P(NvidiaConfigs, SeveralUsersNeedAVolta) {
  for (const int gpu : {0, 1}) gpus->state()->gpus[gpu].major = 6;
  ASSERT_TRUE(start_again({{"mps_root", root().native()}}));
  ModuleClaim wanted = claim_of("u", {"gpu-0", "gpu-1"});
  const Status done = prepare_with({{gpu(mps(R"("multiUser":true)"))}, Verdict::kRefused}, wanted);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("is older than Volta"));
  judge({{gpu(mps(R"("multiUser":false)"))}, Verdict::kTaken, kMps});
}

// sharing_test.go: TestValidateNoSharingWithAdminAccess, TestGetConfigResultsMapSharingSourceForAdminAccess.
TEST_P(NvidiaConfigs, AnAdministratorDoesNotChangeHowAGpuIsShared) {
  const auto prepared = [&](ConfigSource source) {
    ModuleClaim wanted = claim_of("u", {"gpu-0"});
    wanted.allocations[0].admin_access = true;
    const Status done = prepare_with({{gpu(interval(R"("Long")"), source)}, Verdict::kTaken}, wanted);
    EXPECT_EQ(gpus->smi_log(), "");
    return done ? "it was prepared" : done.error().message;
  };
  EXPECT_THAT(prepared(ConfigSource::kClaim),
              HasSubstr("request 'main' has admin access, which must not change how a device is shared"));
  EXPECT_EQ(prepared(ConfigSource::kClass), "it was prepared") << "without time slices";
}

}  // namespace
}  // namespace cardcage
