// The API client against a real kube-apiserver over HTTP/2, which no fake replaces.
// It writes ResourceSlices, so it never uses $KUBECONFIG: the caller names the cluster.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <cstdlib>

#include "host/apiserver/api_server.h"
#include "host/apiserver/kubeconfig.h"
#include "tests/fakes/core_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr const char* kDriver = "test.cardcage.example";

// The number of TCP connections of this process that have a peer.
int connections() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && peer.ss_family != AF_UNIX) ++count;
  }
  return count;
}

class RealApiServerTest : public CoreFixture {
 protected:
  void SetUp() override {
    const char* kubeconfig = std::getenv("CARDCAGE_CLUSTER_KUBECONFIG");
    ASSERT_NE(kubeconfig, nullptr) << "CARDCAGE_CLUSTER_KUBECONFIG does not name a cluster for this test";
    auto made = ApiServer::make(core, clock, {.kubeconfig = kubeconfig});
    ASSERT_TRUE(made) << made.error().message;
    api = std::move(*made);
    peer = std::make_shared<const HttpPeer>(load_kubeconfig(kubeconfig).value().peer);
    node = "no-such-node-" + std::to_string(::getpid());
  }
  void TearDown() override {
    if (!api) return;
    for (const auto& left : list().slices) EXPECT_TRUE(run(api->delete_slice(left, soon())));
  }
  static Instant soon() { return std::chrono::steady_clock::now() + 5s; }
  SliceList list() {
    const auto listed = run(api->list_slices(kDriver, node, soon()));
    EXPECT_TRUE(listed) << listed.error().message;
    return listed.value_or(SliceList{});
  }
  Slice slice() const {
    Slice made;
    made.generate_name = "00000-test-";
    made.driver = kDriver;
    made.node_name = node;
    made.pool = {node, 1, 1};
    SliceDevice device;
    device.name = "x";
    device.attributes = {
        {"model", std::string("A1")}, {"cores", std::int64_t{64}}, {"dual", true}, {"firmware", SemVer{"2.3.0"}}};
    device.capacity = {{"memory", Quantity{.value = 32LL << 30, .format = Quantity::Format::kBinary}}};
    device.taints = {{"test.cardcage.example/bad", "ecc", "NoSchedule", ""}};
    made.devices = {std::move(device)};
    return made;
  }
  template <class Condition>
  void run_until(Condition condition) {
    const Instant end = soon();
    while (!condition() && std::chrono::steady_clock::now() < end) {
      core.restart();
      core.run_for(1ms);
    }
    ASSERT_TRUE(condition());
  }

  SystemClock clock;
  std::unique_ptr<ApiServer> api;
  std::shared_ptr<const HttpPeer> peer;
  std::string node;
};

Task<void> watch_into(ApiServer& api, std::string node, std::string& version, std::vector<SliceEvent>& events,
                      std::optional<Status>& ended) {
  std::function<void(SliceEvent)> take = [&events](SliceEvent event) { events.push_back(std::move(event)); };
  ended = co_await api.watch_slices(kDriver, std::move(node), version, std::move(take));
}

TEST_F(RealApiServerTest, ASliceLivesItsWholeLifeAndIsWatched) {
  std::string version = list().resource_version;
  std::vector<SliceEvent> events;
  std::optional<Status> ended;
  asio::cancellation_signal cancel;
  asio::co_spawn(core, watch_into(*api, node, version, events, ended),
                 asio::bind_cancellation_slot(cancel.slot(), asio::detached));
  const auto created = run(api->create_slice(slice(), soon()));
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ(created->devices[0].attributes, slice().devices[0].attributes);
  EXPECT_EQ(created->devices[0].capacity, slice().devices[0].capacity);
  EXPECT_FALSE(created->devices[0].taints.at(0).time_added.empty());

  run_until([this] {
    const auto pools = run(api->list_pools(kDriver, soon()));
    return pools && std::ranges::any_of(
                        *pools, [this](const PublishedPool& one) { return one.node_name == node && one.pool == node; });
  });

  Slice changed = *created;
  changed.devices[0].taints.clear();
  const auto updated = run(api->update_slice(changed, soon()));
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_EQ(run(api->update_slice(changed, soon())).error().code, Code::kAborted);
  EXPECT_EQ(run(api->delete_slice(*created, soon())).error().code, Code::kAborted);
  ASSERT_EQ(list().slices.size(), 1u);
  EXPECT_TRUE(run(api->delete_slice(*updated, soon())));
  EXPECT_TRUE(run(api->delete_slice(*updated, soon())));

  run_until([&] { return events.size() >= 3; });
  EXPECT_FALSE(events[0].deleted);
  EXPECT_EQ(events[1].slice.resource_version, updated->resource_version);
  EXPECT_TRUE(events[2].deleted);
  cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_EQ(ended->error().code, Code::kCancelled);
}

