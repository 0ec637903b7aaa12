// Calls the daemon and a driver built on the Go helper library in turn, as a kubelet does, and compares them
// (docs/performance.md). tests/bench/cluster.py starts both on a real API server.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <array>
#include <barrier>
#include <chrono>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "host/kubelet/clients.h"
#include "tests/bench/bare_server.h"
#include "tests/bench/figures.h"
#include "tests/bench/yardsticks.h"
#include "tests/fakes/fake_pod_resources.h"
#include "tests/fakes/proc.h"

namespace cardcage::bench {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

struct BenchClaim {
  ClaimRef ref;
  FakePod pod;  // the claim is reserved for it
  api::dra_v1::NodePrepareResourcesRequest prepare;
  api::dra_v1::NodeUnprepareResourcesRequest unprepare;
};

template <class Request>
Request request_for(const std::string& name_space, const std::string& name, const std::string& uid) {
  Request request;
  auto& claim = *request.add_claims();
  claim.set_namespace_(name_space);
  claim.set_name(name);
  claim.set_uid(uid);
  return request;
}

// Reads the claims by driver. A line is "driver namespace name uid pod-uid".
std::map<std::string, std::vector<BenchClaim>> read_claims(const std::string& path) {
  std::map<std::string, std::vector<BenchClaim>> claims;
  std::ifstream file(path);
  for (std::string driver, name_space, name, uid, pod; file >> driver >> name_space >> name >> uid >> pod;) {
    claims[driver].push_back({{name_space, name, uid},
                              {name_space, name, pod, {}, "Pending", {name}},
                              request_for<api::dra_v1::NodePrepareResourcesRequest>(name_space, name, uid),
                              request_for<api::dra_v1::NodeUnprepareResourcesRequest>(name_space, name, uid)});
  }
  return claims;
}

// One driver, called over one connection, as by a kubelet.
class Driver {
 public:
  Driver(const std::string& registration_socket, std::map<std::string, std::vector<BenchClaim>>& claims) {
    const DriverClients registrar(registration_socket);
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + 10s);
    api::registration::PluginInfo info;
    const auto status = registrar.registration->GetInfo(&context, {}, &info);
    if (!status.ok()) throw std::runtime_error(fmt::format("{}: {}", registration_socket, status.error_message()));
    clients_ = std::make_unique<DriverClients>(info.endpoint());
    claims_ = std::move(claims[info.name()]);
    if (claims_.empty()) throw std::runtime_error("no claims for driver " + info.name());
  }

  Driver(const std::string& service_socket, std::vector<BenchClaim> claims)
      : clients_(std::make_unique<DriverClients>(service_socket)), claims_(std::move(claims)) {}

  const BenchClaim& claim(std::size_t index) const { return claims_[index % claims_.size()]; }
  const std::vector<BenchClaim>& claims() const { return claims_; }

  void call_empty() const {
    api::dra_v1::NodePrepareResourcesResponse response;
    call([&](auto& context) { return clients_->dra_v1->NodePrepareResources(&context, {}, &response); });
  }

  void prepare(const BenchClaim& claim) const {
    api::dra_v1::NodePrepareResourcesResponse response;
    call([&](auto& context) { return clients_->dra_v1->NodePrepareResources(&context, claim.prepare, &response); });
    const auto found = response.claims().find(claim.ref.uid);
    if (found == response.claims().end()) throw std::runtime_error("the driver skipped the claim");
    if (!found->second.error().empty()) throw std::runtime_error(found->second.error());
    if (found->second.devices_size() != 1) throw std::runtime_error("the driver did not prepare one device");
  }

  void unprepare(const BenchClaim& claim) const {
    api::dra_v1::NodeUnprepareResourcesResponse response;
    call([&](auto& context) { return clients_->dra_v1->NodeUnprepareResources(&context, claim.unprepare, &response); });
    const auto found = response.claims().find(claim.ref.uid);
    if (found == response.claims().end()) throw std::runtime_error("the driver skipped the claim");
    if (!found->second.error().empty()) throw std::runtime_error(found->second.error());
  }

 private:
  template <class Rpc>
  static void call(Rpc&& rpc) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);                              // the bare server may still start
    context.set_deadline(std::chrono::system_clock::now() + 45s);  // the kubelet's limit
    if (const grpc::Status status = rpc(context); !status.ok()) throw std::runtime_error(status.error_message());
  }

  std::unique_ptr<DriverClients> clients_;
  std::vector<BenchClaim> claims_;
};

