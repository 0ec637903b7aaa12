#include "tests/bench/worker_figures.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/core/task_group.h"
#include "tests/bench/loaded_module.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/proc.h"

namespace cardcage::bench {
namespace {

using namespace std::chrono_literals;

class MockModule : public LoadedModule {
 public:
  explicit MockModule(Isolation isolation, const std::filesystem::path& file = built_module("mock"))
      : LoadedModule("mock", isolation, file) {
    config.options["devices"].value = std::vector<std::string>{"gpu:8"};
  }

  void run_a_program_in_prepare() {
    config.programs = {"/bin/true"};
    config.options["exec"].value = std::vector<std::string>{"true"};
  }
  void slow_prepares() { config.options["prepare_delay"].value = "100ms"; }
  // The smallest call that reaches the module and returns a result.
  void round_trip() {
    ModuleClaim claim;
    claim.ref = {"default", "bench", "uid"};
    must(run(module->call(UnprepareCall{claim}, soon())));
  }
  // Prepares that many claims at the same time, and releases them.
  void prepare(int claims) {
    must(run(prepare_all(claims)));
    for (int i = 0; i < claims; ++i) must(run(module->call(UnprepareCall{numbered(i)}, soon())));
  }

 private:
  static ModuleClaim numbered(int number) {
    return claim(fmt::format("uid-{}", number), fmt::format("gpu-{}", number));
  }
  Task<Status> prepare_all(int claims) {
    TaskGroup all(core);
    Status outcome;
    const auto prepare = [&](int number) -> Task<void> {
      PrepareCall call{numbered(number)};
      const auto prepared = co_await module->call(std::move(call), soon());
      if (!prepared) outcome = std::unexpected(prepared.error());
    };
    for (int i = 0; i < claims; ++i) all.spawn(prepare(i));
    co_await all.join(clock, soon());
    co_return outcome;
  }
};

// The duration of two prepares, relative to one.
double two_prepares_over_one(bool quick) {
  MockModule concurrent(Isolation::kProcess, built_module("mock_concurrent"));
  concurrent.slow_prepares();
  concurrent.start();
  Figures one, two;
  for (int i = 0; i < (quick ? 3 : 10); ++i) {
    one.time([&] { concurrent.prepare(1); });
    two.time([&] { concurrent.prepare(2); });
  }
  return two.p50_us() / one.p50_us();
}

// A program's cost in a prepare beyond posix_spawn and the program itself.
double exec_overhead_ms(bool quick) {
  MockModule plain(Isolation::kProcess), runs(Isolation::kProcess);
  runs.run_a_program_in_prepare();
  plain.start();
  runs.start();
  Figures with, without, alone;
  for (int i = 0; i < (quick ? 20 : 100); ++i) {
    with.time([&] { runs.prepare(1); });
    without.time([&] { plain.prepare(1); });
    alone.time([] {
      char name[] = "true";
      char* const arguments[] = {name, nullptr};
      char* const environment[] = {nullptr};
      pid_t pid = -1;
      if (::posix_spawn(&pid, "/bin/true", nullptr, nullptr, arguments, environment) == 0) ::waitpid(pid, nullptr, 0);
    });
  }
  return (with.p50_us() - without.p50_us() - alone.p50_us()) / 1000;
}

double mib(std::size_t kib) { return static_cast<double>(kib) / 1024; }

}  // namespace

void measure_workers(Table& table, bool quick) {
  const int pairs = quick ? 5 : 20, rounds = 250, starts = quick ? 10 : 50, reloads = quick ? 50 : 1000;
  Figures in_process_calls, worker_calls, spawn;
  // The kernel tends to leave a thread on its core, and a call that has to wake another core costs ten times as much.
  // Many pairs of modules make both placements count.
  for (int pair = 0; pair < pairs; ++pair) {
    MockModule in_process(Isolation::kInProcess), worker(Isolation::kProcess);
    in_process.start();
    worker.start();
    for (int i = 0; i < rounds; ++i) {
      in_process_calls.time([&] { in_process.round_trip(); });
      worker_calls.time([&] { worker.round_trip(); });
    }
    const auto workers = proc::workers(::getpid());
    if (workers.size() != 1) throw std::runtime_error(fmt::format("{} workers run, not one", workers.size()));
    if (pair == 0) table.budget("worker, PSS", mib(proc::pss_kib(workers.front())), 4, "MB");
  }
  for (int i = 0; i < starts; ++i) {
    MockModule process(Isolation::kProcess);
    spawn.time([&] { process.start(); });
  }
  table.figure("call into a module inside the daemon", in_process_calls);
  table.figure("call into a worker", worker_calls);
  table.budget("worker round trip over in-process, p50", worker_calls.p50_us() - in_process_calls.p50_us(), 60, "µs");
  table.budget("spawn of a worker to its first snapshot", spawn.p50_us() / 1000, 50, "ms");
  table.budget("program of a module over posix_spawn alone", exec_overhead_ms(quick), 5, "ms");
  table.budget("two prepares of a concurrent module over one, both of 100 ms", two_prepares_over_one(quick), 1.1, "x");

  MockModule process(Isolation::kProcess);
  const auto reload = [&] {
    process.start();
    process.stop();
  };
  for (int i = 0; i < 20; ++i) reload();
  const auto memory_before = proc::rss_kib(::getpid());
  const auto files_before = proc::open_files(::getpid()).size();
  for (int i = 0; i < reloads; ++i) reload();
  table.budget(fmt::format("growth of the host over {} reloads", reloads),
               mib(proc::rss_kib(::getpid())) - mib(memory_before), 1, "MB");
  table.budget("descriptors left open by them",
               static_cast<double>(proc::open_files(::getpid()).size()) - static_cast<double>(files_before), 0, "");
}

}  // namespace cardcage::bench
