#include "host/model/namespaced_name.h"

#include <gmock/gmock.h>

#include <set>

namespace cardcage {
namespace {

std::string repeat(char c, std::size_t count) { return std::string(count, c); }

TEST(Naming, ADnsLabelIsLowerCaseAndAtMost63Bytes) {
  for (const std::string& good :
       {std::string("a"), std::string("0"), std::string("gpu-0"), std::string("a--b"), repeat('a', 63)})
    EXPECT_TRUE(is_dns_label(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string("-a"), std::string("a-"), std::string("A"), std::string("a.b"), std::string("a_b"),
        std::string("\xc3\xa4"), std::string("a\0b", 3), repeat('a', 64)})
    EXPECT_FALSE(is_dns_label(bad)) << bad;
}

TEST(Naming, ASubdomainHasNonEmptyPartsAndAtMost253Bytes) {
  EXPECT_TRUE(is_dns_subdomain("node-7.example.com"));
  EXPECT_TRUE(is_dns_subdomain(repeat('a', 253)));
  EXPECT_FALSE(is_dns_subdomain(repeat('a', 254)));
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a.-b", "Node"}) EXPECT_FALSE(is_dns_subdomain(bad)) << bad;
}

TEST(Naming, ADriverNameIsAShortSubdomainAndAPoolMayHaveSlashes) {
  EXPECT_TRUE(is_driver_name("gpu.nvidia.com"));
  EXPECT_FALSE(is_driver_name("gpu.nvidia.com/x"));
  EXPECT_TRUE(is_driver_name(repeat('d', 63)));
  EXPECT_FALSE(is_driver_name(repeat('d', 64)));
  EXPECT_TRUE(is_pool_name("node7/rack.a"));
  EXPECT_FALSE(is_pool_name("node7/"));
  EXPECT_FALSE(is_pool_name(repeat('p', 254)));
}

TEST(Naming, AQualifiedNameIsACIdentifierWithAnOptionalDomain) {
  for (const std::string& good :
       {std::string("model"), std::string("pciBusID"), std::string("_x1"),
        std::string("resource.kubernetes.io/pcieRoot"), repeat('a', 32), repeat('d', 63) + "/a"})
    EXPECT_TRUE(is_qualified_name(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string("/"), std::string("a/"), std::string("/a"), std::string("1a"), std::string("a-b"),
        std::string("a/b/c"), std::string("Ex.com/a"), repeat('a', 33), repeat('d', 64) + "/a"})
    EXPECT_FALSE(is_qualified_name(bad)) << bad;
}

TEST(Naming, TaintKeysAndValuesFollowTheRulesOfLabels) {
  EXPECT_TRUE(is_label_key("npu.acme.dev/unhealthy"));
  EXPECT_TRUE(is_label_key("Un_healthy.1"));
  EXPECT_FALSE(is_label_key("npu/"));
  EXPECT_FALSE(is_label_key("NPU/x"));
  EXPECT_FALSE(is_label_key(""));
  EXPECT_FALSE(is_label_key(repeat('k', 64)));
  EXPECT_TRUE(is_label_value(""));
  EXPECT_TRUE(is_label_value("Xid_79"));
  EXPECT_FALSE(is_label_value("-x"));
  EXPECT_FALSE(is_label_value("a/b"));
}

TEST(Naming, AnExtendedResourceIsOutsideKubernetesIo) {
  EXPECT_TRUE(is_extended_resource_name("example.com/fpga"));
  EXPECT_TRUE(is_extended_resource_name("nvidia.com/mig-1g.5gb"));
  for (const char* bad : {"fpga", "cpu", "kubernetes.io/fpga", "x.kubernetes.io/fpga", "requests.example.com/fpga",
                          "example.com/", "example.com/a/b", "Example.com/a", ""})
    EXPECT_FALSE(is_extended_resource_name(bad)) << bad;
  EXPECT_TRUE(is_extended_resource_name(repeat('d', 244) + "/a"));
  EXPECT_FALSE(is_extended_resource_name(repeat('d', 245) + "/a"));
}

TEST(Naming, SemverIsStrict) {
  for (const char* good :
       {"0.0.0", "1.2.3", "1.2.3-alpha.1", "1.2.3+001", "1.2.3-0a.x-y+b.1", "18446744073709551615.0.0", "1.0.0--"})
    EXPECT_TRUE(is_semver(good)) << good;
  for (const char* bad : {"", "1", "1.2", "1.2.3.4", "v1.2.3", "580.65.06", "1.2.3-", "1.2.3+", "1.2.3-01",
                          "1.2.3-a..b", "1.-2.3", "+1.2.3", "1.2.3 ", "18446744073709551616.0.0", "1.2.3+a+b"})
    EXPECT_FALSE(is_semver(bad)) << bad;
  EXPECT_TRUE(is_semver("1.2.3-" + repeat('a', 58)));
  EXPECT_FALSE(is_semver("1.2.3-" + repeat('a', 59)));
}

TEST(Naming, APciBusIdIsFullAndLowerCase) {
  EXPECT_TRUE(is_pci_bus_id("0000:3b:00.0"));
  EXPECT_TRUE(is_pci_bus_id("ffff:ff:1f.7"));
  EXPECT_TRUE(is_pci_bus_id("10000:e1:00.0")) << "behind Intel's VMD";
  for (const char* bad : {"", "3b:00.0", "0000:3B:00.0", "0000:3b:00:0", "0000:3b:00.00", "../../../etc",
                          "0000:3b:00./", "00000:3b:00.0", "123456789:3b:00.0"})
    EXPECT_FALSE(is_pci_bus_id(bad)) << bad;
}

TEST(Naming, ADeviceNameIsReadableAndAlwaysALabel) {
  EXPECT_EQ(device_name("gpu-0"), "gpu-0");
  EXPECT_EQ(device_name("0000:3b:00.0"), "0000-3b-00-0");
  EXPECT_EQ(device_name("10000:e1:00.0"), "10000-e1-00-0");
  EXPECT_THAT(device_name("GPU-8F3C"), testing::MatchesRegex("gpu-8f3c-[0-9a-v]{8}"));
  EXPECT_THAT(device_name("serial / 12.5"), testing::MatchesRegex("serial-12-5-[0-9a-v]{8}"));
  EXPECT_THAT(device_name("\xff\xfe"), testing::MatchesRegex("device-[0-9a-v]{8}"));
  EXPECT_THAT(device_name(""), testing::MatchesRegex("device-[0-9a-v]{8}"));
  for (const std::string& id :
       {repeat('a', 253), repeat('-', 100), repeat('.', 1), std::string("a.") + repeat('-', 80) + "b"})
    EXPECT_TRUE(is_dns_label(device_name(id))) << device_name(id);
}

TEST(Naming, ADeviceNameNeverChangesBetweenReleases) {
  // Prepared claims name devices, so a new hash would orphan them.
  EXPECT_EQ(device_name("GPU-7"), "gpu-7-ubgv59mi");
  EXPECT_EQ(device_name(repeat('a', 64)), repeat('a', 54) + "-tsebop79");
}

TEST(Naming, DifferentIdsHaveDifferentNames) {
  std::set<std::string> names;
  const std::vector<std::string> ids = {"gpu-7",        "GPU-7",         "Gpu-7",         "gpu.7",
                                        "gpu:7",        "gpu_7",         "0000:3b:00.0",  "0000-3b-00-0",
                                        "0000:3B:00.0", repeat('a', 63), repeat('a', 64), repeat('a', 65)};
  for (const std::string& id : ids) names.insert(device_name(id));
  EXPECT_EQ(names.size(), ids.size());
}

TEST(Naming, AssignedNamesAreUniqueEvenIfAnIdLooksLikeAHashedOne) {
  std::vector<Device> devices(3);
  devices[0].id = "GPU-7";
  devices[1].id = "gpu-7";
  devices[2].id = device_name("GPU-7");
  assign_names(devices);
  EXPECT_EQ(devices[0].name, device_name("GPU-7"));
  EXPECT_EQ(devices[1].name, "gpu-7");
  EXPECT_NE(devices[2].name, devices[0].name);
  EXPECT_TRUE(is_dns_label(devices[2].name));
}

TEST(Naming, NamesThatTheModuleChoseStay) {
  std::vector<Device> devices(3);
  devices[0].id = "gpu-0";
  devices[1].id = "GPU-7";
  devices[1].name = "gpu-0";
  devices[2].id = "gpu-1";
  assign_names(devices);
  EXPECT_EQ(devices[1].name, "gpu-0");
  EXPECT_THAT(devices[0].name, testing::StartsWith("gpu-0-"));
  EXPECT_EQ(devices[2].name, "gpu-1");
}

TEST(Naming, ANamespacedNameIsSplitAtItsFirstSlash) {
  const auto name = parse_namespaced_name("cardcage/cardcage-fleet");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->name_space, "cardcage");
  EXPECT_EQ(name->rest, "cardcage-fleet");
  for (const char* wrong : {"", "a", "/", "a/", "/b", "A/b", "a/B", "a/b/c"})
    EXPECT_FALSE(parse_namespaced_name(wrong)) << wrong;
}

TEST(Naming, OnlyTheNamespaceOfASplitTextIsAName) {
  const auto text = split_namespace("cardcage/example.com/part=web,tier=2");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->name_space, "cardcage");
  EXPECT_EQ(text->rest, "example.com/part=web,tier=2");
  for (const char* wrong : {"", "a", "a/", "/b", "A/b"}) EXPECT_FALSE(split_namespace(wrong)) << wrong;
}

}  // namespace
}  // namespace cardcage
