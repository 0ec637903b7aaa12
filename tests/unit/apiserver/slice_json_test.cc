#include "host/apiserver/slice_json.h"

#include <gmock/gmock.h>

#include "host/core/file.h"
#include "tests/fakes/every_trait.h"
#include "tests/fakes/source_folder.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

Slice every_field() {
  Slice slice;
  slice.generate_name = "00000-npu.acme.dev-node7-";
  slice.owner_node_uid = "node-uid";
  slice.driver = "npu.acme.dev";
  slice.node_name = "node7";
  slice.pool = {"node7", 3, 2};
  const SliceDevice device{
      every_trait(),
      "npu-0",
      {{"npu.acme.dev/hot", "", "None", ""}, {"npu.acme.dev/unhealthy", "ecc", "NoSchedule", "2030-01-01T00:00:00Z"}}};
  slice.devices = {device, {.name = "npu-1"}};
  slice.shared_counters = {{"npu-0", {{"memory", Quantity{64LL << 30, 0, Quantity::Format::kBinary}}}}};
  slice.skip_node_operations = {"NodePrepareResources", "NodeUnprepareResources"};
  return slice;
}

void expect_equal(const Slice& a, const Slice& b) {
  EXPECT_EQ(a.devices, b.devices);
  EXPECT_EQ(a.shared_counters, b.shared_counters);
  EXPECT_EQ(a.pool, b.pool);
  EXPECT_EQ(a.skip_node_operations, b.skip_node_operations);
  EXPECT_EQ(std::tie(a.driver, a.node_name, a.owner_node_uid, a.name, a.uid, a.resource_version),
            std::tie(b.driver, b.node_name, b.owner_node_uid, b.name, b.uid, b.resource_version));
}

class SliceJsonTest : public ::testing::TestWithParam<ResourceApi> {
 protected:
  // v1beta2 has the form of v1, and v1beta1 keeps all of a device but its name in "basic".
  json::value golden() const {
    json::value slice =
        json::parse(read_file(source_folder() / "tests/golden/apiserver/slice_v1.json", 1 << 20).value());
    slice.at("apiVersion") = fmt::format("resource.k8s.io/{}", to_string(GetParam()));
    if (GetParam() == ResourceApi::kV1beta1)
      for (json::value& device : slice.at_pointer("/spec/devices").get_array()) {
        json::object basic = device.get_object();
        basic.erase("name");
        device = {{"name", device.at("name")}, {"basic", std::move(basic)}};
      }
    return slice;
  }
};

TEST_P(SliceJsonTest, HasTheFormThatTheApiServerExpects) {
  const json::value written = slice_to_json(every_field(), GetParam());
  EXPECT_EQ(written, golden()) << json::serialize(written);
}

TEST_P(SliceJsonTest, ReadsBackWhatItWrote) {
  Slice stored = every_field();
  stored.name = "00000-npu.acme.dev-node7-x7k2p";
  stored.uid = "u1";
  stored.resource_version = "17";
  const auto read = slice_from_json(slice_to_json(stored, GetParam()));
  ASSERT_TRUE(read) << read.error().message;
  expect_equal(*read, stored);
}