TEST_F(RealApiServerTest, AnEventIsCreatedRepeatedAndCreatedAgain) {
  NodeEvent event{.type = NodeEvent::Type::kWarning,
                  .node = node,
                  .name = node + ".1",
                  .reason = "DeviceUnhealthy",
                  .note = std::string(kMaxEventNote, 'n'),
                  .first = clock.wall(),
                  .last = clock.wall()};
  for (event.count = 1; event.count < 4; ++event.count) {
    const auto written = run(api->write_event(event, soon()));
    ASSERT_TRUE(written) << written.error().message;
  }
  event.count = 1;
  EXPECT_TRUE(run(api->write_event(event, soon()))) << "as if the response had been lost";
  event.name = node + ".2";
  event.count = 5;
  EXPECT_TRUE(run(api->write_event(event, soon()))) << "as if it had expired";
}

TEST_F(RealApiServerTest, RefusalsHaveTheirCodes) {
  EXPECT_EQ(run(api->get_claim("default", "no-such-claim", soon())).error().code, Code::kNotFound);
  EXPECT_EQ(run(api->get_node("no-such-node", soon())).error().code, Code::kNotFound);
  Slice invalid = slice();
  invalid.devices[0].attributes["firmware"] = SemVer{"not semver"};
  const auto refused = run(api->create_slice(invalid, soon()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("spec.devices[0].attributes"));
  Slice named = run(api->create_slice(slice(), soon())).value();
  Slice again = slice();
  again.name = named.name;
  EXPECT_EQ(run(api->create_slice(again, soon())).error().code, Code::kAlreadyExists);
}

TEST_F(RealApiServerTest, TheStatusOfDevicesIsForOneClaimOnly) {
  HttpClient http(core);
  const std::string claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  const std::string name = "status-" + std::to_string(::getpid());
  const auto request = [&](std::string method, std::string path, std::string body) {
    return run(http.request(peer, {.method = std::move(method), .path = std::move(path), .body = std::move(body)}, 5s));
  };
  const auto made =
      request("POST", claims,
              fmt::format(R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{{"name":"{}"}},
      "spec":{{"devices":{{"requests":[{{"name":"r","exactly":{{"deviceClassName":"none"}}}}]}}}}}})",
                          name));
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->status, 201) << made->body;
  const std::string uid(json::parse(made->body).at("metadata").at("uid").as_string());
  const auto apply = [&](std::string of, std::vector<DeviceStatus> devices) {
    return run(
        api->apply_claim_status({"default", name, std::move(of)}, StatusOwner(kDriver), std::move(devices), soon()));
  };
  EXPECT_TRUE(apply(uid, {})) << "no entry is owned, so none is removed";
  EXPECT_EQ(apply("00000000-0000-4000-8000-000000000000", {}).error().code, Code::kAborted);
  const Status unallocated = apply(uid, {{.driver = kDriver, .pool = node, .device = "x"}});
  ASSERT_FALSE(unallocated);
  EXPECT_EQ(unallocated.error().code, Code::kInvalidArgument) << unallocated.error().message;
  ASSERT_TRUE(request("DELETE", claims + "/" + name, ""));
  EXPECT_EQ(apply(uid, {}).error().code, Code::kNotFound);
}

TEST_F(RealApiServerTest, AWatchAndManyRequestsShareOneConnection) {
  std::string version = list().resource_version;
  std::vector<SliceEvent> events;
  std::optional<Status> ended;
  asio::cancellation_signal cancel;
  asio::co_spawn(core, watch_into(*api, node, version, events, ended),
                 asio::bind_cancellation_slot(cancel.slot(), asio::detached));
  int answered = 0;
  for (int i = 0; i < 64; ++i) {
    asio::co_spawn(core, api->get_claim("default", "no-such-claim", soon()),
                   [&](const std::exception_ptr&, const Result<Claim>& claim) {
                     answered += claim.error().code == Code::kNotFound ? 1 : 0;
                   });
  }
  run_until([&] { return answered == 64; });
  EXPECT_EQ(connections(), 1) << "HTTP/2 was not negotiated";
  EXPECT_FALSE(ended);
  cancel.emit(asio::cancellation_type::terminal);
  settle();
}

TEST_F(RealApiServerTest, EveryServedVersionTakesOurJson) {
  HttpClient http(core);
  Slice partition = slice();
  partition.name = "dry-run-" + std::to_string(::getpid());
  for (const auto version : {ResourceApi::kV1, ResourceApi::kV1beta2, ResourceApi::kV1beta1}) {
    HttpRequest request{.method = "POST",
                        .path = fmt::format("/apis/resource.k8s.io/{}/resourceslices?dryRun=All&fieldValidation=Strict",
                                            to_string(version)),
                        .body = json::serialize(slice_to_json(partition, version))};
    const auto answer = run(http.request(peer, std::move(request), 5s));
    ASSERT_TRUE(answer) << answer.error().message;
    if (answer->status == 404) continue;  // not served by this cluster
    ASSERT_EQ(answer->status, 201) << answer->body;
    auto stored = slice_from_json(json::parse(answer->body));
    ASSERT_TRUE(stored);
    for (auto& taint : stored->devices.at(0).taints) taint.time_added.clear();
    EXPECT_EQ(stored->devices, partition.devices) << to_string(version);
  }
}

}  // namespace
}  // namespace cardcage
