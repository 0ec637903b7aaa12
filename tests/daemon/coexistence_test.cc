// A daemon for GPUs on a node where NVIDIA's own driver serves ComputeDomains: it leaves that driver's slice, sockets
// and CDI files alone, whatever happens to itself.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fstream>
#include <map>

#include "host/core/file.h"
#include "host/core/unique_fd.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/daemon_process.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/fake_api_server.h"
#include "tests/fakes/kubelet_calls.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char *kGpuDriver = "gpu.nvidia.com", *kDomainDriver = "compute-domain.nvidia.com";
constexpr const char* kDomainSlice = "node1-compute-domain.nvidia.com-x7k2p";
const ClaimRef kGpuClaim{"default", "gpu", "5b8f0000-0000-4000-8000-000000000001"};

json::object parsed(const std::string& text) { return json::parse(text).as_object(); }

class CoexistenceTest : public ::testing::Test {
 protected:
  CoexistenceTest() {
    write_kubeconfig();
    api.put("nodes", parsed(R"({"metadata":{"name":"node1","uid":"node1-uid"}})"));
    api.put("namespaces/default/resourceclaims",
            parsed(fmt::format(R"({{"metadata":{{"name":"gpu","namespace":"default","uid":"{}"}},"spec":{{}},
              "status":{{"allocation":{{"devices":{{"results":[
                {{"request":"gpu","driver":"{}","pool":"node1","device":"gpu-1"}}]}}}}}}}})",
                               kGpuClaim.uid, kGpuDriver)));
    // As NVIDIA's driver publishes its devices, in a pool that has the node's name like the daemon's.
    api.put("resourceslices", parsed(fmt::format(
                                  R"({{"metadata":{{"name":"{}","ownerReferences":[{{"apiVersion":"v1","kind":"Node",
              "name":"node1","uid":"node1-uid","controller":true}}]}},
              "spec":{{"driver":"{}","nodeName":"node1",
                "pool":{{"name":"node1","generation":1,"resourceSliceCount":1}},"devices":[
                {{"name":"channel-0","attributes":{{"type":{{"string":"channel"}},"id":{{"int":0}}}}}},
                {{"name":"daemon-0","attributes":{{"type":{{"string":"daemon"}},"id":{{"int":0}}}}}}]}}}})",
                                  kDomainSlice, kDomainDriver)));
    make_socket(folder() / "kubelet/plugins" / kDomainDriver / "dra.sock");
    make_socket(folder() / "kubelet/plugins_registry" / fmt::format("{}-reg.sock", kDomainDriver));
    write(folder() / "kubelet/plugins" / kDomainDriver / "checkpoint.json", R"({"checksum":1})");
    write(folder() / fmt::format("cdi/k8s.{}-claim_{}.yaml", kDomainDriver, kGpuClaim.uid),
          "cdiVersion: 0.5.0\nkind: k8s.compute-domain.nvidia.com/claim\ndevices: []\n");
    before = others();
  }
  ~CoexistenceTest() override {
    if (HasFailure()) std::fputs(daemon.log().c_str(), stderr);
  }

  const fs::path& folder() const { return daemon.folder(); }
  static void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void make_socket(const fs::path& path) {
    fs::create_directories(path.parent_path());
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    ASSERT_LT(path.native().size(), sizeof address.sun_path);
    path.native().copy(address.sun_path, path.native().size());
    sockets.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(sockets.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << path;
  }
  void write_kubeconfig() {
    const TestCertificates& certificates = api.certificates();
    write(folder() / "ca.pem", certificates.ca);
    write(folder() / "client.pem", certificates.client);
    write(folder() / "client.key", certificates.client_key);
    write(folder() / "kubeconfig",
          fmt::format("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                      "contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
                      "clusters: [{{name: c, cluster: {{server: '{1}', certificate-authority: '{0}/ca.pem'}}}}]\n"
                      "users: [{{name: u, user: {{client-certificate: '{0}/client.pem', "
                      "client-key: '{0}/client.key'}}}}]\n",
                      folder().native(), api.url()));
  }
  void configure(const std::string& driver) {
    daemon.configure(fmt::format(
        "{}[apiserver]\nkubeconfig = \"{}/kubeconfig\"\n[[module]]\nname = \"mock\"\npath = \"libcardcage_mock.so\"\n"
        "[module.options]\ndevices = [\"gpu:2\"]\nmount_dir = \"{}/hardware\"\n"
        "[[module.serve]]\napi = \"dra\"\ndriver = \"{}\"\n",
        daemon.node_section("apiserver"), folder().native(), folder().native(), driver));
  }
  fs::path registration_socket() const {
    return folder() / "kubelet/plugins_registry" / fmt::format("{}-reg.sock", kGpuDriver);
  }
  // Whether the driver has slices.
  bool publishes(const std::string& driver) {
    for (const std::string& name : api.names("resourceslices")) {
      const auto slice = api.get("resourceslices", name);
      if (slice && slice->at("spec").at("driver") == json::value(driver)) return true;
    }
    return false;
  }
  // The files of the other driver, by path: inode, time of the last change, content.
  std::map<std::string, std::string> others() const {
    std::map<std::string, std::string> found;
    for (const char* name : {"kubelet", "cdi"})
      for (const auto& entry : fs::recursive_directory_iterator(folder() / name)) {
        if (entry.path().native().find(kDomainDriver) == std::string::npos) continue;
        struct stat about{};
        EXPECT_EQ(::lstat(entry.path().c_str(), &about), 0);
        const std::string text = entry.is_regular_file() ? read_file(entry.path(), 10'000).value() : "";
        found[entry.path()] =
            fmt::format("{} {}.{} {}", about.st_ino, about.st_ctim.tv_sec, about.st_ctim.tv_nsec, text);
      }
    return found;
  }
  void expect_untouched(const char* when) {
    SCOPED_TRACE(when);
    EXPECT_EQ(others(), before);
    const auto slice = api.get("resourceslices", kDomainSlice);
    ASSERT_TRUE(slice);
    EXPECT_EQ(slice->at("metadata").at("resourceVersion").as_string(), slice_version);
    for (const HttpsRequest& request : api.requests()) {
      if (request.method != "GET") {
        EXPECT_THAT(request.target, Not(HasSubstr(kDomainSlice)));
      }
    }
  }
  // The clients of the socket as it is now.
  DriverClients clients() const { return DriverClients(folder() / "kubelet/plugins" / kGpuDriver / "dra.sock"); }
  Result<std::vector<PreparedDevice>> prepare() {
    auto response = call_prepare(clients(), "v1.DRAPlugin", {kGpuClaim}, 20s);
    if (!response) return std::unexpected(response.error());
    return response->at(kGpuClaim.uid);
  }
  Status unprepare() {
    auto response = call_unprepare(clients(), "v1.DRAPlugin", {kGpuClaim}, 20s);
    if (!response) return std::unexpected(response.error());
    return response->at(kGpuClaim.uid);
  }

  FakeApiServer api;
  DaemonProcess daemon{built_program("cardcage"), built_module("mock")};
  std::vector<UniqueFd> sockets;
  std::map<std::string, std::string> before;
  std::string slice_version;
};

TEST_F(CoexistenceTest, TheOthersSliceSocketsAndFilesAreLeftAlone) {
  slice_version = api.get("resourceslices", kDomainSlice)->at("metadata").at("resourceVersion").as_string();
  configure(kGpuDriver);
  daemon.start();
  ASSERT_TRUE(eventually([&] { return fs::exists(registration_socket()) && publishes(kGpuDriver); }, 60s));
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  ASSERT_THAT(*prepared, SizeIs(1));
  EXPECT_THAT(prepared->front().cdi_device_ids, Each(Not(HasSubstr(kDomainDriver)))) << "the kinds of CDI differ";
  expect_untouched("while a claim has a GPU");

  daemon.crash();
  daemon.start();
  ASSERT_TRUE(eventually([&] { return prepare().has_value(); }, 60s));
  expect_untouched("after a crash");

  daemon.stop();
  configure("other.example.com");
  daemon.start();
  ASSERT_TRUE(eventually([&] { return publishes("other.example.com") && !publishes(kGpuDriver); }, 60s))
      << "the slice of a name that is gone is removed";
  Status released = unprepare();
  ASSERT_TRUE(released) << released.error().message;
  ASSERT_TRUE(eventually([&] { return !fs::exists(registration_socket()); }, 60s))
      << "and its socket with the last claim";
  expect_untouched("after the driver was renamed");
  daemon.stop();
  expect_untouched("after the daemon ended");
}

}  // namespace
}  // namespace cardcage