// The kubelet's Pods API. A pod appears for each prepare, as on a node, so each prepare has a GET of its own.
class Pods {
 public:
  explicit Pods(const std::string& kubelet_root) : fake_(kubelet_root, kubelet_root + "/device-plugins") {
    fake_.start_pods_api();
  }
  // Until then no client watches the pods. The daemon looks for the socket every 30 s.
  void wait_for_the_daemon() const {
    for (int i = 0; i < 400 && fake_.watches() == 0; ++i) std::this_thread::sleep_for(100ms);
    if (fake_.watches() == 0) throw std::runtime_error("the daemon does not follow the pods");
  }
  void come(const BenchClaim& claim) { fake_.put_pod(claim.pod); }
  void go(const BenchClaim& claim) { fake_.remove_pod(claim.pod.uid); }

 private:
  FakePodResources fake_;
};

// One side of the comparison. Its first driver is measured; all of them share its memory figure.
struct Side {
  std::string name;
  std::vector<Driver> drivers;
  std::vector<pid_t> pids;

  const Driver& measured() const { return drivers.front(); }
  double pss_mb() const {
    std::size_t kib = 0;
    for (const pid_t pid : pids) kib += proc::pss_kib(pid);
    return static_cast<double>(kib) / 1024;
  }
};
using Sides = std::array<Side, 2>;  // Cardcage, then its peer

// Calls every driver, so that memory that grows with the first calls is counted, too.
void warm_up(const Sides& sides, std::size_t rounds) {
  for (const Side& side : sides) {
    for (const Driver& driver : side.drivers) {
      for (std::size_t i = 0; i < rounds; ++i) {
        driver.prepare(driver.claim(i));
        driver.unprepare(driver.claim(i));
      }
    }
  }
}

struct Yardsticks {
  ClaimReader reader;
  SyncedFile file;
};

// The yardsticks of both sides, and whether Cardcage knows each pod before its prepare.
struct Way {
  std::string name;
  Pods* pods;  // null without the Pods API
  double prepare_budget;
};

// Takes turns call by call. The order within a round alternates, because a sync is cheaper just after another one. A
// pod appears before the yardsticks of its round: a kubelet needs ten times as long until it prepares.
void measure_one_caller(Table& table, const Sides& sides, Yardsticks& yardsticks, std::size_t rounds, const Way& way) {
  std::array<Figures, 2> empty, prepare, unprepare;
  Figures get, sync;
  for (std::size_t i = 0; i < rounds; ++i) {
    const std::array<std::size_t, 2> order =
        i % 2 == 0 ? std::array<std::size_t, 2>{0, 1} : std::array<std::size_t, 2>{1, 0};
    const auto each = [&](std::array<Figures, 2>& figures, auto&& action) {
      for (const std::size_t side : order) {
        const Driver& driver = sides[side].measured();
        figures[side].time([&] { action(driver, driver.claim(i)); });
      }
    };
    const BenchClaim& ours = sides[0].measured().claim(i);
    if (way.pods != nullptr) way.pods->come(ours);
    get.time([&] { yardsticks.reader.read(ours.ref); });
    sync.time([&] { yardsticks.file.append(); });
    each(empty, [](const Driver& driver, const BenchClaim&) { driver.call_empty(); });
    each(prepare, [](const Driver& driver, const BenchClaim& claim) { driver.prepare(claim); });
    each(unprepare, [](const Driver& driver, const BenchClaim& claim) { driver.unprepare(claim); });
    if (way.pods != nullptr) way.pods->go(ours);
  }
  table.figure(way.name + ": claim GET alone, from C++", get);
  table.figure(way.name + ": append and fsync alone", sync);
  for (std::size_t side = 0; side < 2; ++side) {
    const std::string who = fmt::format("{}: {}", way.name, sides[side].name);
    table.figure(who + ", empty NodePrepareResources", empty[side]);
    table.figure(who + ", NodePrepareResources", prepare[side]);
    table.figure(who + ", NodeUnprepareResources", unprepare[side]);
  }
  const double own = prepare[0].p50_us() - empty[0].p50_us() - (way.pods == nullptr ? get.p50_us() : 0);
  table.budget(way.name + ": prepare over empty RPC" + (way.pods == nullptr ? " and GET" : ""), own, 300, "us");
  table.budget(way.name + ": prepare / peer's, p50", prepare[0].p50_us() / prepare[1].p50_us(), way.prepare_budget,
               "x");
  table.budget(way.name + ": prepare / peer's, p99", prepare[0].p99_us() / prepare[1].p99_us(), 1, "x");
  table.budget(way.name + ": unprepare / peer's, p50", unprepare[0].p50_us() / unprepare[1].p50_us(), 0.6, "x");
}

