#include "tests/unit/apiserver/api_server_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ApiServerClaimStatusTest : public ApiServerFixture {
 protected:
  static constexpr const char* kClaims = "namespaces/ns/resourceclaims";

  static DeviceStatus card() {
    return {.driver = "d",
            .pool = "n1",
            .device = "x",
            .share_id = "1-2",
            .conditions = {{.type = "Ready",
                            .status = DeviceCondition::Status::kTrue,
                            .reason = "Linked",
                            .message = "the link is up",
                            .since = WallTime(1'800'000'000s + 999ms)}},
            .data = R"({"lanes":16})",
            .network = NetworkData{"net1", {"10.1.2.3/24"}, "02:00:00:00:00:01"}};
  }
  Status apply(std::vector<DeviceStatus> devices, std::string uid = "u-1", std::string name = "c1") {
    return run(api->apply_claim_status({"ns", std::move(name), std::move(uid)}, StatusOwner("d"), std::move(devices),
                                       within_time(20s)));
  }
  json::array stored() { return server.get(kClaims, "c1")->at("status").as_object()["devices"].as_array(); }
  void put_entry_of_another_driver() {
    json::object claim = *server.get(kClaims, "c1");
    claim["status"].as_object()["devices"] =
        json::parse(R"([{"driver":"e","pool":"n1","device":"y","conditions":[]}])");
    server.put(kClaims, std::move(claim));
  }
};

TEST_F(ApiServerClaimStatusTest, IsAppliedAsTheApiHasIt) {
  const Status applied = apply({card()});
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(stored(), json::parse(R"([{"driver":"d","pool":"n1","device":"x","shareID":"1-2",
    "conditions":[{"type":"Ready","status":"True","reason":"Linked","message":"the link is up",
                   "lastTransitionTime":"2027-01-15T08:00:00Z"}],
    "data":{"lanes":16},
    "networkData":{"interfaceName":"net1","ips":["10.1.2.3/24"],"hardwareAddress":"02:00:00:00:00:01"}}])"));
  EXPECT_EQ(count_requests("PATCH", "/v1/namespaces/ns/resourceclaims/c1/status?fieldManager=d&force=true"), 1u);
  EXPECT_EQ(count_requests("GET", "resourceclaims"), 0u);
}

TEST_F(ApiServerClaimStatusTest, ADeviceWithoutConditionsHasAnEmptyList) {
  ASSERT_TRUE(apply({{.driver = "d", .pool = "n1", .device = "x"}}));
  EXPECT_EQ(stored(), json::parse(R"([{"driver":"d","pool":"n1","device":"x","conditions":[]}])"));
}

TEST_F(ApiServerClaimStatusTest, ReplacesAndRemovesOnlyItsOwnEntries) {
  put_entry_of_another_driver();
  DeviceStatus other = card();
  other.device = "z";
  ASSERT_TRUE(apply({card(), other}));
  EXPECT_THAT(stored(), SizeIs(3));
  ASSERT_TRUE(apply({other}));
  EXPECT_THAT(stored(), SizeIs(2));
  ASSERT_TRUE(apply({}));
  EXPECT_EQ(stored(), json::parse(R"([{"driver":"e","pool":"n1","device":"y","conditions":[]}])"));
}

TEST_F(ApiServerClaimStatusTest, EachVersionOfTheApiTakesIt) {
  for (const char* version : {"v1beta2", "v1beta1"}) {
    server.serve_versions({version});
    connect(system_clock);
    ASSERT_TRUE(apply({card()})) << version;
    const auto body = json::parse(server.requests().back().body);
    EXPECT_EQ(body.at("apiVersion").as_string(), fmt::format("resource.k8s.io/{}", version));
    EXPECT_EQ(body.at("metadata").at("uid"), "u-1");
  }
}

TEST_F(ApiServerClaimStatusTest, AClaimThatIsGoneOrReplacedIsToldApart) {
  EXPECT_EQ(apply({card()}, "u-2").error().code, Code::kAborted);
  EXPECT_EQ(apply({card()}, "u-1", "c9").error().code, Code::kNotFound);
}

TEST_F(ApiServerClaimStatusTest, AMissingRightOfTheDriverIsAMissingPermission) {
  server.inject({.status = 422,
                 .method = "PATCH",
                 .causes = {json::object{{"reason", "FieldValueForbidden"}, {"field", "status.devices"}}}});
  const Status refused = apply({card()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("ResourceClaim 'ns/c1'"));
}

TEST_F(ApiServerClaimStatusTest, AServerThatDropsItIsFound) {
  server.drop_field("devices");  // as with the gate off
  const Status dropped = apply({card()});
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().code, Code::kUnimplemented);
  EXPECT_THAT(dropped.error().message, HasSubstr("DRAResourceClaimDeviceStatus"));
  EXPECT_TRUE(apply({})) << "an empty status misses no field";
}

TEST_F(ApiServerClaimStatusTest, InvalidOnesNeverReachTheServer) {
  EXPECT_EQ(apply({card()}, "u-1", "c1/../x").error().code, Code::kInvalidArgument);
  DeviceStatus foreign = card();
  foreign.driver = "e";
  EXPECT_THAT(apply({foreign}).error().message, AllOf(HasSubstr("'d'"), HasSubstr("'e'")));
  DeviceStatus broken = card();
  broken.data = "{";
  EXPECT_THAT(apply({broken}).error().message, HasSubstr("the data of device 'x' is not JSON"));
  EXPECT_TRUE(server.requests().empty());
}

}  // namespace
}  // namespace cardcage
