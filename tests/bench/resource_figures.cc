#include "tests/bench/resource_figures.h"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>
#include <thread>

#include "tests/bench/bare_server.h"
#include "tests/bench/bench_node.h"
#include "tests/bench/yardsticks.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/daemon_process.h"
#include "tests/fakes/fake_device_manager.h"

namespace cardcage::bench {
namespace {

using namespace std::chrono_literals;

// The daemon with one resource, and a fake kubelet.
class ResourceNode {
 public:
  explicit ResourceNode(int devices) : daemon_(built_program("cardcage"), built_module("mock")) {
    std::filesystem::remove(daemon_.folder() / "cdi");
    std::filesystem::create_directory_symlink(cdi_.path(), daemon_.folder() / "cdi");
    std::filesystem::create_directory_symlink(run_.path(), daemon_.folder() / "run");
    daemon_.configure(daemon_.node_section((daemon_.folder() / "node").native()) +
                      fmt::format("[[module]]\nname = \"mock\"\npath = \"libcardcage_mock.so\"\n[module.options]\n"
                                  "devices = [\"fpga:{}\"]\nscript_file = \"{}\"\n[[module.serve]]\n"
                                  "api = \"device-plugin\"\nresource = \"{}\"\n",
                                  devices, script().native(), kResource));
  }

  void start(std::size_t devices) {
    daemon_.start();
    wait("the first device list", [&] { return allocatable() == devices; });
  }
  void stop() {
    daemon_.stop();
    wait("the end of the stream", [&] { return allocatable() == 0; });
  }
  void allocate(const std::string& id) {
    const auto grant = manager_.allocate(kResource, {id});
    if (!grant) throw std::runtime_error(grant.error().message);
  }
  void prefer(const std::vector<std::string>& available, int wanted) {
    const auto chosen = manager_.preferred(kResource, available, {}, wanted);
    if (!chosen || chosen->size() != static_cast<std::size_t>(wanted)) throw std::runtime_error("no preference");
  }
  // Returns when the kubelet has received the change.
  void set_health(const std::string& id, bool good) {
    std::ofstream(script(), std::ios::app) << fmt::format("health {} {}\n", id, good ? "ok" : "bad Broken");
    wait("a device's health", [&] { return (manager_.devices(kResource).at(id).health() == "Healthy") == good; });
  }
  void restart_kubelet() {
    manager_.stop();
    const auto lists = manager_.lists(kResource);
    manager_.start();
    wait("the resource after a restart", [&] { return manager_.lists(kResource) > lists; });
  }

 private:
  // In a folder of its own: the module watches the folder, and in the daemon's folder each line of the log would wake
  // it.
  std::filesystem::path script() const { return script_.path() / "script"; }
  std::size_t allocatable() const {
    const auto amounts = manager_.amounts(kResource);
    return amounts ? amounts->allocatable : 0;
  }
  template <class Condition>
  void wait(const char* what, Condition condition) {
    if (!manager_.wait_for(condition))
      throw std::runtime_error(fmt::format("timed out waiting for {}\n{}", what, daemon_.log()));
  }

  ScratchFolder cdi_{"/dev/shm"}, run_{"/dev/shm"};  // see BenchNode
  ScratchFolder script_;
  DaemonProcess daemon_;
  FakeDeviceManager manager_{{.folder = daemon_.folder() / "device-plugins"}};
};

}  // namespace

void measure_resources(Table& table, bool quick) {
  const int count = quick ? 100 : 1000;
  ResourceNode node(count + 64);
  Figures first_list;
  for (int i = 0; i < 5; ++i) {
    if (i > 0) node.stop();
    first_list.time([&] { node.start(static_cast<std::size_t>(count) + 64); });
  }
  const ScratchFolder folder;
  const BareServer bare_server(folder / "bare.sock");
  const DriverClients bare_clients(bare_server.socket());
  for (int i = 0; i < 20; ++i) call_empty(bare_clients);
  Figures bare, allocate, prefer, health, restart;
  for (int i = 0; i < count; ++i) {
    bare.time([&] { call_empty(bare_clients); });
    allocate.time([&] { node.allocate(fmt::format("fpga-{}", i)); });
  }
  std::vector<std::string> available;
  for (int i = 0; i < 64; ++i) available.push_back(fmt::format("fpga-{}", count + i));
  for (int i = 0; i < count; ++i) prefer.time([&] { node.prefer(available, 16); });
  constexpr auto kPause = 150ms;  // a stream sends at most one list per 100 ms
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(kPause);
    health.time([&] { node.set_health(available[i / 2], i % 2 == 1); });  // each changes once, so that none flaps
  }
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(kPause);  // with caches as cold as for a change
    restart.time([&] { node.restart_kubelet(); });
  }

  table.figure("Allocate, one device", allocate);
  table.figure("GetPreferredAllocation, 16 of 64", prefer);
  table.figure("device change to ListAndWatch", health);
  table.figure("kubelet restart to the device list", restart);
  table.budget("Allocate / bare gRPC server's empty RPC", allocate.p50_us() / bare.p50_us(), 4, "x");
  // A restart sends the same list to the same kubelet, and looks at no device.
  table.budget("device change to ListAndWatch / kubelet restart to the device list", health.p50_us() / restart.p50_us(),
               2, "x");
  table.budget("kubelet restart to the device list, p99", restart.p99_us() / 1e6, 1, "s");
  table.budget("exec to the first device list, p50", first_list.p50_us() / 1000, 300, "ms");
}

}  // namespace cardcage::bench