struct Load {
  Figures prepare, unprepare;
  std::size_t cycles = 0;
  steady_clock::duration took{};

  double cycles_per_second() const { return static_cast<double>(cycles) / std::chrono::duration<double>(took).count(); }
};

// Each caller prepares and unprepares a claim of its own until the time is up, for a new pod each time.
void load(const Driver& driver, std::size_t callers, std::chrono::milliseconds span, Pods* pods, Load& sum) {
  std::vector<Load> loads(callers);
  std::vector<std::exception_ptr> failures(callers);
  const auto begin = steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < callers; ++i) {
      threads.emplace_back([&, i] {
        try {
          const BenchClaim& claim = driver.claim(i);
          while (steady_clock::now() - begin < span) {
            if (pods != nullptr) pods->come(claim);
            loads[i].prepare.time([&] { driver.prepare(claim); });
            loads[i].unprepare.time([&] { driver.unprepare(claim); });
            if (pods != nullptr) pods->go(claim);
            ++loads[i].cycles;
          }
        } catch (...) {
          failures[i] = std::current_exception();
        }
      });
    }
  }
  sum.took += steady_clock::now() - begin;
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  for (const Load& one : loads) {
    sum.prepare.add(one.prepare);
    sum.unprepare.add(one.unprepare);
    sum.cycles += one.cycles;
  }
}

// The sides take turns block by block: running both at once would make them compete for the processor and the disk. The
// floor is a server that only reads the claim: no driver on gRPC can be faster.
void measure_many_callers(Table& table, const Sides& sides, const Driver& floor, std::size_t callers,
                          std::chrono::milliseconds span, const Way& way) {
  constexpr int kBlocks = 5;
  for (const Side& side : sides)
    if (side.measured().claims().size() < callers) throw std::runtime_error("each caller needs a claim of its own");
  std::array<Load, 2> loads;
  Load least;
  for (int block = 0; block < kBlocks; ++block) {
    for (std::size_t i = 0; i < 2; ++i)
      load(sides[i].measured(), callers, span / (2 * kBlocks), i == 0 ? way.pods : nullptr, loads[i]);
    load(floor, callers, span / (2 * kBlocks), nullptr, least);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string who = fmt::format("{}: {}, {} callers", way.name, sides[i].name, callers);
    table.figure(who + ", NodePrepareResources", loads[i].prepare);
    table.figure(who + ", NodeUnprepareResources", loads[i].unprepare);
    table.value(who + ", cycles", loads[i].cycles_per_second(), "1/s");
  }
  table.value(fmt::format("{}: bare gRPC server with the same GET, {} callers, cycles", way.name, callers),
              least.cycles_per_second(), "1/s");
  table.value(fmt::format("{}: cycles of {} callers, bare gRPC server / peer's", way.name, callers),
              least.cycles_per_second() / loads[1].cycles_per_second(), "x");
  table.at_least(fmt::format("{}: cycles of {} callers / peer's", way.name, callers),
                 loads[0].cycles_per_second() / loads[1].cycles_per_second(), 3, "x");
}

struct Burst {
  Figures last;     // from the first call until the last claim is prepared
  Figures prepare;  // each
  double requests = 0;
};

// So many pods start at once: each prepare has a thread, and all share the driver's connection, as in a kubelet.
void burst(const Driver& driver, std::size_t pods_at_once, Pods* pods, RequestCounter& requests, Burst& sum) {
  std::vector<Figures> prepares(pods_at_once);
  std::vector<std::exception_ptr> failures(pods_at_once);
  const double before = requests.count();
  std::barrier begin(static_cast<std::ptrdiff_t>(pods_at_once) + 1);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < pods_at_once; ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      try {
        const BenchClaim& claim = driver.claim(i);
        if (pods != nullptr) pods->come(claim);
        prepares[i].time([&] { driver.prepare(claim); });
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  }
  begin.arrive_and_wait();
  sum.last.time([&] { threads.clear(); });
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  sum.requests += requests.count() - before;
  for (std::size_t i = 0; i < pods_at_once; ++i) {
    sum.prepare.add(prepares[i]);
    driver.unprepare(driver.claim(i));
    if (pods != nullptr) pods->go(driver.claim(i));
  }
}