INSTANTIATE_TEST_SUITE_P(Versions, SliceJsonTest,
                         ::testing::Values(ResourceApi::kV1, ResourceApi::kV1beta2, ResourceApi::kV1beta1),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(SliceJsonDetailTest, AnUpdateCarriesItsPreconditions) {
  Slice slice = every_field();
  slice.name = "s1";
  slice.uid = "u1";
  slice.resource_version = "17";
  const json::value written = slice_to_json(slice, ResourceApi::kV1);
  EXPECT_EQ(written.at_pointer("/metadata/name"), "s1");
  EXPECT_EQ(written.at_pointer("/metadata/uid"), "u1");
  EXPECT_EQ(written.at_pointer("/metadata/resourceVersion"), "17");
  EXPECT_FALSE(written.at("metadata").get_object().contains("generateName"));
}

TEST(SliceJsonDetailTest, ASliceWithoutDevicesIsLegal) {
  Slice slice;
  slice.name = "s1";
  slice.driver = "d";
  slice.node_name = "n";
  slice.pool = {"n", 1, 1};
  const auto written = slice_to_json(slice, ResourceApi::kV1);
  EXPECT_FALSE(written.at("spec").get_object().contains("devices"));
  EXPECT_FALSE(written.at("metadata").get_object().contains("ownerReferences"));
  expect_equal(slice_from_json(written).value(), slice);
}

TEST(SliceJsonDetailTest, AnEditedRequestPolicyDiffers) {
  json::object with_name = slice_to_json(every_field(), ResourceApi::kV1);
  with_name["metadata"].get_object()["name"] = "s1";
  for (const auto& [place, value] : {std::pair("memory/requestPolicy/default", json::value("8Gi")),
                                     std::pair("memory/requestPolicy/default", json::value(nullptr)),
                                     std::pair("memory/requestPolicy/validRange/step", json::value("2Gi")),
                                     std::pair("memory/requestPolicy/validRange", json::value(nullptr)),
                                     std::pair("cores/requestPolicy/validValues/0", json::value("1")),
                                     std::pair("cores/requestPolicy", json::value(nullptr))}) {
    json::value changed(with_name);
    changed.at_pointer(fmt::format("/spec/devices/0/capacity/{}", place)) = value;
    EXPECT_NE(slice_from_json(changed)->devices, every_field().devices) << place;
  }
  json::value without_amount(with_name);
  without_amount.at_pointer("/spec/devices/0/capacity/memory/value") = "much";
  EXPECT_FALSE(slice_from_json(without_amount)->devices[0].policies.contains("memory")) << "as the capacity";
  json::value same(with_name);
  same.at_pointer("/spec/devices/0/capacity/memory/requestPolicy/validRange/step") = "4096Mi";
  EXPECT_EQ(slice_from_json(same)->devices, every_field().devices);
}

TEST(SliceJsonDetailTest, EditedBindingConditionsDiffer) {
  json::object with_name = slice_to_json(every_field(), ResourceApi::kV1);
  with_name["metadata"].get_object()["name"] = "s1";
  for (const auto& [place, value] :
       {std::pair("bindsToNode", json::value(false)), std::pair("bindingConditions/0", json::value("Loaded")),
        std::pair("bindingFailureConditions", json::value(nullptr))}) {
    json::value changed(with_name);
    changed.at_pointer(fmt::format("/spec/devices/0/{}", place)) = value;
    EXPECT_NE(slice_from_json(changed)->devices, every_field().devices) << place;
  }
}

TEST(SliceJsonDetailTest, CanonicalQuantitiesOfTheServerAreEqual) {
  json::value written = slice_to_json(every_field(), ResourceApi::kV1);
  json::object with_name = written.get_object();
  with_name["metadata"].get_object()["name"] = "s1";
  json::value changed(with_name);
  changed.at_pointer("/spec/devices/0/capacity/memory/value") = "32768Mi";
  EXPECT_EQ(slice_from_json(changed)->devices, every_field().devices);
}

TEST(SliceJsonDetailTest, UnreadablePartsAreLeftOutSoThatTheSliceDiffers) {
  const auto read = slice_from_json(json::parse(R"({"metadata":{"name":"s1"},"spec":{"driver":"d","pool":{"name":"p"},
    "devices":[{"name":"a","attributes":{"x":{"float":1.5},"y":{"int":"7"},"z":7,"ok":{"int":7}},
                "capacity":{"m":{"value":"many"},"n":7},"consumesCounters":[7],"taints":"none"}, 7],
    "sharedCounters":[7]}})"));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->devices.size(), 2u);
  EXPECT_EQ(read->devices[0].attributes.size(), 1u);
  EXPECT_TRUE(read->devices[0].capacity.empty());
  EXPECT_EQ(read->devices[1], SliceDevice{});
}

TEST(SliceJsonDetailTest, ASliceWithoutIdentityIsRefused) {
  for (const auto* text : {"null", "{}", R"({"metadata":{"name":"s1"}})",
                           R"({"metadata":{"name":"../s1"},"spec":{"driver":"d","pool":{"name":"p"}}})"})
    EXPECT_FALSE(slice_from_json(json::parse(text))) << text;
}

TEST(SliceJsonDetailTest, ManyDevicesAreRefused) {
  json::value slice = slice_to_json(every_field(), ResourceApi::kV1);
  slice.at("metadata").get_object()["name"] = "s1";
  slice.at("spec").get_object()["devices"] = json::array(5000, json::object{{"name", "x"}});
  EXPECT_THAT(slice_from_json(slice).error().message, HasSubstr("has 5000 devices, at most 1024"));
}

}  // namespace
}  // namespace cardcage
