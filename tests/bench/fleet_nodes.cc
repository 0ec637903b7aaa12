// The slice publishers and API sessions of many nodes in one process, for `tools/test fleet`.
// tests/bench/fleet.py writes commands to its standard input, and reads a line of JSON after each:
//
//   start                  every node begins to publish its devices
//   touch                  one device of each node changes its taints
//   storm SECONDS CHANGES READS   CHANGES devices change their taints each second, and READS claims are read
//
// The end of the input ends the process. tests/bench/peer/fleet.go does the same with the Go helper library.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "host/apiserver/api_server.h"
#include "host/slices/slice_publisher.h"

namespace cardcage::bench {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr Duration kReadLimit = 10s;

struct Settings {
  std::string kubeconfig, prefix = "fleet-", domain = "fleet.cardcage.dev";
  std::string name_space = "bench";
  int nodes = 500, drivers = 3, devices = 8, claims = 20;
};

class Node {
 public:
  Node(asio::io_context& core, Clock& clock, const Settings& settings, int number)
      : core_(core), name_(fmt::format("{}{:05}", settings.prefix, number)) {
    ApiServerConfig config;
    config.kubeconfig = settings.kubeconfig;
    auto made = ApiServer::make(core, clock, config);
    if (!made) throw std::runtime_error(made.error().message);
    api_ = std::move(*made);
    for (int i = 0; i < settings.drivers; ++i) {
      publishers_.emplace_back(
          core, clock, *api_,
          PublisherOptions{.driver = fmt::format("gpu{}.{}", i, settings.domain),
                           .node_name = name_,
                           .jitter_seed = static_cast<std::uint32_t>(number * settings.drivers + i)});
      tainted_.emplace_back(static_cast<std::size_t>(settings.devices), false);
    }
  }
  void start() {
    for (std::size_t i = 0; i < publishers_.size(); ++i) {
      publish(i);
      spawn(core_, publishers_[i].run());
    }
  }
  // Adds a taint to the device, or removes it.
  void change(std::size_t driver, std::size_t device) {
    tainted_[driver][device] = !tainted_[driver][device];
    publish(driver);
  }
  ApiServer& api() { return *api_; }

 private:
  void publish(std::size_t driver) {
    auto content = std::make_shared<PoolContent>();
    for (std::size_t i = 0; i < tainted_[driver].size(); ++i) {
      SliceDevice device;
      device.name = fmt::format("gpu-{}", i);
      device.attributes["index"] = static_cast<std::int64_t>(i);
      if (tainted_[driver][i]) device.taints.push_back({"fleet.cardcage.dev/unhealthy", "test", "NoSchedule", ""});
      content->devices.push_back(std::move(device));
    }
    publishers_[driver].set_pools({{name_, std::move(content)}});
  }

  asio::io_context& core_;
  std::string name_;
  std::unique_ptr<ApiServer> api_;
  std::deque<SlicePublisher> publishers_;
  std::vector<std::vector<bool>> tainted_;  // by driver and device
};

struct Reads {
  std::size_t running = 0, failed = 0;
  std::vector<double> milliseconds;
  std::string error;  // the first failure
};

class Fleet {
 public:
  Fleet(asio::io_context& core, Clock& clock, Settings settings) : core_(core), clock_(clock), settings_(settings) {
    for (int i = 0; i < settings_.nodes; ++i) nodes_.push_back(std::make_unique<Node>(core, clock, settings_, i));
  }

