// Loads and starts test modules, in either isolation.
#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "sim/scratch_folder.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/load_file.h"

namespace cardcage {

using Options = std::map<std::string, OptionValue>;

inline void PrintTo(Isolation isolation, std::ostream* out) {
  *out << (isolation == Isolation::kInProcess ? "InProcess" : "Process");
}
inline std::string name_of_isolation(const ::testing::TestParamInfo<Isolation>& about) {
  return ::testing::PrintToString(about.param);
}

class ModuleFixture : public CoreFixture {
 protected:
  explicit ModuleFixture(Isolation chosen) : isolation(chosen) {}
  ~ModuleFixture() override { let_go(); }

  // Stops the module, if it runs, and lets blocked calls return.
  void let_go() {
    release();
    if (module) run(ignore(module->stop(soon())));
    module.reset();
    settle();
    // An abandoned thread must end before its files are removed; a process was killed.
    if (isolation == Isolation::kInProcess && is_hanging_now()) {
      EXPECT_TRUE(eventually([&] { return std::filesystem::exists(folder / "release.left"); }));
    }
  }

  ModuleConfig config(const std::string& file, const Options& options = {}) {
    ModuleConfig made;
    made.name = "m";
    made.path = file;
    made.isolation = isolation;
    made.process.environment = {"CARDCAGE_TEST_RELEASE"};
    made.position = {"t.toml", 1, 1};
    std::uint32_t line = 10;
    for (const auto& [name, value] : options) made.options[name] = {value, {"t.toml", line++, 5}};
    return made;
  }
  Result<std::shared_ptr<Module>> load(const ModuleConfig& wanted) {
    return run(load_file(core, clock, wanted, modules_dir, soon(), nullptr, {&groups, writes, nullptr, roots}));
  }
  // Loads and starts a module, and records its events.
  Status start(const std::string& file, const Options& options = {}) {
    auto loaded = load(config(file, options));
    if (!loaded) return std::unexpected(loaded.error());
    module = *loaded;
    return run(module->start(events(), soon()));
  }
  ModuleEvents events() {
    ModuleEvents told;
    told.rescan = [this] { ++rescans; };
    told.health = [this](std::string id, Health health) { reports.emplace_back(std::move(id), std::move(health)); };
    told.lost = [this](Error error) { lost = std::move(error); };
    return told;
  }
  Options scripted(const std::vector<std::string>& behave) const {
    return {{"behave", behave}, {"release", (folder / "release").native()}};
  }
  Status start_scripted(const std::vector<std::string>& behave) { return start("scripted.so", scripted(behave)); }

  // Deadlines follow the fake clock: time stands still unless a test moves it.
  Instant soon() const { return clock.now() + std::chrono::seconds(10); }
  static ModuleClaim claim(const std::string& uid, std::vector<std::string> devices = {"dev-0"}) {
    ModuleClaim made;
    made.ref = {"ns", "c", uid};
    for (std::string& device : devices) {
      made.allocations.emplace_back().device_id = std::move(device);
      made.allocations.back().request = "main";
    }
    return made;
  }

  // Starts a call, whose result the test reads later.
  template <class T>
  std::shared_ptr<std::optional<T>> begin(Task<T> task) {
    auto result = std::make_shared<std::optional<T>>();
    spawn(core, keep(std::move(task), result));
    settle();
    return result;
  }
  // Polls the core until `done`, at most 30 s of real time.
  template <class Condition>
  [[nodiscard]] bool eventually(Condition done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      settle();
      std::this_thread::yield();
    }
    return true;
  }
  [[nodiscard]] bool is_hanging() {
    return eventually([this] { return is_hanging_now(); });
  }
  bool is_hanging_now() const { return std::filesystem::exists(folder / "release.entered"); }
  void release() { std::ofstream(folder / "release").flush(); }
  void advance(Duration duration) {
    clock.advance(duration);
    settle();
  }
  // Makes the fake time follow real time: processes need it, and the host must not give up sooner.
  void set_pace() { paced_ = std::chrono::steady_clock::now(); }
  void keep_pace() {
    const Instant now = std::chrono::steady_clock::now();
    advance(now - std::exchange(paced_, now));
  }
  // Waits for a task while time passes.
  template <class T>
  T finish(Task<T> task) {
    set_pace();
    const auto result = begin(std::move(task));
    EXPECT_TRUE(eventually([&] {
      if (!result->has_value()) keep_pace();
      return result->has_value();
    }));
    return std::move(**result);
  }
  Instant later() const { return clock.now() + std::chrono::hours(1); }

  const Isolation isolation;
  std::filesystem::path modules_dir = test_modules();
  ScratchFolder folder;
  WorkerGroups groups{folder.path()};
  FakeClock clock;
  std::shared_ptr<HardwareWrites> writes = std::make_shared<HardwareWrites>(core, clock);
  NodeRoots roots;
  std::shared_ptr<Module> module;
  int rescans = 0;
  std::vector<std::pair<std::string, Health>> reports;
  std::optional<Error> lost;

 private:
  Instant paced_ = std::chrono::steady_clock::now();

  template <class T>
  static Task<void> keep(Task<T> task, std::shared_ptr<std::optional<T>> result) {
    result->emplace(co_await std::move(task));
  }
  template <class T>
  static Task<void> ignore(Task<T> task) {
    co_await std::move(task);
  }
};

// Base of tests that hold in both isolations.
class ScenarioFixture : public ModuleFixture, public ::testing::WithParamInterface<Isolation> {
 protected:
  ScenarioFixture() : ModuleFixture(GetParam()) {}
};

}  // namespace cardcage
