// The memory of the real program with the largest fleet that it is made for.
#include <gmock/gmock.h>

#include <charconv>

#include "host/apiserver/json_view.h"
#include "tests/fakes/https_server.h"
#include "tests/fakes/proc.h"
#include "tests/fakes/sanitizers.h"
#include "tests/unit/fleet/fleet_objects.h"
#include "tests/unit/fleet/fleet_process.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

constexpr int kNodes = 5000, kDevices = 8, kShared = 22, kOwn = 6;  // attributes of a device
constexpr std::size_t kLimitKib = std::size_t{64} * 1024;

// A number that looks random and is the same in every run.
std::uint64_t scramble(std::uint64_t seed) {
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebULL;
  return seed ^ (seed >> 31);
}

// Attributes that all devices share.
const std::string& shared_attributes() {
  static const std::string text = [] {
    std::string made = R"("productName":{"string":"Example G1"})";
    for (int i = 0; i < kShared - 1; ++i)
      made += fmt::format(R"(,"gpu.example.com/setting{}":{{"string":"the same value for all {}"}})", i, i);
    return made;
  }();
  return text;
}

std::string device_text(int node, int number) {
  std::string text = R"({"name":"gpu-)" + std::to_string(number) + R"(","attributes":{)" + shared_attributes();
  for (int i = 0; i < kOwn; ++i) {
    const std::uint64_t own = scramble(static_cast<std::uint64_t>((node * kDevices + number) * kOwn + i));
    text += R"(,"gpu.example.com/own)" + std::to_string(i) + R"(":{"string":")" + std::to_string(own) + '-' +
            std::to_string(scramble(own)) + R"("})";
  }
  return text + R"(},"capacity":{"memory":{"value":"80Gi"}}})";
}

std::string slice_text(int node) {
  std::string devices;
  for (int i = 0; i < kDevices; ++i) devices += (i > 0 ? "," : "") + device_text(node, i);
  return fmt::format(R"({{"metadata":{{"name":"node-{0}-gpu.example.com-abcde","uid":"{1:016x}","resourceVersion":"7"}},
    "spec":{{"driver":"gpu.example.com","nodeName":"node-{0}","pool":{{"name":"node-{0}","generation":1,
    "resourceSliceCount":1}},"devices":[{2}]}}}})",
                     node, scramble(static_cast<std::uint64_t>(node)), devices);
}

// Every second device is held.
std::string claim_text(int number) {
  const int node = number / (kDevices / 2), device = number % (kDevices / 2);
  return fmt::format(R"({{"metadata":{{"namespace":"team-{0}","name":"training-{1}-gpu-x7k2p","uid":"{2:016x}"}},
    "status":{{"reservedFor":[{{"resource":"pods","name":"training-{1}-worker-0","uid":"{2:016x}"}}],"allocation":{{
    "devices":{{"results":[{{"request":"gpu","driver":"gpu.example.com","pool":"node-{3}","device":"gpu-{4}"}}]}}}}}}}})",
                     number % 50, number, scramble(static_cast<std::uint64_t>(number)), node, device);
}

// A pod of `cagectl web` with the parts of a real one that take room.
std::string pod_text(int node) {
  std::string managed, volumes;
  for (int i = 0; i < 40; ++i) managed += fmt::format(R"("f:field-{}":{{".":{{}},"f:value":{{}}}},)", i);
  for (int i = 0; i < 8; ++i)
    volumes += fmt::format(R"({{"name":"volume-{}","hostPath":{{"path":"/run/{}"}}}},)", i, i);
  return fmt::format(R"({{"metadata":{{"namespace":"cardcage","name":"cardcage-web-{1:05x}","uid":"{1:016x}",
    "managedFields":[{{"manager":"kubelet","fieldsV1":{{{2}"f:last":{{}}}}}}]}},"spec":{{"nodeName":"node-{0}",
    "volumes":[{3}{{"name":"tls"}}],"containers":[{{"name":"web","ports":[{{"name":"https","containerPort":8443}}]}}]}},
    "status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                     node, scramble(static_cast<std::uint64_t>(node)), managed, volumes);
}

