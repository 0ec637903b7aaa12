#include "host/cdi/spec.h"

#include <gmock/gmock.h>

#include "host/cdi/names.h"
#include "host/core/file.h"
#include "tests/fakes/source_folder.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

const ServedName kDriver{Api::kDra, "gpu.example.com"};

std::string golden(const std::string& name) {
  return read_file(source_folder() / "tests/golden/cdi" / name, 1 << 20).value();
}

CdiSpec plain() {
  CdiSpec spec;
  spec.kind = cdi_kind(kDriver);
  spec.devices.resize(2);
  spec.devices[0].name = cdi_device_name("c0ffee", "gpu-0", "");
  spec.devices[0].edits.device_nodes.resize(1);
  spec.devices[0].edits.device_nodes[0].path = "/dev/gpu0";
  spec.devices[1].name = cdi_device_name("c0ffee", "gpu-1", "");
  spec.devices[1].edits.env.push_back({"GPU", "1"});
  return spec;
}

CdiSpec every_field() {
  CdiSpec spec;
  spec.kind = cdi_kind(kDriver);
  spec.edits.env = {{"CLAIM", "train"}, {"EMPTY", ""}};
  spec.edits.additional_gids = {44, 109};
  CdiDevice& device = spec.devices.emplace_back();
  device.name = cdi_device_name("8f0c", "gpu-0", "4be1");
  device.edits.env = {{"GPU", "a=b"}};
  device.edits.device_nodes = {{"/dev/gpu0", "/dev/vendor/gpu7", "c", "rw", 195, 0, 0666, 0, 44}};
  device.edits.net_devices = {{"ens1f0v3", "net1"}};
  device.edits.hooks = {{"createContainer", "/usr/bin/hook", {"hook", "--all"}, {"A=1"}, 5}};
  device.edits.mounts = {{"/opt/lib", "/usr/lib/gpu", "bind", {"ro", "bind"}}};
  return spec;
}

TEST(CdiSpecTest, WritesTheExpectedFile) {
  EXPECT_EQ(serialize_cdi(plain()).value(), golden("plain.json"));
  EXPECT_EQ(serialize_cdi(every_field()).value(), golden("every_field.json"));
}

TEST(CdiSpecTest, ReadsBackWhatItWrote) {
  EXPECT_EQ(parse_cdi(golden("plain.json")).value(), plain());
  EXPECT_EQ(parse_cdi(golden("every_field.json")).value(), every_field());
}