void measure_bursts(Table& table, const Sides& sides, const Driver& floor, std::size_t pods_at_once, std::size_t rounds,
                    RequestCounter& requests, const Way& way) {
  std::array<Burst, 2> bursts;
  Burst least;
  for (std::size_t round = 0; round < 2 * rounds; ++round) {
    const std::size_t side = (round + round / 2) % 2;  // the order within a round alternates
    burst(sides[side].measured(), pods_at_once, side == 0 ? way.pods : nullptr, requests, bursts[side]);
    if (round % 2 == 0) burst(floor, pods_at_once, nullptr, requests, least);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string who = fmt::format("{}: {}, {} pods at once", way.name, sides[i].name, pods_at_once);
    table.figure(who + ", until the last is prepared", bursts[i].last);
    table.figure(who + ", NodePrepareResources", bursts[i].prepare);
    table.value(who + ", requests for claims and pods", bursts[i].requests / static_cast<double>(rounds * pods_at_once),
                "each");
  }
  const std::string ratio = fmt::format("{}: {} pods at once, ", way.name, pods_at_once);
  table.value(ratio + "the last, bare gRPC server with the same GET / peer's",
              least.last.p50_us() / bursts[1].last.p50_us(), "x");
  table.budget(ratio + "the last / peer's", bursts[0].last.p50_us() / bursts[1].last.p50_us(), 0.4, "x");
  table.budget(ratio + "prepare / peer's, p99", bursts[0].prepare.p99_us() / bursts[1].prepare.p99_us(), 1, "x");
}

void measure_memory(Table& table, const Sides& sides) {
  std::array<double, 2> pss{};
  for (std::size_t i = 0; i < 2; ++i) {
    pss[i] = sides[i].pss_mb();
    table.value(fmt::format("{}: {} drivers in {} processes, PSS", sides[i].name, sides[i].drivers.size(),
                            sides[i].pids.size()),
                pss[i], "MB");
  }
  table.budget("memory / peer's", pss[0] / pss[1], 1.0 / 6, "x");
}

}  // namespace
}  // namespace cardcage::bench

int main(int argc, char** argv) {
  using namespace cardcage::bench;
  if (argc == 4 && std::strcmp(argv[1], "--bare-server") == 0) return serve_bare(argv[2], argv[3]);
  CLI::App app("Compares the daemon with a driver on the Go helper library; exits with 1 if a budget is missed.",
               "cluster_bench");
  std::array<std::vector<std::string>, 2> sockets;
  Sides sides{Side{"cardcage", {}, {}}, Side{"peer", {}, {}}};
  for (std::size_t i = 0; i < 2; ++i) {
    app.add_option("--" + sides[i].name, sockets[i], "registration sockets")->required();
    app.add_option("--" + sides[i].name + "-pids", sides[i].pids, "processes, for their memory")->required();
  }
  std::string claim_list, kubeconfig, state, kubelet_root;
  std::size_t rounds = 2000, callers = 16, bursts = 20, pods_at_once = 100;
  double seconds = 20;
  app.add_option("--claims", claim_list, "file with a line \"driver namespace name uid pod-uid\" for each claim")
      ->required();
  app.add_option("--kubeconfig", kubeconfig, "for a claim GET without a driver")->required();
  app.add_option("--state", state, "folder for a sync without a driver")->required();
  app.add_option("--kubelet-root", kubelet_root, "folder for the socket of the Pods API")->required();
  app.add_option("--rounds", rounds, "of one caller");
  app.add_option("--callers", callers, "how many call at once");
  app.add_option("--seconds", seconds, "of many callers");
  app.add_option("--bursts", bursts, "of pods that start at once");
  app.add_option("--pods-at-once", pods_at_once, "in a burst");
  CLI11_PARSE(app, argc, argv);
  try {
    auto claims = read_claims(claim_list);
    for (std::size_t i = 0; i < 2; ++i)
      for (const std::string& socket : sockets[i]) sides[i].drivers.emplace_back(socket, claims);
    Yardsticks yardsticks{ClaimReader(kubeconfig), SyncedFile(state + "/bench")};
    RequestCounter requests(kubeconfig);
    const BareServer bare(kubelet_root + "/bare.sock", kubeconfig);
    const Driver floor(bare.socket(), sides[0].measured().claims());
    Table table;
    warm_up(sides, 50);
    const std::chrono::milliseconds span(static_cast<int>(seconds * 1000));
    const auto measure = [&](const Way& way) {
      measure_one_caller(table, sides, yardsticks, rounds, way);
      measure_many_callers(table, sides, floor, callers, span, way);
      measure_bursts(table, sides, floor, pods_at_once, bursts, requests, way);
    };
    measure({"without Pods API", nullptr, 0.7});
    Pods pods(kubelet_root);
    pods.wait_for_the_daemon();
    measure({"Pods API", &pods, 0.4});
    measure_memory(table, sides);
    return table.all_met() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cluster_bench: {}\n", error.what());
    return 2;
  }
}
