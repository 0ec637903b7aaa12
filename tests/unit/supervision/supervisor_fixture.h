// A supervisor of a fake module, stepped by hand.
#pragma once

#include <gmock/gmock.h>

#include "host/supervision/supervisor.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_health_store.h"
#include "tests/fakes/fake_kernel_log.h"
#include "tests/fakes/fake_module.h"

namespace cardcage {

class SupervisorFixture : public CoreFixture {
 protected:
  SupervisorFixture() {
    module->devices.devices = {Device{.id = "gpu-0", .name = "gpu-0", .kind = "gpu"}};
    spawn(core, supervisor.run());
  }
  ~SupervisorFixture() override { run(supervisor.stop()); }

  Task<Result<ModuleBuild>> stage() {
    if (broken_file) co_return std::unexpected(*broken_file);
    co_return std::make_shared<const StagedModule>(StagedModule{"fake.so", module->about.sha256, {}, {}});
  }
  Task<Result<std::shared_ptr<Module>>> load(ModuleBuild build) {
    ++loads;
    loaded_build = std::move(build);
    const auto other = other_builds.find(loaded_build->sha256);
    co_return other == other_builds.end() ? module : other->second;
  }
  static ModuleConfig with_option(const std::string& value) {
    ModuleConfig config{.name = "fake"};
    config.options["mode"].value = value;
    return config;
  }
  // The outcome of the operator's command, once there is one.
  std::shared_ptr<std::optional<Status>> order(ModuleVerb verb, Duration limit = std::chrono::seconds(10)) {
    return order_device(verb, "", limit);
  }
  std::shared_ptr<std::optional<Status>> order_device(ModuleVerb verb, const std::string& of,
                                                      Duration limit = std::chrono::seconds(10)) {
    auto outcome = std::make_shared<std::optional<Status>>();
    spawn(core, keep(supervisor.execute({verb, "fake", of, "alice", "driver 580", limit}), outcome));
    settle();
    return outcome;
  }
  const Device& device() { return supervisor.snapshot()->devices.front(); }

  FakeClock clock;
  std::shared_ptr<FakeModule> module = std::make_shared<FakeModule>(core);
  std::optional<Error> broken_file;
  ModuleBuild loaded_build;
  std::map<std::string, std::shared_ptr<FakeModule>> other_builds;  // by digest, without that of `module`
  Leftover load_leftover;
  int loads = 0, changes = 0;
  SupervisorEvent last_change = SupervisorEvent::kState;
  std::map<std::string, CauseHealth> stuck;  // stuck devices, by id
  ScratchFolder folder;
  QuiesceMarks marks{folder / "quiesced", "this boot"};
  FakeHealthStore records;
  std::vector<HealthEvent> health_events;
  std::string holders;    // holders of every device
  std::string claims_of;  // id of the module that prepared the live claim; empty = unknown
  FakeKernelLog kernel;
  EventSources sources{core, clock, kernel.place()};
  Supervisor supervisor{ModuleConfig{.name = "fake"},
                        {},
                        {.stage = [this](const ModuleConfig&, Instant, Leftover&) { return stage(); },
                         .load =
                             [this](const ModuleConfig&, ModuleBuild build, Instant, Leftover& left) {
                               left = load_leftover;
                               return load(std::move(build));
                             }},
                        core,
                        clock,
                        marks,
                        records,
                        {[this](const Supervisor&, SupervisorEvent event) {
                           ++changes;
                           last_change = event;
                         },
                         [this](const std::string&) {
                           return std::vector{ModuleClaim{.ref = {"default", "c", "uid-1"}, .module_id = claims_of}};
                         },
                         {},
                         &sources,
                         [this](const std::string&, const std::string& id) {
                           const auto found = stuck.find(id);
                           return found == stuck.end() ? std::nullopt : std::optional(found->second);
                         },
                         {},
                         [this](const HealthEvent& event) { health_events.push_back(event); },
                         [this](const Supervisor&, const Device&) { return holders; }}};

 private:
  static Task<void> keep(Task<Status> task, std::shared_ptr<std::optional<Status>> outcome) {
    outcome->emplace(co_await std::move(task));
  }
};

}  // namespace cardcage