int number_after(const std::string& target, std::string_view key) {
  const auto at = target.find(key);
  int number = 0;
  if (at != std::string::npos) std::from_chars(target.data() + at + key.size(), target.data() + target.size(), number);
  return number;
}

std::string page_of(const std::string& target, int all, std::string (*item)(int)) {
  const int begin = number_after(target, "continue="), limit = number_after(target, "limit=");
  const int end = std::min(all, begin + limit);
  std::string items;
  for (int i = begin; i < end; ++i) items += (i > begin ? "," : "") + item(i);
  return fmt::format(R"({{"kind":"List","metadata":{{"resourceVersion":"9"{}}},"items":[{}]}})",
                     end < all ? fmt::format(R"(,"continue":"{}")", end) : "", items);
}

// Makes the pages when they are read: all objects at once would need more memory than a test should.
Task<void> serve_large_fleet(std::shared_ptr<HttpsExchange> exchange) {
  const std::string target = exchange->request.target;
  if (target.find("watch=1") != std::string::npos) {
    co_await exchange->begin();
    co_await exchange->closed();
    co_return;
  }
  std::string page = R"({"metadata":{"resourceVersion":"9"},"items":[]})";
  if (target.find("resourceslices") != std::string::npos) page = page_of(target, kNodes, slice_text);
  if (target.find("resourceclaims") != std::string::npos) page = page_of(target, kNodes * kDevices / 2, claim_text);
  if (target.find("/pods") != std::string::npos) page = page_of(target, kNodes, pod_text);
  if (target.find("accessreviews") != std::string::npos) page = R"({"status":{"allowed":true}})";
  co_await exchange->respond(200, std::move(page));
}

TEST(FleetMemoryTest, FiveThousandNodesFitInto64Megabytes) {
  HttpsServer server(TestCertificates::make(), serve_large_fleet);
  FleetProcess fleet(server.url(), server.certificates());
  fleet.start(
      {"--node-pages", "cardcage/app=web", "--binding-driver", "gpu.example.com", "--binding-lease", "ns/lease"});
  fleet.sign_in();
  ASSERT_TRUE(fleet.shows(R"("synced":true,"nodes":5000,"devices":40000,"free":20000,"held":20000)")) << fleet.log();
  for (const char* path : {"/api/v1/heat", "/api/v1/nodes?limit=500&sort=-free", "/api/v1/nodes?query=42&state=held",
                           "/api/v1/nodes/node-4999"}) {
    const auto begin = std::chrono::steady_clock::now();
    const FetchedPage page = fleet.get(path);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(page.status, 200u) << path;
    fmt::print("{}: {} bytes in {:.1f} ms\n", path, page.body.size(), took.count());
  }
  EXPECT_TRUE(FleetProcess::wait_until([&] {
    return fleet.get("/api/v1/nodes/node-4999").body.find("port-forward cardcage-web-") != std::string::npos;
  })) << fleet.log();
  const json::object node = object_of(fleet.get("/api/v1/nodes/node-4999").body);
  EXPECT_EQ(node.at("devices").as_array().at(7).as_object().at("attributes").as_object().size(),
            static_cast<std::size_t>(kShared + kOwn));
  const std::size_t resident = proc::rss_kib(fleet.pid()), peak = proc::peak_kib(fleet.pid());
  fmt::print("resident {} KiB, peak {} KiB\n", resident, peak);
  if (kThreadSanitizer || kAddressSanitizer) GTEST_SKIP() << "a sanitizer's own memory is larger";
  EXPECT_LE(resident, kLimitKib);
  EXPECT_LE(peak, kLimitKib);
}

}  // namespace
}  // namespace cardcage
