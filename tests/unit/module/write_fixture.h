// Loads the mock module with accesses that it makes when a claim is prepared.
#pragma once

#include "host/core/file.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/proc.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {

// The number of processes that make an access now.
inline int accesses() {
  int count = 0;
  for (const pid_t pid : proc::children(::getpid()))
    count += read_file(fmt::format("/proc/{}/comm", pid), 4096).value_or("") == "cardcage-access\n" ? 1 : 0;
  return count;
}

class WriteFixture : public ScenarioFixture {
 protected:
  WriteFixture() { modules_dir = built_modules(); }
  Status start_with(std::vector<std::string> write, std::vector<std::string> allowed, Options options = {}) {
    options["write"] = std::move(write);
    ModuleConfig wanted = config("libcardcage_mock.so", options);
    wanted.writes = std::move(allowed);
    auto loaded = load(wanted);
    if (!loaded) return std::unexpected(loaded.error());
    module = *loaded;
    return run(module->start(events(), soon()));
  }
  Result<PreparedEdits> prepare(const std::string& device = "gpu-0") {
    return run(module->call(PrepareCall{claim("u-" + device, {device})}, soon()));
  }
  std::string failure() {
    const auto prepared = prepare();
    return prepared ? "it succeeded" : prepared.error().message;
  }
  std::string here(const std::string& name) const { return (folder / name).native(); }
  std::string all_here() const { return here("*"); }
};

}  // namespace cardcage
