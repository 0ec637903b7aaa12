// An ApiServer that talks to the fake API server, with a service account in a scratch folder.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <memory>
#include <optional>
#include <string>

#include "host/apiserver/api_server.h"
#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_api_server.h"

namespace cardcage {

class ApiServerFixture : public CoreFixture {
 protected:
  static constexpr const char* kSlices = "resourceslices";

  void SetUp() override {
    write("ca.crt", server.certificates().ca);
    write("token", "t1");
    server.require_token("t1");
    server.put("nodes", {{"metadata", {{"name", "n1"}, {"uid", "node-uid"}}},
                         {"status",
                          {{"declaredFeatures", {"DRAOptionalNodeOperations"}},
                           {"nodeInfo", {{"containerRuntimeVersion", "containerd://2.2.9"}}}}}});
    server.put("namespaces/ns/resourceclaims", json::parse(R"({"metadata":{"namespace":"ns","name":"c1","uid":"u-1"},
      "status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"n1","device":"x"}]}}}})")
                                                   .as_object());
    connect(system_clock);
  }
  void write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(write_file_atomically(folder / name, content, 0600, false));
  }
  void connect(Clock& clock, Duration request_timeout = std::chrono::seconds(20),
               std::optional<ClaimLabelling> labelling = {}) {
    const auto url = server.url();
    const auto port = url.substr(url.rfind(':') + 1);
    auto credentials = Credentials::from_service_account(clock, {"127.0.0.1", port, folder.path()});
    ASSERT_TRUE(credentials) << credentials.error().message;
    const ApiPace pace{.request_timeout = request_timeout,
                       .first_pause = first_pause,
                       .longest_pause = std::max<Duration>(first_pause, std::chrono::milliseconds(20))};
    api = std::make_unique<ApiServer>(core, clock, std::move(*credentials), pace, std::move(labelling));
  }
  static Instant within_time(Duration left) { return std::chrono::steady_clock::now() + left; }
  Result<Claim> get_claim(Duration left = std::chrono::seconds(20)) {
    return run(api->get_claim("ns", "c1", within_time(left)));
  }
  SliceList list() {
    auto listed = run(api->list_slices("d.example.com", "n1", within_time(std::chrono::seconds(20))));
    EXPECT_TRUE(listed) << listed.error().message;
    return listed.value_or(SliceList{});
  }
  // Adds `count` slices for each of n1 and n2.
  void put_slices(int count) {
    for (int i = 0; i < 2 * count; ++i) {
      server.put(kSlices, json::parse(fmt::format(R"({{"metadata":{{"name":"s{:03}"}},"spec":{{"driver":"d.example.com",
        "nodeName":"{}","pool":{{"name":"n1"}}}}}})",
                                                  i, i % 2 == 0 ? "n1" : "n2"))
                              .as_object());
    }
  }
  static Slice slice() {
    Slice made;
    made.generate_name = "00000-d-";
    made.owner_node_uid = "node-uid";
    made.driver = "d.example.com";
    made.node_name = "n1";
    made.pool = {"n1", 1, 1};
    made.devices = {SliceDevice{{.attributes = {{"model", std::string("A1")}}}, "x", {}}};
    return made;
  }
  Result<Slice> create(Slice made = slice()) {
    return run(api->create_slice(std::move(made), within_time(std::chrono::seconds(20))));
  }
  // Begins a call whose result comes later.
  template <class T>
  void begin(Task<Result<T>> task, std::optional<Result<T>>& result, asio::cancellation_slot cancel = {}) {
    asio::co_spawn(core, std::move(task),
                   asio::bind_cancellation_slot(
                       cancel, [&result](const std::exception_ptr&, Result<T> ended) { result = std::move(ended); }));
  }
  // Runs the core until `condition` holds, at most 20 s.
  template <class Condition>
  void run_until(Condition condition) {
    const Instant end = within_time(std::chrono::seconds(20));
    while (!condition() && std::chrono::steady_clock::now() < end) {
      core.restart();
      core.run_for(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(condition());
  }
  Result<Slice> update(Slice made) {
    return run(api->update_slice(std::move(made), within_time(std::chrono::seconds(20))));
  }
  Status erase(Slice made) { return run(api->delete_slice(std::move(made), within_time(std::chrono::seconds(20)))); }
  std::size_t count_requests(const std::string& method, const std::string& part) {
    const auto requests = server.requests();
    return static_cast<std::size_t>(std::ranges::count_if(requests, [&](const HttpsRequest& request) {
      return request.method == method && request.target.find(part) != std::string::npos;
    }));
  }

  Duration first_pause = std::chrono::milliseconds(1);  // the pace of the next connect()
  FakeApiServer server;
  ScratchFolder folder;
  SystemClock system_clock;
  std::unique_ptr<ApiServer> api;
};

}  // namespace cardcage
