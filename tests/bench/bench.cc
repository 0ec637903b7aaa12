// Measures the daemon against its budgets (docs/performance.md). Each is a ratio within one run or an absolute figure.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <thread>

#include "tests/bench/bare_server.h"
#include "tests/bench/bench_node.h"
#include "tests/bench/figures.h"
#include "tests/bench/fpga_figures.h"
#include "tests/bench/health_figures.h"
#include "tests/bench/metrics_figures.h"
#include "tests/bench/nic_figures.h"
#include "tests/bench/nvidia_figures.h"
#include "tests/bench/resource_figures.h"
#include "tests/bench/worker_figures.h"
#include "tests/bench/yardsticks.h"

namespace cardcage::bench {
namespace {

using namespace std::chrono_literals;

double ms(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

struct Phase {
  Figures prepare, sync;
};

// Measures an append and fsync beside each prepare, so that a slower disk does not count as growth of the daemon.
Phase prepare_some(BenchNode& node, SyncedFile& file, int first, int count) {
  Phase phase;
  for (int i = first; i < first + count; ++i) {
    const std::vector<ClaimRef> claim = {node.claim(i)};
    phase.sync.time([&] { file.append(); });
    phase.prepare.time([&] { node.prepare(claim); });
  }
  return phase;
}

void measure_rpcs(Table& table, int rounds) {
  BenchNode node(1, 2 * rounds + 200);
  node.start();
  node.wait_for_slices();
  const BareServer bare_server(node.daemon().folder() / "bare.sock");
  const DriverClients bare_clients(bare_server.socket());
  ClaimReader reader(node.kubeconfig());
  SyncedFile file(node.daemon().folder() / "state/bench");

  // Interleaved, so that other load on the machine affects all of them equally.
  Figures bare, empty, get, sync, prepare, unprepare;
  for (int i = -20; i < rounds; ++i) {
    Figures warm_up;
    const auto into = [&](Figures& figures) -> Figures& { return i < 0 ? warm_up : figures; };
    const std::vector<ClaimRef> claim = {node.claim(i + 20)};
    into(bare).time([&] { call_empty(bare_clients); });
    into(empty).time([&] { call_empty(node.clients()); });
    into(get).time([&] { reader.read(claim[0]); });
    into(sync).time([&] { file.append(); });
    into(prepare).time([&] { node.prepare(claim); });
    into(unprepare).time([&] { node.unprepare(claim); });
  }
  table.figure("bare gRPC server, empty RPC", bare);
  table.figure("empty NodePrepareResources", empty);
  table.figure("claim GET alone", get);
  table.figure("append and fsync alone", sync);
  table.figure("NodePrepareResources, one claim", prepare);
  table.figure("NodeUnprepareResources, one claim", unprepare);
  table.budget("empty RPC / bare gRPC server", empty.p50_us() / bare.p50_us(), 1.2, "x");
  table.budget("prepare / (claim GET + fsync + empty RPC)",
               prepare.p50_us() / (get.p50_us() + sync.p50_us() + empty.p50_us()), 1.3, "x");

  Figures batch;
  for (int i = 0; i < 10; ++i) {
    std::vector<ClaimRef> claims;
    for (int j = 0; j < 64; ++j) claims.push_back(node.claim(j));
    batch.time([&] { node.prepare(claims); });
    node.unprepare(claims);
  }
  table.figure("NodePrepareResources, 64 claims", batch);
  table.budget("64 claims in one RPC / 64 claim GETs, one after the other", batch.p50_us() / (64 * get.p50_us()), 0.8,
               "x");
}

// With the measured ones, these are the 10,000 devices that a module may list.
constexpr int kManyClaims = 9'800, kMeasured = 190;

void measure_growth(Table& table, int claims) {
  BenchNode node(1, claims + 200);
  node.start();
  node.wait_for_slices();
  SyncedFile file(node.daemon().folder() / "state/bench");
  prepare_some(node, file, 0, 10);
  const Phase few = prepare_some(node, file, 10, kMeasured);
  std::vector<ClaimRef> batch;
  for (int i = 200; i < claims; ++i) {
    batch.push_back(node.claim(i));
    if (batch.size() == 64 || i + 1 == claims) {
      node.prepare(batch);
      batch.clear();
    }
  }
  const Phase many = prepare_some(node, file, claims, kMeasured);
  table.figure("prepare with 10 prepared claims", few.prepare);
  table.figure(fmt::format("prepare with {} prepared claims", claims), many.prepare);
  table.budget("growth of prepare / (fsync + one prepare's own work)",
               many.prepare.p50_us() / (few.prepare.p50_us() - few.sync.p50_us() + many.sync.p50_us()), 1.2, "x");
}

void measure_process(Table& table, bool quick) {
  BenchNode node(4, 8);
  for (int i = 0; i < 5; ++i) {
    if (i > 0) node.daemon().stop();
    const auto took = node.start();
    table.value("exec to GetInfo", ms(took), "ms");
    if (i == 4) table.budget("ready to serve from exec", ms(took), 300, "ms");
  }
  node.wait_for_slices();
  table.budget("daemon and its four modules, PSS", static_cast<double>(node.daemon().pss_kib()) / 1024, 32, "MB");
  const auto span = quick ? 2s : 20s;
  std::this_thread::sleep_for(2s);
  const auto before = node.daemon().cpu_time();
  std::this_thread::sleep_for(span);
  const auto used = std::chrono::duration<double>(node.daemon().cpu_time() - before).count();
  table.budget("idle CPU, share of one core", 100 * used / std::chrono::duration<double>(span).count(), 0.1, "%");
}

struct Part {
  std::string_view name;
  void (*measure)(Table& table, bool quick);
};
constexpr Part kParts[] = {
    {"process", measure_process},
    {"claims", [](Table& table, bool quick) { measure_rpcs(table, quick ? 100 : 1000); }},
    {"resources", measure_resources},
    {"health", measure_health},
    {"workers", measure_workers},
    {"nvidia", measure_nvidia},
    {"fpga", measure_fpga},
    {"nic", measure_nic},
    {"metrics", measure_scrapes},
    {"growth", [](Table& table, bool quick) { measure_growth(table, quick ? 1000 : kManyClaims); }},
};

// `only` runs one part of the table, for example under a profiler; empty = all.
int run(bool quick, std::string_view only) {
  Table table;
  for (const Part& part : kParts)
    if (only.empty() || only == part.name) part.measure(table, quick);
  return table.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace cardcage::bench

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--bare-server") == 0) return cardcage::bench::serve_bare(argv[2], argv[3]);
  CLI::App app("Measures the daemon against its budgets; exits with 1 if one is missed.", "cardcage_bench");
  bool quick = false;
  std::string only;
  app.add_flag("--quick", quick, "run fewer rounds: one minute instead of several");
  std::vector<std::string> parts;
  for (const cardcage::bench::Part& part : cardcage::bench::kParts) parts.emplace_back(part.name);
  app.add_option("--only", only, "run one part of the table")->check(CLI::IsMember(parts));
  CLI11_PARSE(app, argc, argv);
  try {
    return cardcage::bench::run(quick, only);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    return 2;
  }
}
