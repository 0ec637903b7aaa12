#include "sim/nvml/fake_gpus.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "sim/nvml/product.h"
#include "sim/nvml/tree.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using namespace fake_nvml;

constexpr unsigned kFirstSwitchBus = 0x05;

std::shared_ptr<State> owned(State* state) {
  if (state == nullptr) throw std::runtime_error("the folder has no fake NVIDIA driver");
  return {state, [](State* mapped) { ::munmap(mapped, sizeof(State)); }};
}

// Places two GPUs below each root complex, and the first half of the complexes at NUMA node 0.
void place(Gpu& gpu, unsigned index, unsigned count) {
  static constexpr unsigned kRoots[] = {0x3a, 0x4a, 0x5a, 0x6a, 0x9a, 0xaa, 0xba, 0xca};
  const unsigned pair = index / 2, pairs = (count + 1) / 2;
  gpu.minor = index;
  gpu.root_bus = kRoots[pair];
  gpu.bus = gpu.root_bus + 1 + index % 2;
  gpu.numa_node = static_cast<int>(pair * 2 / pairs);
}

void link_to_switches(Gpu& gpu, unsigned switches) {
  if (switches == 0) return;
  for (unsigned i = 0; i < gpu.link_count; ++i)
    gpu.links[i] = {true, false, nvml::kRemoteSwitch, 0, kFirstSwitchBus + i % switches, 0};
}

Gpu make_gpu(const Product& product, const std::string& name, unsigned index, unsigned count) {
  Gpu gpu = product.gpu;
  place(gpu, index, count);
  link_to_switches(gpu, product.switches);
  unsigned long long seed = index;
  for (const char c : name) seed = seed * 131 + static_cast<unsigned char>(c);
  copy_text(gpu.uuid, sizeof gpu.uuid, make_uuid("GPU-", seed));
  copy_text(gpu.serial, sizeof gpu.serial, fmt::format("{}{:04}", product.serial_prefix, index + 1));
  gpu.module_id = index < product.module_ids.size() ? product.module_ids[index] : index + 1;
  return gpu;
}

}  // namespace

FakeGpus::FakeGpus(fs::path root, const FakeNode& node) : root_(std::move(root)) {
  const auto count = static_cast<unsigned>(node.gpus);
  if (count > kMaxGpus) throw std::runtime_error(fmt::format("at most {} GPUs", kMaxGpus));
  for (const char* folder : {"driver", "sys", "proc", "dev", "removed", "imex"}) fs::remove_all(root_ / folder);
  install_driver(root_, node.driver);
  state_ = owned(create_state(library_folder()));
  const Product product = load_product(node.product);
  const Guard world(*state_);
  world->gpu_count = count;
  copy_text(world->kernel_version, sizeof world->kernel_version, node.driver);
  for (unsigned i = 0; i < count; ++i) {
    world->gpus[i] = make_gpu(product, node.product, i, count);
    if (node.own_domains) {
      constexpr unsigned kFirstDomain = 0x10000;
      const Gpu& first = world->gpus[0];
      world->gpus[i].domain = kFirstDomain * (i + 1);
      world->gpus[i].root_bus = first.root_bus;
      world->gpus[i].bus = first.bus;
    }
    write_gpu(root_, world->gpus[i], product);
  }
  load_module(root_, *world);
  world->loaded = true;
}

FakeGpus::Mapped FakeGpus::map(const fs::path& root) { return owned(map_state(root / "driver/usr/lib64")); }

Gpu& FakeGpus::gpu_at(const Guard& world, int gpu) {
  if (gpu < 0 || static_cast<unsigned>(gpu) >= world->gpu_count)
    throw std::out_of_range(fmt::format("there is no GPU {}", gpu));
  return world->gpus[gpu];
}

Function& FakeGpus::function_at(const Guard& world, std::string_view function) {
  const auto* const found = std::ranges::find(kCallNames, function);
  if (found == std::end(kCallNames)) throw std::out_of_range(fmt::format("the library has no {}", function));
  return world->functions[found - kCallNames];
}

std::string FakeGpus::driver_version() const { return state()->kernel_version; }

std::string FakeGpus::uuid(int gpu) const { return gpu_at(state(), gpu).uuid; }

std::string FakeGpus::mig_uuid(int gpu, unsigned gi, unsigned ci) const {
  if (gi >= kMaxInstances || ci >= kMaxComputes) throw std::out_of_range("there is no such instance");
  return gpu_at(state(), gpu).instances[gi].computes[ci].uuid;
}

std::string FakeGpus::bus_id(int gpu) const { return fake_nvml::bus_id(gpu_at(state(), gpu)); }

std::string FakeGpus::smi_log() const {
  std::ostringstream text;
  text << std::ifstream(library_folder() / kSmiLog).rdbuf();
  return text.str();
}

void FakeGpus::fail(std::string_view function, Return code, int times) {
  const Guard world = state();
  Function& found = function_at(world, function);
  found.failure = code;
  found.failures = times;
}

void FakeGpus::delay(std::string_view function, unsigned ms) {
  const Guard world = state();
  function_at(world, function).delay_ms = ms;
}

void FakeGpus::hang(std::string_view function) {
  const Guard world = state();
  function_at(world, function).hangs = 1;
}

void FakeGpus::release() {
  const Guard world = state();
  for (Function& function : world->functions) function.hangs = 0;
}

unsigned long long FakeGpus::calls(std::string_view function) const {
  const Guard world = state();
  return function_at(world, function).calls;
}

void FakeGpus::forget_instances(State& world) const {
  for (unsigned i = 0; i < world.gpu_count; ++i) {
    Gpu& gpu = world.gpus[i];
    if (!gpu.mig_resetless) gpu.mig_mode = gpu.mig_pending;  // the card remembers
    if (gpu.mig_resetless) gpu.mig_mode = gpu.mig_pending = nvml::kDisabled;
    reset_gpu(world, gpu, root_);
  }
}

void FakeGpus::upgrade_driver(const std::string& version) {
  const Guard world = state();
  uninstall_driver(root_);
  install_driver(root_, version);
  forget_instances(*world);
  copy_text(world->kernel_version, sizeof world->kernel_version, version);
  world->loaded = true;
  load_module(root_, *world);
}

void FakeGpus::mismatch(const std::string& version) {
  const Guard world = state();
  uninstall_driver(root_);
  install_driver(root_, version);
}

void FakeGpus::unload_driver() {
  const Guard world = state();
  forget_instances(*world);
  world->loaded = false;
  unload_module(root_, *world);
}

void FakeGpus::load_driver() {
  const Guard world = state();
  world->loaded = true;
  load_module(root_, *world);
}

}  // namespace cardcage
