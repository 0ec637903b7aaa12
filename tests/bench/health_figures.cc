#include "tests/bench/health_figures.h"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "host/kubelet/clients.h"
#include "tests/bench/bench_node.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/daemon_process.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/fake_device_manager.h"

namespace cardcage::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kDevicesPerApi = 500;

// Follows NodeWatchResources as a kubelet does.
class HealthWatcher {
 public:
  explicit HealthWatcher(const std::filesystem::path& socket)
      : clients_(socket), stream_(clients_.health_v1->NodeWatchResources(&context_, {})), reader_([this] { read(); }) {}
  ~HealthWatcher() {
    context_.TryCancel();
    reader_.join();
  }
  HealthWatcher(const HealthWatcher&) = delete;
  HealthWatcher& operator=(const HealthWatcher&) = delete;

  void wait(const std::string& device, api::health_v1::HealthStatus health) {
    std::unique_lock lock(mutex_);
    const auto there = [&] {
      const auto known = seen_.find(device);
      return known != seen_.end() && known->second == health;
    };
    if (!news_.wait_for(lock, 10s, there)) throw std::runtime_error("timed out waiting for the health of " + device);
  }
  std::size_t messages() const { return messages_; }

 private:
  void read() {
    for (api::health_v1::NodeWatchResourcesResponse message; stream_->Read(&message); ++messages_) {
      const std::lock_guard lock(mutex_);
      for (const auto& one : message.devices()) seen_[one.device().device_name()] = one.health();
      news_.notify_all();
    }
  }

  grpc::ClientContext context_;
  DriverClients clients_;
  std::unique_ptr<grpc::ClientReader<api::health_v1::NodeWatchResourcesResponse>> stream_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::map<std::string, api::health_v1::HealthStatus> seen_;
  std::atomic<std::size_t> messages_ = 0;
  std::thread reader_;
};

// The daemon with 1,000 devices: half of them for a driver, half for a resource.
class HealthNode {
 public:
  HealthNode() : daemon_(built_program("cardcage"), built_module("mock")) {
    std::filesystem::remove(daemon_.folder() / "cdi");
    std::filesystem::create_directory_symlink(cdi_.path(), daemon_.folder() / "cdi");
    std::filesystem::create_directory_symlink(run_.path(), daemon_.folder() / "run");
    daemon_.configure(daemon_.node_section((daemon_.folder() / "node").native()) +
                      fmt::format("[[module]]\nname = \"mock\"\npath = \"libcardcage_mock.so\"\n[module.options]\n"
                                  "devices = [\"gpu:{0}\", \"fpga:{0}\"]\nscript_file = \"{1}\"\n"
                                  "[[module.serve]]\napi = \"dra\"\ndriver = \"{2}\"\nselect = {{ kind = \"gpu\" }}\n"
                                  "[[module.serve]]\napi = \"device-plugin\"\nresource = \"{3}\"\n",
                                  kDevicesPerApi, script().native(), kDriver, kResource));
    daemon_.start();
    const auto socket = daemon_.folder() / "kubelet/plugins_registry" / fmt::format("{}-reg.sock", kDriver);
    if (!eventually([&] { return std::filesystem::exists(socket); }, 30s))
      throw std::runtime_error("the daemon serves no driver:\n" + daemon_.log());
    watcher_ = std::make_unique<HealthWatcher>(plugin_socket(socket));
    watcher_->wait(fmt::format("gpu-{}", kDevicesPerApi - 1), api::health_v1::HEALTHY);
    wait_listed(fmt::format("fpga-{}", kDevicesPerApi - 1), true);
  }

  void tell(const std::string& line) { std::ofstream(script(), std::ios::app) << line << '\n'; }
  // Return when a kubelet has received the change.
  void set_driver_device(int index, bool good) {
    const std::string device = fmt::format("gpu-{}", index);
    tell(fmt::format("health {} {}", device, good ? "ok cause=Ecc" : "bad cause=Ecc DoubleBit two bits"));
    watcher_->wait(device, good ? api::health_v1::HEALTHY : api::health_v1::UNHEALTHY);
  }
  void set_resource_device(int index, bool good) {
    const std::string device = fmt::format("fpga-{}", index);
    tell(fmt::format("health {} {}", device, good ? "ok cause=Ecc" : "bad cause=Ecc DoubleBit two bits"));
    wait_listed(device, good);
  }
  std::size_t messages() const { return watcher_->messages(); }
  const DaemonProcess& daemon() const { return daemon_; }