  void start() {
    for (const auto& node : nodes_) node->start();
  }
  void touch() {
    for (const auto& node : nodes_) node->change(0, 0);
  }
  // Returns a line of JSON about the reads.
  Task<std::string> storm(int seconds, double changes, double reads) {
    Reads done;
    const Instant begin = clock_.now();
    double changed = 0, read = 0;
    while (clock_.now() < begin + std::chrono::seconds(seconds)) {
      co_await clock_.sleep_for(20ms);
      const double passed = std::chrono::duration<double>(clock_.now() - begin).count();
      for (; changed < passed * changes; ++changed) change_next();
      for (; read < passed * reads; ++read) spawn(core_, read_claim(*this, done));
    }
    const Instant limit = clock_.now() + 2 * kReadLimit;
    while (done.running > 0 && clock_.now() < limit) co_await clock_.sleep_for(20ms);
    done.failed += done.running;
    std::ranges::sort(done.milliseconds);
    const auto quantile = [&done](double share) {
      if (done.milliseconds.empty()) return 0.0;
      return done.milliseconds[static_cast<std::size_t>(share * static_cast<double>(done.milliseconds.size() - 1))];
    };
    co_return fmt::format(R"({{"changes":{},"reads":{},"failed":{},"p50_ms":{:.1f},"p99_ms":{:.1f},"error":"{}"}})",
                          changed, read, done.failed, quantile(0.5), quantile(0.99), done.error);
  }

 private:
  // Another driver, node and device each time.
  void change_next() {
    const std::size_t number = next_++;
    const auto drivers = static_cast<std::size_t>(settings_.drivers);
    const std::size_t device = number / nodes_.size() / drivers % static_cast<std::size_t>(settings_.devices);
    nodes_[number % nodes_.size()]->change(number / nodes_.size() % drivers, device);
  }
  static Task<void> read_claim(Fleet& fleet, Reads& reads) {
    const std::size_t number = fleet.read_++;
    ++reads.running;
    const Instant begin = fleet.clock_.now();
    std::string claim = fmt::format("claim-{}", number % static_cast<std::size_t>(fleet.settings_.claims));
    ApiServer& api = fleet.nodes_[number % fleet.nodes_.size()]->api();
    const auto got = co_await api.get_claim(fleet.settings_.name_space, std::move(claim), begin + kReadLimit);
    --reads.running;
    reads.milliseconds.push_back(std::chrono::duration<double, std::milli>(fleet.clock_.now() - begin).count());
    if (got) co_return;
    if (reads.failed++ == 0) reads.error = got.error().message;
  }

  asio::io_context& core_;
  Clock& clock_;
  const Settings settings_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::size_t next_ = 0, read_ = 0;
};

Task<void> serve(Fleet& fleet, asio::posix::stream_descriptor& input, asio::io_context& core) {
  asio::streambuf buffer;
  std::cout << R"({"ready":true})" << std::endl;
  while (true) {
    boost::system::error_code failure;
    co_await asio::async_read_until(input, buffer, '\n', asio::redirect_error(asio::use_awaitable, failure));
    if (failure) break;
    std::istream lines(&buffer);
    std::string line, command;
    std::getline(lines, line);
    std::istringstream words(line);
    words >> command;
    std::string response = R"({"done":true})";
    if (command == "start") {
      fleet.start();
    } else if (command == "touch") {
      fleet.touch();
    } else if (command == "storm") {
      int seconds = 0;
      double changes = 0, reads = 0;
      words >> seconds >> changes >> reads;
      response = co_await fleet.storm(seconds, changes, reads);
    } else {
      response = R"({"error":"unknown command"})";
    }
    std::cout << response << std::endl;
  }
  core.stop();
}

int run(int argc, char** argv) {
  CLI::App app("The publishers of many nodes in one process");
  Settings settings;
  app.add_option("--kubeconfig", settings.kubeconfig)->required();
  app.add_option("--nodes", settings.nodes)->check(CLI::Range(1, 100'000));
  app.add_option("--drivers", settings.drivers)->check(CLI::Range(1, 100));
  app.add_option("--devices", settings.devices)->check(CLI::Range(1, 128));
  app.add_option("--claims", settings.claims)->check(CLI::Range(1, 10'000));
  app.add_option("--namespace", settings.name_space);
  CLI11_PARSE(app, argc, argv);
  SystemClock clock;
  asio::io_context core;
  asio::posix::stream_descriptor input(core, 0);
  Fleet fleet(core, clock, settings);
  spawn(core, serve(fleet, input, core));
  core.run();
  // Nothing needs a release, and the coroutines refer to each other.
  std::cout.flush();
  std::_Exit(0);
}

}  // namespace
}  // namespace cardcage::bench

int main(int argc, char** argv) {
  try {
    return cardcage::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "fleet_nodes: " << error.what() << "\n";
    return 1;
  }
}
