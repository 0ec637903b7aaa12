// The host's part of a prepare: a module that does nothing, a cluster in memory, ledger and CDI files on a real disk
// ($TMPDIR).
//
// BM_Sync is the baseline: one append and fdatasync on the same disk.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "host/claim/claim_preparer.h"
#include "host/core/unique_fd.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/fake_claim_host.h"
#include "tests/fakes/fake_module.h"
#include "tests/unit/ledger/records.h"

namespace cardcage {
namespace {

// Claim "<n>" has the device "gpu-<n>".
class EndlessCluster final : public Cluster {
 public:
  explicit EndlessCluster(asio::io_context& core) : contact_(core, 0) {}

  Task<Result<Claim>> get_claim(std::string name_space, std::string name, Instant) override {
    Claim claim{.ref = {name_space, name, name}, .allocated = true};
    claim.allocations.push_back({.request = "main", .driver = kDriver, .pool = "node", .device = "gpu-" + name});
    co_return claim;
  }
  Task<Result<PodClaims>> get_pod_claims(std::string, std::string, Instant) override { co_return PodClaims{}; }
  Task<Result<ClusterNode>> get_node(std::string, Instant) override { co_return ClusterNode{"uid", {}}; }
  Task<Status> apply_claim_status(ClaimRef, StatusOwner, std::vector<DeviceStatus>, Instant) override {
    co_return Status{};
  }
  Task<Status> follow_claims(std::function<void(ClaimEvent)>) override { co_return Status{}; }
  Task<Result<SliceList>> list_slices(std::string, std::string, Instant) override { co_return SliceList{}; }
  Task<Result<std::vector<PublishedPool>>> list_pools(std::string, Instant) override {
    co_return std::vector<PublishedPool>{};
  }
  std::size_t parallel_writes() const override { return 8; }
  Task<Result<Slice>> create_slice(Slice slice, Instant) override { co_return slice; }
  Task<Result<Slice>> update_slice(Slice slice, Instant) override { co_return slice; }
  Task<Status> delete_slice(Slice, Instant) override { co_return Status{}; }
  Task<Status> watch_slices(std::string, std::string, std::string&, std::function<void(SliceEvent)>) override {
    co_return Status{};
  }
  Contact& contact() override { return contact_; }
  Task<Status> write_event(NodeEvent, Instant) override { co_return Status{}; }

 private:
  Contact contact_;
};

class EndlessDirectory final : public DeviceDirectory {
 public:
  explicit EndlessDirectory(std::shared_ptr<Module> module) : module_(std::move(module)) {}
  Result<LocatedDevice> locate(const std::string&, const std::string&, const std::string& device) const override {
    LocatedDevice located{"gpus", {}};
    located.device.id = located.device.name = device;
    return located;
  }
  Result<LocatedDevice> locate_id(const std::string&, const std::string&) const override {
    return fail(Code::kNotFound, "there is no resource");
  }
  Result<std::shared_ptr<Module>> module(const std::string&) const override { return module_; }
  Result<std::shared_ptr<Module>> module_for_release(const std::string&) const override { return module_; }
  SnapshotPtr snapshot(const std::string&) const override { return nullptr; }
  Task<void> started(std::string, Instant) const override { co_return; }
  Task<void> returned(std::string, Instant) const override { co_return; }

 private:
  std::shared_ptr<Module> module_;
};

class Host {
 public:
  explicit Host(int prepared) {
    auto opened = Ledger::open(core_, clock_,
                               {.file = folder_ / "ledger.db",
                                .intents = folder_ / "intents",
                                .cdi_folder = cdi_.folder(),
                                .boot_id = kBoot,
                                .history = {},
                                .fault = {}});
    if (!opened) throw std::runtime_error(opened.error().message);
    ledger_ = std::move(*opened);
    preparer_ = ClaimPreparer::create(kDriver, plan_from_cluster(kDriver, reader_, directory_, *ledger_, clock_),
                                      {.core = core_,
                                       .ledger = *ledger_,
                                       .devices = directory_,
                                       .cdi = cdi_,
                                       .clock = clock_,
                                       .deadlines = deadlines_,
                                       .host = host_});
    for (int i = 0; i < prepared; i += 500) prepare(i, std::min(500, prepared - i));
  }
  // Prepares the claims `first` to `first + count - 1` at the same time.
  void prepare(int first, int count) {
    pending_ = count;
    for (int i = first; i < first + count; ++i) spawn(core_, prepare_one(i));
    finish();
  }
  void unprepare(int i) {
    pending_ = 1;
    spawn(core_, unprepare_one(i));
    finish();
    module_->calls.clear();
  }

