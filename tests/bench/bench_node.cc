#include "tests/bench/bench_node.h"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>

#include "tests/fakes/built_files.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/kubelet_calls.h"

namespace cardcage::bench {

namespace json = boost::json;
using std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kLimit{45};

void wait_until(const char* what, std::chrono::milliseconds limit, const std::function<bool()>& condition) {
  if (!eventually(condition, limit)) throw std::runtime_error(fmt::format("timed out waiting for {}", what));
}

void write_pem(const std::filesystem::path& path, const std::string& pem) { std::ofstream(path) << pem; }

}  // namespace

BenchNode::BenchNode(int modules, int devices)
    : modules_(modules), devices_(devices), daemon_(built_program("cardcage"), built_module("mock")) {
  write_kubeconfig();
  std::filesystem::remove(daemon_.folder() / "cdi");
  std::filesystem::create_directory_symlink(cdi_.path(), daemon_.folder() / "cdi");
  std::filesystem::create_directory_symlink(run_.path(), daemon_.folder() / "run");
  std::string toml = daemon_.node_section("apiserver");
  toml += fmt::format("[apiserver]\nkubeconfig = \"{}\"\n", kubeconfig().native());
  for (int i = 0; i < modules; ++i) {
    toml += fmt::format(
        "[[module]]\nname = \"mock{0}\"\npath = \"libcardcage_mock.so\"\n[module.options]\ndevices = [\"gpu:{1}\"]\n"
        "seed = \"{0}\"\n[[module.serve]]\napi = \"dra\"\ndriver = \"{2}\"\n",
        i, devices, i == 0 ? std::string(kDriver) : fmt::format("gpu{}.mock.cardcage.dev", i));
  }
  daemon_.configure(toml);
  api_.put("nodes", {{"metadata", {{"name", "node1"}, {"uid", "node1-uid"}}}});
  for (int i = 0; i < devices; ++i) api_.put("namespaces/default/resourceclaims", claim_object(i));
}

void BenchNode::write_kubeconfig() const {
  const TestCertificates& certificates = api_.certificates();
  write_pem(daemon_.folder() / "ca.pem", certificates.ca);
  write_pem(daemon_.folder() / "client.pem", certificates.client);
  write_pem(daemon_.folder() / "client.key", certificates.client_key);
  std::ofstream(kubeconfig()) << fmt::format(
      "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
      "contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
      "clusters: [{{name: c, cluster: {{server: '{1}', certificate-authority: '{0}/ca.pem'}}}}]\n"
      "users: [{{name: u, user: {{client-certificate: '{0}/client.pem', client-key: '{0}/client.key'}}}}]\n",
      daemon_.folder().native(), api_.url());
}

ClaimRef BenchNode::claim(int index) const {
  return {"default", fmt::format("claim-{}", index), fmt::format("5b8f0000-0000-4000-8000-{:012}", index)};
}

json::object BenchNode::claim_object(int index) const {
  const ClaimRef ref = claim(index);
  const json::object result = {
      {"request", "gpu"}, {"driver", kDriver}, {"pool", "node1"}, {"device", fmt::format("gpu-{}", index)}};
  return {{"metadata", {{"name", ref.name}, {"namespace", ref.name_space}, {"uid", ref.uid}}},
          {"spec", json::object{}},
          {"status", {{"allocation", {{"devices", {{"results", json::array{result}}}}}}}}};
}

steady_clock::duration BenchNode::start() {
  const auto socket = daemon_.folder() / "kubelet/plugins_registry" / fmt::format("{}-reg.sock", kDriver);
  const auto begin = steady_clock::now();
  daemon_.start();
  wait_until("the registration socket", std::chrono::seconds(30),
             [&] { return std::filesystem::exists(socket) || !daemon_.running(); });
  if (!daemon_.running()) throw std::runtime_error("the daemon exited:\n" + daemon_.log());
  const DriverClients registrar(socket);
  api::registration::PluginInfo info;
  wait_until("GetInfo", std::chrono::seconds(5), [&] {
    grpc::ClientContext context;
    return registrar.registration->GetInfo(&context, {}, &info).ok();
  });
  const auto took = steady_clock::now() - begin;
  clients_ = std::make_unique<DriverClients>(info.endpoint());
  return took;
}

void BenchNode::wait_for_slices() {
  const std::size_t wanted = static_cast<std::size_t>(modules_) * static_cast<std::size_t>((devices_ + 127) / 128);
  wait_until("the slices", std::chrono::seconds(60), [&] { return api_.names("resourceslices").size() >= wanted; });
}

void BenchNode::prepare(const std::vector<ClaimRef>& claims) {
  const auto prepared = call_prepare(*clients_, "v1.DRAPlugin", claims, kLimit);
  if (!prepared) throw std::runtime_error(prepared.error().message);
  for (const auto& [uid, devices] : *prepared)
    if (!devices) throw std::runtime_error(devices.error().message);
}

void BenchNode::unprepare(const std::vector<ClaimRef>& claims) {
  const auto unprepared = call_unprepare(*clients_, "v1.DRAPlugin", claims, kLimit);
  if (!unprepared) throw std::runtime_error(unprepared.error().message);
  for (const auto& [uid, done] : *unprepared)
    if (!done) throw std::runtime_error(done.error().message);
}

}  // namespace cardcage::bench
