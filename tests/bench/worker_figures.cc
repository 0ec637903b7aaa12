#include "tests/bench/worker_figures.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "host/core/clock.h"
#include "host/module/load.h"
#include "host/module/running_module.h"

namespace cardcage::bench {
namespace {

using namespace std::chrono_literals;

// One mock in one isolation, on a core of its own.
class MockModule {
 public:
  explicit MockModule(Isolation isolation) {
    config_.name = "mock";
    config_.path = std::filesystem::path(CARDCAGE_MOCK).filename();
    config_.isolation = isolation;
    config_.options["devices"].value = std::vector<std::string>{"gpu:8"};
  }
  ~MockModule() {
    if (module_) std::ignore = run(module_->stop(soon()));
  }

  void start() {
    module_ =
        must(run(load_module(core_, clock_, config_, std::filesystem::path(CARDCAGE_MOCK).parent_path(), soon())));
    must(run(module_->start({}, soon())));
    must(run(module_->discover(soon())));
  }
  void stop() {
    must(run(module_->stop(soon())));
    module_.reset();
  }
  // The smallest call that reaches the module and comes back with something.
  void round_trip() {
    ModuleClaim claim;
    claim.ref = {"default", "bench", "uid"};
    must(run(module_->unprepare(claim, soon())));
  }

 private:
  Instant soon() const { return clock_.now() + 10s; }
  template <class T>
  T run(Task<T> task) {
    std::optional<T> value;
    asio::co_spawn(core_, std::move(task), [&](const std::exception_ptr&, T result) { value = std::move(result); });
    core_.restart();
    while (!value && core_.run_one_for(10s) > 0) {
    }
    if (!value) throw std::runtime_error("a call of the module did not end");
    return std::move(*value);
  }
  template <class T>
  static T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }

  asio::io_context core_;
  SystemClock clock_;
  ModuleConfig config_;
  std::shared_ptr<Module> module_;
};

// Of the children of this process that are workers; kB.
std::vector<std::string> worker_pids() {
  std::vector<std::string> pids;
  std::ifstream children(fmt::format("/proc/self/task/{}/children", ::getpid()));
  for (std::string pid; children >> pid;) {
    std::string name;
    std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), name);
    if (name.starts_with("cardcage-worke")) pids.push_back(pid);
  }
  return pids;
}

double pss_mb(const std::string& pid) {
  std::ifstream rollup(fmt::format("/proc/{}/smaps_rollup", pid));
  for (std::string line; std::getline(rollup, line);)
    if (line.starts_with("Pss:")) return std::stod(line.substr(4)) / 1024;
  throw std::runtime_error("no PSS of a worker");
}

double rss_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

std::size_t open_descriptors() {
  std::filesystem::directory_iterator begin("/proc/self/fd"), end;
  return static_cast<std::size_t>(std::distance(begin, end));
}

}  // namespace

void measure_workers(Table& table, bool quick) {
  const int pairs = quick ? 5 : 20, rounds = 250, starts = quick ? 10 : 50, reloads = quick ? 50 : 1000;
  Figures inside, remote, spawn;
  // The kernel leaves a thread on the core that it was on, and to wake another core costs ten times as much.
  for (int pair = 0; pair < pairs; ++pair) {
    MockModule in_process(Isolation::kInProcess), process(Isolation::kProcess);
    in_process.start();
    process.start();
    for (int i = 0; i < rounds; ++i) {
      inside.time([&] { in_process.round_trip(); });
      remote.time([&] { process.round_trip(); });
    }
    const auto pids = worker_pids();
    if (pids.size() != 1) throw std::runtime_error("there is not one worker");
    if (pair == 0) table.budget("worker, PSS", pss_mb(pids.front()), 4, "MB");
  }
  for (int i = 0; i < starts; ++i) {
    MockModule process(Isolation::kProcess);
    spawn.time([&] { process.start(); });
  }
  table.figure("call into a module inside the daemon", inside);
  table.figure("call into a worker", remote);
  table.budget("worker round trip over in-process, p50", remote.p50_us() - inside.p50_us(), 60, "µs");
  table.budget("spawn of a worker to its first snapshot", spawn.p50_us() / 1000, 50, "ms");

  MockModule process(Isolation::kProcess);
  const auto reload = [&] {
    process.start();
    process.stop();
  };
  for (int i = 0; i < 20; ++i) reload();
  const double before = rss_mb();
  const auto descriptors = open_descriptors();
  for (int i = 0; i < reloads; ++i) reload();
  table.budget(fmt::format("growth of the host over {} reloads", reloads), rss_mb() - before, 1, "MB");
  table.budget("descriptors more after them", static_cast<double>(open_descriptors() - descriptors), 0, "");
}

}  // namespace cardcage::bench