// tests/cluster/test_06_cdi_files.py lets the runtimes' loader read this file.
TEST(CdiSpecTest, EscapesWhatYamlWouldRefuseOrChange) {
  CdiSpec spec = plain();
  std::string text = "a";
  for (const char* odd : {"\u007f", "\u0080", "\u0085", "\u009f", " \u2028 ", " \u2029 ", "\ufffe", "\uffff"})
    text += odd;
  const std::string plain_text = "\u00a0\u00e9\u2027\u202a\ufeff\ufffd\U0001f600\U0010ffff";
  spec.devices[1].edits.env = {{"ODD", text}, {"PLAIN", plain_text}};
  const std::string written = serialize_cdi(spec).value();
  EXPECT_EQ(written, golden("odd_text.json"));
  EXPECT_THAT(written, HasSubstr(R"(ODD=a\u007f\u0080\u0085\u009f \u2028  \u2029 \ufffe\uffff")"));
  EXPECT_THAT(written, HasSubstr("PLAIN=" + plain_text)) << "other characters are written as they are";
  EXPECT_EQ(parse_cdi(written).value(), spec);
}

TEST(CdiSpecTest, RefusesAHostInterfaceThatOccursTwice) {
  CdiSpec spec = plain();
  spec.devices[0].edits.net_devices = {{"eth1", "net1"}, {"eth2", "net2"}};
  EXPECT_TRUE(serialize_cdi(spec));
  spec.devices[1].edits.net_devices = {{"eth1", "net3"}};
  const auto in_two_devices = serialize_cdi(spec);
  ASSERT_FALSE(in_two_devices);
  EXPECT_EQ(in_two_devices.error().code, Code::kInvalidArgument);
  EXPECT_THAT(in_two_devices.error().message, HasSubstr("host interface 'eth1' occurs twice"));
  spec.devices[1].edits.net_devices.clear();
  spec.edits.net_devices = {{"eth2", "net3"}};
  EXPECT_FALSE(serialize_cdi(spec)) << "in a device and in the edits of the claim";
}

TEST(CdiSpecTest, TheNewestFieldDecidesTheVersion) {
  CdiSpec spec = plain();
  EXPECT_EQ(lowest_cdi_version(spec), "0.3.0");
  spec.devices[1].edits.mounts = {{"/a", "/b", "", {"ro"}}};
  EXPECT_EQ(lowest_cdi_version(spec), "0.3.0");
  spec.devices[1].edits.mounts[0].type = "bind";
  EXPECT_EQ(lowest_cdi_version(spec), "0.4.0");
  spec.devices[0].name = cdi_device_name("0c0ffee", "gpu-0", "");
  EXPECT_EQ(lowest_cdi_version(spec), "0.5.0") << "a name that starts with a digit";
  spec = plain();
  spec.edits.device_nodes = {{"/dev/a", "/dev/b", "", "", {}, {}, {}, {}, {}}};
  EXPECT_EQ(lowest_cdi_version(spec), "0.5.0") << "hostPath, also in the edits of the claim";
  spec.kind = "vendor.com/a.b";
  EXPECT_EQ(lowest_cdi_version(spec), "0.6.0") << "a dot in the class";
  spec.edits.additional_gids = {44};
  EXPECT_EQ(lowest_cdi_version(spec), "0.7.0");
  spec.devices[0].edits.net_devices = {{"eth1", "net1"}};
  EXPECT_EQ(lowest_cdi_version(spec), "1.1.0");
}

TEST(CdiSpecTest, AHostPathEqualToThePathIsLeftOut) {
  CdiSpec spec = plain();
  spec.devices[0].edits.device_nodes[0].host_path = "/dev/gpu0";
  EXPECT_EQ(serialize_cdi(spec).value(), golden("plain.json"));
}

TEST(CdiSpecTest, RefusesSpecsThatARuntimeWouldIgnore) {
  const auto refusal = [](auto change) {
    CdiSpec spec = plain();
    change(spec);
    const auto result = serialize_cdi(spec);
    return result ? std::string("accepted") : result.error().message;
  };
  EXPECT_THAT(refusal([](CdiSpec& s) { s.devices.clear(); }), HasSubstr("has no device"));
  EXPECT_THAT(refusal([](CdiSpec& s) { s.devices[1].edits = {}; }), HasSubstr("has no edits"));
  EXPECT_THAT(refusal([](CdiSpec& s) { s.devices[1].name = s.devices[0].name; }), HasSubstr("occurs twice"));
  EXPECT_THAT(refusal([](CdiSpec& s) { s.devices[1].name = "a/b"; }), HasSubstr("'a/b'"));
  EXPECT_THAT(refusal([](CdiSpec& s) { s.devices[1].name = "-a"; }), HasSubstr("'-a'"));
  EXPECT_THAT(refusal([](CdiSpec& s) { s.kind = "3com.com/claim"; }), HasSubstr("'3com.com/claim'"));
  EXPECT_THAT(refusal([](CdiSpec& s) { s.kind = "claim"; }), HasSubstr("vendor/class"));
}

TEST(CdiSpecTest, GarbageIsDataLossAndNeverACrash) {
  for (const char* text : {"", "{", "[]", "42", "{\"kind\":7}", R"({"kind":"a.b/c","devices":{}})",
                           R"({"kind":"a.b/c","devices":[{"name":"x","containerEdits":{"env":["no equals"]}}]})",
                           R"({"kind":"a.b/c","devices":[{"name":"x","containerEdits":{"additionalGids":[-1]}}]})"}) {
    const auto spec = parse_cdi(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, Code::kDataLoss) << text;
  }
}

TEST(CdiNamesTest, ReadsOnlyFileNamesThatWeWrote) {
  const std::string name = claim_file_name(kDriver, "8f0c1a2b-1111");
  EXPECT_EQ(name, "cardcage.gpu.example.com-claim_8f0c1a2b-1111.json");
  EXPECT_EQ(parse_claim_file_name(name), (ClaimFile{kDriver, "8f0c1a2b-1111"}));
  const ClaimFile odd{{Api::kDra, "a-claim.b-claim"}, "1"};
  EXPECT_EQ(parse_claim_file_name(claim_file_name(odd.served, odd.uid)), odd);
  const ClaimFile of_resource{{Api::kDevicePlugin, "example.com/gpu"}, "gpu-0"};
  const std::string resource_file = claim_file_name(of_resource.served, of_resource.uid);
  EXPECT_EQ(resource_file, "cardcage.example.com_gpu-device_gpu-0.json");
  EXPECT_EQ(parse_claim_file_name(resource_file), of_resource);
  for (const char* other :
       {"nvidia.yaml", "k8s.gpu.nvidia.com-claim_1.json", "cardcage.gpu.example.com-claim_.json",
        "cardcage.gpu.example.com-claim_1.yaml", "cardcage.-claim_1.json", "cardcage.gpu.example.com-plugin_1.json",
        "cardcage.gpu_1.json", ".cardcage.gpu.example.com-claim_1.json.tmp", "cardcage.a b-claim_1.json", ""})
    EXPECT_EQ(parse_claim_file_name(other), std::nullopt) << other;
}

TEST(CdiNamesTest, ADeviceNameSaysItsDeviceAndShare) {
  const std::string share = "5b2c9f1e-0000-4000-8000-000000000001";
  const auto parts = [](const std::string& name) {
    const auto found = parse_cdi_device_name(name, "uid-1");
    return found ? found->device + "|" + found->share_id : "nothing";
  };
  EXPECT_EQ(parts(cdi_device_name("uid-1", "gpu-0", "")), "gpu-0|");
  EXPECT_EQ(parts(cdi_device_name("uid-1", "gpu-0", share)), "gpu-0|" + share);
  EXPECT_EQ(parts(cdi_device_name("uid-1", "gpu-" + share, "")), "gpu-" + share + "|") << "a UUID in the device name";
  EXPECT_EQ(parts("uid-1-gpu-0_2"), "gpu-0|") << "the second of the same name";
  EXPECT_EQ(parts("uid-1-gpu-0_" + share + "_2"), "gpu-0|" + share);
  for (const char* other : {"uid-2-gpu-0", "uid-1", "uid-1-", "uid-1-GPU", "uid-1-_x"})
    EXPECT_EQ(parts(other), "nothing") << other;
  EXPECT_EQ(cdi_qualified_name({Api::kDra, "3com.example.com"}, "u-d"), "cardcage.3com.example.com/claim=u-d");
  EXPECT_TRUE(is_cdi_kind(cdi_kind({Api::kDra, "3com.example.com"})));
}

TEST(CdiNamesTest, AClaimUidCannotLeaveTheFolder) {
  EXPECT_TRUE(is_claim_uid("8f0c1a2b-1111-4222-8333-444455556666"));
  for (const std::string& uid : {std::string(), std::string("../../etc/passwd"), std::string("a/b"), std::string("a_b"),
                                 std::string("-a"), std::string("a\0b", 3), std::string(64, 'a')})
    EXPECT_FALSE(is_claim_uid(uid)) << uid;
}

}  // namespace
}  // namespace cardcage