 private:
  Task<void> prepare_one(int i) {
    const auto name = std::to_string(1'000'000 + i);
    ClaimRef ref{"team", name, name};
    const auto devices = co_await preparer_->prepare(std::move(ref), Instant::max());
    if (!devices) throw std::runtime_error(devices.error().message);
    --pending_;
  }
  Task<void> unprepare_one(int i) {
    const auto name = std::to_string(1'000'000 + i);
    ClaimRef ref{"team", name, name};
    const Status done = co_await preparer_->unprepare(std::move(ref), Instant::max());
    if (!done) throw std::runtime_error(done.error().message);
    --pending_;
  }
  void finish() {
    core_.restart();
    auto work = asio::make_work_guard(core_);
    while (pending_ > 0) core_.run_one();
  }

  asio::io_context core_;
  ScratchFolder folder_;
  SystemClock clock_;
  const DeadlineConfig deadlines_;
  FakeClaimHost host_;
  EndlessCluster cluster_{core_};
  ClaimReader reader_{core_, clock_, cluster_, [](const std::string&, Instant) -> Task<bool> { co_return false; }};
  std::shared_ptr<FakeModule> module_ = std::make_shared<FakeModule>(core_);
  EndlessDirectory directory_{module_};
  CdiWriter cdi_{folder_ / "cdi"};
  std::unique_ptr<Ledger> ledger_;
  std::shared_ptr<ClaimPreparer> preparer_;
  int pending_ = 0;
};

// Reports the median of the durations, because the disk's outliers distort the mean.
class Median {
 public:
  template <class Call>
  void time(benchmark::State& state, Call call) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(took.count());
    times_.push_back(took.count() * 1e6);
  }
  void report(benchmark::State& state) {
    std::ranges::sort(times_);
    state.counters["p50_us"] = times_[times_.size() / 2];
    state.counters["p99_us"] = times_[times_.size() * 99 / 100];
  }

 private:
  std::vector<double> times_;
};

void BM_Sync(benchmark::State& state) {
  const ScratchFolder folder;
  const UniqueFd fd(::open((folder / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string block(16 << 10, 'x');
  Median median;
  for (auto _ : state)
    median.time(state, [&] {
      if (::write(fd.get(), block.data(), block.size()) < 0 || ::fdatasync(fd.get()) != 0) std::abort();
    });
  median.report(state);
}
BENCHMARK(BM_Sync)->UseManualTime()->Iterations(300);

void BM_Prepare(benchmark::State& state) {
  const int prepared = static_cast<int>(state.range(0));
  Host host(prepared);
  Median median;
  for (auto _ : state) {
    median.time(state, [&] { host.prepare(prepared, 1); });
    host.unprepare(prepared);
  }
  median.report(state);
}
BENCHMARK(BM_Prepare)->Arg(10)->Arg(1'000)->Arg(10'000)->UseManualTime()->Iterations(300);

void BM_PrepareTogether(benchmark::State& state) {
  const int together = static_cast<int>(state.range(0));
  Host host(0);
  Median median;
  for (auto _ : state) {
    median.time(state, [&] { host.prepare(0, together); });
    for (int i = 0; i < together; ++i) host.unprepare(i);
  }
  median.report(state);
}
BENCHMARK(BM_PrepareTogether)->Arg(1)->Arg(64)->UseManualTime()->Iterations(20);

void BM_PrepareAgain(benchmark::State& state) {
  const int prepared = static_cast<int>(state.range(0));
  Host host(prepared);
  Median median;
  for (auto _ : state) median.time(state, [&] { host.prepare(0, 1); });
  median.report(state);
}
BENCHMARK(BM_PrepareAgain)->Arg(10)->Arg(10'000)->UseManualTime()->Iterations(300);

}  // namespace
}  // namespace cardcage
