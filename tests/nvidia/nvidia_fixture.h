// The NVIDIA module on a fake node, loaded and called as the daemon does it, in either isolation.
#pragma once

#include <memory>

#include "host/services/services.h"
#include "sim/nvml/fake_gpus.h"
#include "tests/common/hardware_fixture.h"
#include "tests/fakes/built_files.h"

namespace cardcage {

class NvidiaFixture : public HardwareFixture {
 protected:
  static constexpr int kTicksPerLook = 10;

  NvidiaFixture() : HardwareFixture("resource.nvidia.com/v1beta1") { modules_dir = built_modules(); }
  ~NvidiaFixture() override {
    let_go();  // before the GPUs go
  }

  // Lays out the node and starts the module on it.
  Status start_on(const FakeNode& node, const Options& options = {}) {
    gpus = std::make_unique<FakeGpus>(folder / "node", node);
    return start_again(options);
  }
  // Starts a new instance, which knows nothing of an earlier one.
  Status start_again(const Options& options = {}) {
    let_go();
    roots = {.sysfs = gpus->sysfs(),
             .procfs = gpus->procfs(),
             .devfs = gpus->devfs(),
             .driver = gpus->driver_root(),
             .driver_on_node = driver_on_node};
    ModuleConfig wanted = config("libcardcage_nvidia.so", options);
    wanted.programs = {gpus->driver_root() / "usr/bin/nvidia-smi", built_program("cardcage-nvidia-mps")};
    if (may_load_modules) wanted.programs.push_back(gpus->driver_root() / "usr/bin/nvidia-modprobe");
    wanted.writes = writes_allowed;
    return start_module(wanted, services);
  }

  // The same, with frequent looks at the health, of which the first ones are over.
  Status watch(const FakeNode& node, Options options = {}) {
    gpus = std::make_unique<FakeGpus>(folder / "node", node);
    return watch_again(std::move(options));
  }
  Status watch_again(Options options = {}) {
    options.emplace("health_interval", std::string("1ms"));
    if (auto started = start_again(options); !started) return started;
    discover();
    pass_looks(3);  // after a start the module waits before it states that a GPU is healthy
    return {};
  }

  ModuleClaim claim_of(const std::string& uid, const std::vector<std::string>& wanted, const std::string& params = {},
                       const std::string& kind = "GpuConfig") {
    return HardwareFixture::claim_of(uid, wanted, params, kind);
  }

  // Lets the timer of the module expire until it has looked at every GPU `looks` times.
  void pass_looks(int looks) { pass_ticks(looks * kTicksPerLook); }

  bool may_load_modules = false;  // the configuration allows nvidia-modprobe
  std::unique_ptr<FakeGpus> gpus;
  std::string driver_on_node;          // for NodeRoots
  std::shared_ptr<Services> services;  // for tests that start services
};

}  // namespace cardcage
