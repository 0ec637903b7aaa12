#include "host/apiserver/claim_json.h"

#include <gmock/gmock.h>

#include "host/core/file.h"
#include "tests/fakes/source_folder.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

json::value golden(const std::string& name) {
  const auto text = read_file(source_folder() / "tests/golden/apiserver" / name, 1 << 20);
  return json::parse(text.value());
}

// Returns the error for the golden claim with one change.
std::string refusal(const std::function<void(json::object& claim, json::object& devices)>& change) {
  json::value claim = golden("claim.json");
  change(claim.get_object(), claim.at_pointer("/status/allocation/devices").get_object());
  const auto parsed = claim_from_json(claim);
  if (parsed) return "parsed";
  EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
  return parsed.error().message;
}

TEST(ClaimJsonTest, AnAllocatedClaimIsReadCompletely) {
  const auto claim = claim_from_json(golden("claim.json"));
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_EQ(claim->ref, (ClaimRef{"ns", "c1", "3f0c2a52-6a3c-4a3e-9a55-0d8b3f5f2f11"}));
  EXPECT_TRUE(claim->allocated);
  EXPECT_THAT(claim->reserved_for, ElementsAre("u", "of-a-group"));
  const Quantity four_gi{4LL << 30, 0, Quantity::Format::kBinary};
  EXPECT_THAT(
      claim->allocations,
      ElementsAre(
          Allocation{.request = "r0/small",
                     .driver = "npu.acme.dev",
                     .pool = "node7",
                     .device = "npu-0",
                     .share_id = "8b6b9d6e-4a88-4b0e-9f4e-3e0a4a0f0001",
                     .consumed_capacity = {{"memory", four_gi}}},
          Allocation{
              .request = "watch", .driver = "npu.acme.dev", .pool = "node7", .device = "npu-0", .admin_access = true},
          Allocation{.request = "nic", .driver = "nic.other.org", .pool = "rack/node7", .device = "eth0"}));
}

TEST(ClaimJsonTest, AClaimFromATemplateHasItsNameInThePod) {
  const auto name_of = [](const char* name) {
    json::value claim = golden("claim.json");
    auto& annotations = claim.at_pointer("/metadata").get_object()["annotations"].emplace_object();
    if (name != nullptr) annotations["resource.kubernetes.io/pod-claim-name"] = name;
    return claim_from_json(claim);
  };
  EXPECT_EQ(name_of("accelerator")->pod_claim_name, "accelerator");
  EXPECT_EQ(name_of(nullptr)->pod_claim_name, "");
  const auto refused = name_of("../..");
  ASSERT_FALSE(refused) << "it would become part of a path";
  EXPECT_THAT(refused.error().message, HasSubstr("pod-claim-name is not a DNS label"));
}

TEST(ClaimJsonTest, WhatAPodWaitsForIsRead) {
  json::value golden_claim = golden("claim.json");
  json::object& result = golden_claim.at_pointer("/status/allocation/devices/results/0").get_object();
  result["bindingConditions"] = json::array({"Ready", "npu.acme.dev/Attached"});
  result["bindingFailureConditions"] = json::array({"Failed"});
  golden_claim.at_pointer("/status/allocation").get_object()["allocationTimestamp"] = "2030-01-01T00:00:00Z";
  const auto claim = claim_from_json(golden_claim);
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_EQ(claim->allocations[0].binding, (Binding{{"Ready", "npu.acme.dev/Attached"}, {"Failed"}}));
  EXPECT_TRUE(claim->allocations[1].binding.empty());
  EXPECT_EQ(claim->allocated_at, "2030-01-01T00:00:00Z");
  EXPECT_EQ(claim->reserved_for.size(), golden_claim.at_pointer("/status/reservedFor").get_array().size());
  result["bindingConditions"] = json::array({"not ready"});
  EXPECT_THAT(claim_from_json(golden_claim).error().message,
              HasSubstr("bindingConditions holds something that is not the type of a condition"));
}

TEST(ClaimJsonTest, ConfigsKeepOrderSourceAndParameters) {
  const auto claim = claim_from_json(golden("claim.json"));
  ASSERT_EQ(claim->configs.size(), 3u);
  EXPECT_EQ(claim->configs[0].source, ConfigSource::kClass);
  EXPECT_TRUE(claim->configs[0].requests.empty());
  EXPECT_EQ(claim->configs[0].driver, "npu.acme.dev");
  EXPECT_EQ(json::parse(claim->configs[0].parameters).at("share").as_double(), 0.5);
  EXPECT_EQ(claim->configs[1].source, ConfigSource::kClaim);
  EXPECT_THAT(claim->configs[1].requests, ElementsAre("r0", "watch"));
  EXPECT_EQ(claim->configs[1].parameters, R"({"apiVersion":"npu.acme.dev/v1","kind":"Npu","nested":[{"deep":null}]})");
  EXPECT_EQ(claim->configs[2].driver, "") << "the driver of an unknown type is not read";
}