 private:
  static std::filesystem::path plugin_socket(const std::filesystem::path& registration) {
    const DriverClients registrar(registration);
    grpc::ClientContext context;
    api::registration::PluginInfo info;
    const grpc::Status asked = registrar.registration->GetInfo(&context, {}, &info);
    if (!asked.ok()) throw std::runtime_error("GetInfo failed: " + asked.error_message());
    return info.endpoint();
  }
  // In a folder of its own: the module watches the folder, and in the daemon's folder each line of the log would wake
  // it.
  std::filesystem::path script() const { return script_.path() / "script"; }
  void wait_listed(const std::string& device, bool healthy) {
    if (!manager_.wait_health(kResource, device, healthy))
      throw std::runtime_error("timed out waiting for the list with " + device);
  }

  ScratchFolder cdi_{"/dev/shm"}, run_{"/dev/shm"};  // see BenchNode
  ScratchFolder script_;
  DaemonProcess daemon_;
  FakeDeviceManager manager_{{.folder = daemon_.folder() / "device-plugins"}};
  std::unique_ptr<HealthWatcher> watcher_;
};

// Changes each device once, so that none is damped, and after a pause, so that a list may be sent at once.
void probe(HealthNode& node, int first, int count, Figures& driver, Figures& resource) {
  for (int i = first; i < first + count; ++i) {
    std::this_thread::sleep_for(130ms);
    driver.time([&] { node.set_driver_device(i, false); });
    resource.time([&] { node.set_resource_device(i, false); });
  }
}

double cpu_share(const DaemonProcess& daemon, std::chrono::nanoseconds before, std::chrono::nanoseconds took) {
  return 100.0 * static_cast<double>((daemon.cpu_time() - before).count()) / static_cast<double>(took.count());
}

}  // namespace

void measure_health(Table& table, bool quick) {
  const int probes = quick ? 20 : 100;
  HealthNode node;
  Figures driver, resource, driver_in_storm, resource_in_storm;
  probe(node, 0, probes, driver, resource);
  node.tell("storm 1000 120s");
  std::this_thread::sleep_for(5s);  // flapping links are damped afterwards
  probe(node, probes, probes, driver_in_storm, resource_in_storm);
  node.tell("storm 1 1ms");

  const auto storm = quick ? 10s : 60s;
  node.tell(fmt::format("storm 10000 {}s", storm.count() + 5));
  std::this_thread::sleep_for(5s);
  const std::size_t memory = node.daemon().pss_kib(), messages = node.messages();
  const auto cpu = node.daemon().cpu_time();
  std::this_thread::sleep_for(storm);
  const double share = cpu_share(node.daemon(), cpu, storm);
  const double grown = static_cast<double>(node.daemon().pss_kib()) - static_cast<double>(memory);

  table.figure("signal to NodeWatchResources", driver);
  table.figure("signal to ListAndWatch", resource);
  table.figure("the same under 1,000 signals/s: NodeWatchResources", driver_in_storm);
  table.figure("the same under 1,000 signals/s: ListAndWatch", resource_in_storm);
  table.value("messages of NodeWatchResources per second under 10,000 signals/s",
              static_cast<double>(node.messages() - messages) / static_cast<double>(storm.count()), "");
  table.value("CPU of daemon and worker under 10,000 signals/s", share, "%");
  table.budget("signal to NodeWatchResources, p99", driver.p99_us() / 1000, 10, "ms");
  table.budget("signal to ListAndWatch, p99", resource.p99_us() / 1000, 10, "ms");
  table.budget("under 1,000 signals/s, NodeWatchResources, p99", driver_in_storm.p99_us() / 1000, 10, "ms");
  table.budget("signal to ListAndWatch, p99, under 1,000 signals/s / without",
               resource_in_storm.p99_us() / resource.p99_us(), 1.5, "x");
  table.budget("growth in a minute of 10,000 signals/s, PSS", grown / 1024, 1, "MB");
}

}  // namespace cardcage::bench
