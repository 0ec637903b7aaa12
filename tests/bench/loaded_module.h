// A module in one isolation, on its own core, for figures of single calls.
#pragma once

#include <filesystem>
#include <stdexcept>

#include "host/core/clock.h"
#include "host/module/running_module.h"
#include "tests/fakes/load_file.h"
#include "tests/fakes/run_task.h"

namespace cardcage::bench {

class LoadedModule {
 public:
  LoadedModule(std::string name, Isolation isolation, const std::filesystem::path& file, NodeRoots roots = {})
      : folder_(file.parent_path()), roots_(std::move(roots)) {
    config.name = std::move(name);
    config.path = file.filename();
    config.isolation = isolation;
  }
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  ~LoadedModule() {
    if (module) std::ignore = run(module->stop(soon()));
  }

  void start() {
    module = must(run(load_file(core, clock, config, folder_, soon(), nullptr, {nullptr, writes, nullptr, roots_})));
    ModuleEvents events;
    events.descriptor = [this](std::int32_t descriptor) { ready.push_back(descriptor); };
    must(run(module->start(std::move(events), soon())));
    snapshot = must(run(module->call(DiscoverCall{}, soon())));
  }
  void stop() {
    must(run(module->stop(soon())));
    module.reset();
  }
  static ModuleClaim claim(const std::string& uid, const std::string& device_id) {
    ModuleClaim made;
    made.ref = {"default", "bench", uid};
    made.allocations.emplace_back().device_id = device_id;
    return made;
  }

  Instant soon() const { return clock.now() + std::chrono::seconds(10); }
  template <class T>
  T run(Task<T> task) {
    return run_task(core, std::move(task));
  }
  template <class T>
  static T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }

  asio::io_context core;
  SystemClock clock;
  ModuleConfig config;
  std::shared_ptr<HardwareWrites> writes;  // for a module that writes to hardware
  std::shared_ptr<Module> module;
  SnapshotPtr snapshot;
  std::vector<std::int32_t> ready;  // descriptors that the host polls for the module

 private:
  const std::filesystem::path folder_;
  const NodeRoots roots_;
};

}  // namespace cardcage::bench
