#include "tests/bench/metrics_figures.h"

#include <fmt/format.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "host/metrics/collector.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/daemon_process.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/http_get.h"

namespace cardcage::bench {
namespace {

using namespace std::chrono_literals;

// Two samples of each device of the mock belong to no lane.
constexpr int kSampledDevices = 1000, kLanes = 18, kSamples = kSampledDevices * (kLanes + 2);

std::uint16_t start(DaemonProcess& daemon) {
  const std::uint16_t port = free_port();
  std::string node = daemon.node_section((daemon.folder() / "node").native());
  const std::string off = "listen = \"\"";
  node.replace(node.find(off), off.size(), fmt::format("listen = \"127.0.0.1:{}\"", port));
  daemon.configure(node + fmt::format("[[module]]\nname = \"mock\"\npath = \"libcardcage_mock.so\"\n[module.options]\n"
                                      "devices = [\"gpu:{}\"]\nmetrics_lanes = {}\n"
                                      "[[module.serve]]\napi = \"dra\"\ndriver = \"gpu.mock.cardcage.dev\"\n",
                                      kSampledDevices, kLanes));
  daemon.start();
  const std::string shown = fmt::format("cardcage_module_samples{{module=\"mock\"}} {}\n", kSamples + 1);
  if (!eventually([&] { return http_get(port, "/metrics").find(shown) != std::string::npos; }, 20s))
    throw std::runtime_error("the daemon shows no figures:\n" + daemon.log());
  return port;
}

}  // namespace

void measure_scrapes(Table& table, bool quick) {
  DaemonProcess daemon(built_program("cardcage"), built_module("mock"));
  const std::uint16_t port = start(daemon);
  Figures cached, collected, meanwhile;
  for (int i = 0; i < (quick ? 20 : 100); ++i) cached.time([&] { http_get(port, "/metrics"); });
  for (int i = 0; i < (quick ? 3 : 20); ++i) {
    std::this_thread::sleep_for(MetricsCollector::kFresh + 100ms);
    std::atomic<bool> ended = false;
    std::thread scrape([&] {
      collected.time([&] { http_get(port, "/metrics"); });
      ended = true;
    });
    while (!ended) meanwhile.time([&] { http_get(port, "/healthz"); });
    scrape.join();
  }
  table.figure("/healthz during scrapes", meanwhile);
  table.budget(fmt::format("scrape of {} samples, with their collection", kSamples), collected.p50_us() / 1000, 40,
               "ms");
  table.budget(fmt::format("scrape of {} samples", kSamples), cached.p50_us() / 1000, 20, "ms");
}

}  // namespace cardcage::bench