TEST(ClaimJsonTest, AClaimWithoutAllocationIsNotAllocated) {
  for (const auto* status : {R"({})", R"({"allocation":null})", R"({"allocation":7})"}) {
    json::value claim = golden("claim.json");
    claim.get_object()["status"] = json::parse(status);
    const auto parsed = claim_from_json(claim);
    ASSERT_TRUE(parsed);
    EXPECT_FALSE(parsed->allocated);
  }
}

TEST(ClaimJsonTest, AnAllocationMayBeEmpty) {
  json::value claim = golden("claim.json");
  claim.get_object()["status"] = json::parse(R"({"allocation":{}})");
  const auto parsed = claim_from_json(claim);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->allocated);
  EXPECT_TRUE(parsed->allocations.empty());
}

TEST(ClaimJsonTest, AnythingButAClaimIsRefused) {
  for (const auto* text : {"null", "7", "[]", "{}", R"({"metadata":[]})", R"({"metadata":{"name":7}})"})
    EXPECT_FALSE(claim_from_json(json::parse(text))) << text;
}

TEST(ClaimJsonTest, NamesThatCouldLeaveTheirFolderAreRefused) {
  const auto with = [](const char* key, const char* value) {
    return refusal([&](json::object& claim, json::object&) { claim["metadata"].get_object()[key] = value; });
  };
  EXPECT_THAT(with("name", "../../etc"), HasSubstr("ResourceClaim name '../../etc' is not a DNS subdomain"));
  EXPECT_THAT(with("namespace", "a/b"), HasSubstr("namespace 'a/b' is not a DNS label"));
  EXPECT_THAT(with("uid", "../x"), HasSubstr("metadata.uid"));
  EXPECT_THAT(with("uid", ""), HasSubstr("metadata.uid"));
}

TEST(ClaimJsonTest, ErrorsNameAResultWithMissingFields) {
  for (const auto* key : {"request", "driver", "pool", "device"}) {
    EXPECT_THAT(refusal([&](json::object&, json::object& devices) {
                  devices["results"].get_array()[1].get_object().erase(key);
                }),
                HasSubstr(fmt::format("ResourceClaim 'ns/c1': status.allocation.devices.results[1].{}", key)));
  }
  EXPECT_THAT(refusal([](json::object&, json::object& devices) { devices["results"].get_array()[0] = 5; }),
              HasSubstr("results[0].request"));
  EXPECT_THAT(refusal([](json::object&, json::object& devices) {
                devices["results"].get_array()[0].get_object()["device"] = "a\nb";
              }),
              HasSubstr("not printable"));
}

TEST(ClaimJsonTest, OversizedListsAreRefused) {
  EXPECT_THAT(refusal([](json::object&, json::object& devices) {
                const json::value one = devices["results"].get_array()[0];
                devices["results"] = json::array(4096, one);
              }),
              HasSubstr("results has 4096 entries, at most 128"));
  EXPECT_THAT(refusal([](json::object&, json::object& devices) {
                const json::value one = devices["config"].get_array()[0];
                devices["config"] = json::array(4096, one);
              }),
              HasSubstr("config has 4096 entries"));
  EXPECT_THAT(refusal([](json::object&, json::object& devices) {
                devices["config"].get_array()[0].at_pointer("/opaque/parameters") = std::string(100'000, 'x');
              }),
              HasSubstr("parameters is larger"));
  EXPECT_THAT(refusal([](json::object&, json::object& devices) {
                devices["config"].get_array()[1].get_object()["requests"] = json::array(1000, json::value("r0"));
              }),
              HasSubstr("requests has 1000 entries"));
}

TEST(ClaimJsonTest, ConfigsThatCannotBeHonouredAreRefused) {
  EXPECT_THAT(refusal([](json::object&, json::object& devices) {
                devices["config"].get_array()[0].get_object()["source"] = "FromMoon";
              }),
              HasSubstr("config[0].source is 'FromMoon'"));
  EXPECT_THAT(refusal([](json::object&, json::object& devices) {
                devices["config"].get_array()[1].get_object()["requests"] = json::array{1};
              }),
              HasSubstr("not a request name"));
  EXPECT_THAT(refusal([](json::object&, json::object& devices) {
                devices["results"].get_array()[0].get_object()["consumedCapacity"] = json::object{{"memory", "many"}};
              }),
              HasSubstr("consumedCapacity['memory']"));
}

TEST(ClaimJsonTest, EndlessNestingIsRefused) {
  const std::string deep(100'000, '[');
  EXPECT_FALSE(parse_json(deep, "it"));
  EXPECT_FALSE(parse_json(R"({"a":)" + std::string(200, '[') + std::string(200, ']') + "}", "it"));
  EXPECT_TRUE(parse_json(R"({"a":)" + std::string(100, '[') + std::string(100, ']') + "}", "it"));
}

}  // namespace
}  // namespace cardcage
