// The plugin with a fake runtime and a listener that tests inspect.
#pragma once

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/nri/nri_plugin.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_nri_runtime.h"

namespace cardcage {

constexpr int kRun = api::nri::RUN_POD_SANDBOX, kStop = api::nri::STOP_POD_SANDBOX;

inline RuntimeSandbox sandbox(const std::string& name, const std::string& network_namespace) {
  return {"sandbox-" + name, {"uid-" + name, "default", name, network_namespace}};
}

class NriFixture : public CoreFixture {
 protected:
  NriFixture() {
    NriListener listener;
    listener.connected = [this](std::vector<RuntimeSandbox> pods) { running.push_back(std::move(pods)); };
    listener.starting = [this](RuntimeSandbox sandbox) { return start_pod(std::move(sandbox)); };
    listener.stopping = [this](RuntimeSandbox sandbox) { return stop_pod(std::move(sandbox)); };
    plugin = std::make_unique<NriPlugin>(core, clock, folder / "nri.sock", std::move(listener));
  }
  void TearDown() override {
    for (auto& [name, hold] : holds) hold->wake();
    plugin->stop();
    EXPECT_TRUE(runs_until([&] { return ended; })) << "run() does not return";
  }
  void begin() {
    spawn(core, [](NriFixture& test) -> Task<void> {
      co_await test.plugin->run();
      test.ended = true;
    }(*this));
    settle();
  }
  void connect() {
    runtime.listen();
    begin();
    ASSERT_TRUE(runs_until([&] { return plugin->condition().level == Level::kGood; })) << plugin->condition().text;
  }
  // Makes the plugin's call for the pod of this name wait until the Wakeup is woken.
  Wakeup& hold(const std::string& name) { return *(holds[name] = std::make_unique<Wakeup>(core)); }
  Task<Status> start_pod(RuntimeSandbox sandbox) {
    const PodSandbox& pod = sandbox.pod;
    events.push_back("starting " + pod.name);
    seen.push_back(sandbox);
    if (holds.contains(pod.name)) co_await holds[pod.name]->wait();
    events.push_back("started " + pod.name);
    co_return start_result;
  }
  Task<void> stop_pod(RuntimeSandbox sandbox) {
    const PodSandbox& pod = sandbox.pod;
    events.push_back("stopping " + pod.name);
    if (holds.contains(pod.name)) co_await holds[pod.name]->wait();
    events.push_back("stopped " + pod.name);
  }
  bool responded(std::uint32_t stream) {
    return runs_until([&] { return runtime.responses.contains(stream); });
  }
  Result<std::string> response(std::uint32_t stream) {
    if (!responded(stream)) return fail(Code::kUnknown, "no response");
    return runtime.responses.at(stream);
  }

  ScratchFolder folder;
  FakeClock clock;
  FakeNriRuntime runtime{core, folder / "nri.sock"};
  std::unique_ptr<NriPlugin> plugin;
  std::vector<std::vector<RuntimeSandbox>> running;
  std::vector<std::string> events;
  std::vector<RuntimeSandbox> seen;
  std::map<std::string, std::unique_ptr<Wakeup>> holds;
  Status start_result;
  bool ended = false;
};

}  // namespace cardcage
