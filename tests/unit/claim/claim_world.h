// A node in memory: modules with devices, a cluster with claims, a ledger and a CDI folder on disk, and a preparer.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/claim/claim_preparer.h"
#include "host/claim/recovery.h"
#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_claim_host.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_cluster.h"
#include "tests/fakes/fake_module.h"
#include "tests/fakes/small_disk.h"
#include "tests/unit/ledger/records.h"

namespace cardcage {

inline constexpr const char* kResource = "example.com/gpu";

// The devices and modules that a test adds, for both the driver and the resource.
class FakeDirectory final : public DeviceDirectory {
 public:
  explicit FakeDirectory(asio::io_context& core) : core_(core) {}
  // Device "<stem>-<n>" of pool "node" is "<STEM>-<n>" of module `name`.
  void add(const std::string& name, std::shared_ptr<FakeModule> module, const std::string& stem, int count) {
    modules_[name] = module;
    std::string upper = stem;
    std::ranges::transform(upper, upper.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    for (int n = 0; n < count; ++n) {
      Device device;
      device.id = fmt::format("{}-{}", upper, n);
      device.name = fmt::format("{}-{}", stem, n);
      devices_[device.name] = {name, device};
    }
  }
  void stop_module(const std::string& name) { modules_[name] = nullptr; }
  // From now on the module can be called only to release claims.
  void quiesce_module(const std::string& name) { quiesced_.insert(name); }
  void quiesce_device(const std::string& name) { devices_.at(name).quiesced = "it is quiesced"; }
  // The device that the module reports, for a test to change.
  Device& device(const std::string& name) { return devices_.at(name).device; }
  std::map<std::string, std::map<std::string, Quantity>> counter_sets;
  // Stops the module; start_module() brings it back.
  void restart_module(const std::string& name) {
    stop_module(name);
    returning_.emplace(name, std::vector<OneShot<bool>>());
  }
  void start_module(const std::string& name, std::shared_ptr<FakeModule> module) {
    modules_[name] = std::move(module);
    for (const OneShot<bool>& waiter : std::exchange(returning_[name], {})) waiter.set(true);
    returning_.erase(name);
  }
  // Removes the module from the configuration, with its devices.
  void drop_module(const std::string& name) {
    modules_.erase(name);
    std::erase_if(devices_, [&](const auto& entry) { return entry.second.module == name; });
  }
  void lose_device(const std::string& device) { devices_.erase(device); }
  // Renumbers the devices as the kernel does: each name goes to the device with this id.
  void renumber(const std::vector<std::string>& names, const std::vector<std::string>& ids) {
    for (std::size_t i = 0; i < names.size(); ++i) device(names[i]).id = ids.at(i);
  }

  Result<LocatedDevice> locate(const std::string& driver, const std::string& pool,
                               const std::string& device) const override {
    const auto found = devices_.find(device);
    if ((driver != kDriver && driver != kResource) || (!pool.empty() && pool != "node") || found == devices_.end())
      return fail(Code::kNotFound, "no module reports it");
    return found->second;
  }
  Result<LocatedDevice> locate_id(const std::string& resource, const std::string& device_id) const override {
    for (const auto& [name, located] : devices_)
      if (located.device.id == device_id) return locate(resource, "", name);
    return fail(Code::kNotFound, "no module reports it");
  }
  Result<std::shared_ptr<Module>> module(const std::string& name) const override {
    const auto found = modules_.find(name);
    if (found == modules_.end()) return fail(Code::kNotFound, "it is not configured");
    if (!found->second) return fail(Code::kUnavailable, "it is not running");
    if (quiesced_.contains(name)) return fail(Code::kUnavailable, "it is quiesced");
    return found->second;
  }
  Result<std::shared_ptr<Module>> module_for_release(const std::string& name) const override {
    return quiesced_.contains(name) ? modules_.at(name) : module(name);
  }

  SnapshotPtr snapshot(const std::string& name) const override {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->counter_sets = counter_sets;
    for (const auto& [device, located] : devices_)
      if (located.module == name) snapshot->devices.push_back(located.device);
    std::ranges::sort(snapshot->devices, {}, &Device::id);
    return snapshot;
  }
  Task<void> started(std::string, Instant) const override { co_return; }
  Task<void> returned(std::string module, Instant deadline) const override {
    const auto waiters = returning_.find(module);
    if (waiters == returning_.end()) co_return;
    const OneShot<bool> back(core_);
    waiters->second.push_back(back);
    SystemClock clock;
    co_await back.wait_until(clock, deadline);
  }

 private:
  asio::io_context& core_;
  mutable std::map<std::string, std::vector<OneShot<bool>>> returning_;  // callers that wait for each module to restart
  std::map<std::string, std::shared_ptr<Module>> modules_;
  std::map<std::string, LocatedDevice> devices_;
  std::set<std::string> quiesced_;
};

inline Allocation an_allocation(const std::string& device, const std::string& request = "main") {
  return {.request = request, .driver = kDriver, .pool = "node", .device = device};
}

inline Claim a_claim(const std::string& uid, std::vector<Allocation> allocations) {
  return {.ref = {"team", "claim-" + uid, uid}, .allocated = true, .allocations = std::move(allocations)};
}

class ClaimWorld : public CoreFixture {
 protected:
  using Devices = Result<std::vector<PreparedDevice>>;

  ClaimWorld() {
    // The fake modules and the fake cluster use real time.
    clock.advance(std::max(Duration(0), real_clock.now() - clock.now()));
    directory.add("gpus", gpus, "gpu", 100);
    directory.add("nics", nics, "nic", 4);
    start();
  }

  // Restarts the host: everything in memory is new.
  void start(FaultHook fault = {}) {
    preparer.reset();
    ledger.reset();
    settle();
    auto opened = Ledger::open(core, clock,
                               {.file = folder / "state" / "ledger.db",
                                .intents = folder / "run" / "intents",
                                .cdi_folder = cdi.folder(),
                                .boot_id = boot_id,
                                .history = {},
                                .fault = fault});
    if (!opened) throw std::runtime_error(opened.error().message);
    ledger = std::move(*opened);
    recover_cdi(*ledger, cdi);
    preparer = ClaimPreparer::create(kDriver, plan_from_cluster(kDriver, reader, directory, *ledger, clock),
                                     {.core = core,
                                      .ledger = *ledger,
                                      .devices = directory,
                                      .cdi = cdi,
                                      .clock = clock,
                                      .deadlines = deadlines,
                                      .host = host,
                                      .fault = std::move(fault),
                                      .statuses = &statuses});
  }

  // Boots the node again, with empty folders in memory.
  void reboot() {
    let_the_ledger_write();
    preparer.reset();
    ledger.reset();
    std::filesystem::remove_all(cdi.folder());
    std::filesystem::remove_all(folder / "run");
    boot_id += ", again";
    start();
  }
  Instant soon() const { return std::max(clock.now(), real_clock.now()) + std::chrono::seconds(5); }
  static ClaimRef ref_of(const std::string& uid) { return {"team", "claim-" + uid, uid}; }
  Devices prepare(const std::string& uid) { return run(preparer->prepare(ref_of(uid), soon())); }
  Status unprepare(const std::string& uid) { return run(preparer->unprepare(ref_of(uid), soon())); }
  // Prepares a new claim for one device.
  Devices prepare_new(const std::string& uid, std::vector<Allocation> allocations) {
    cluster.put_claim(a_claim(uid, std::move(allocations)));
    return prepare(uid);
  }
  // Writes first: a change that waits for the file while time passes would look like a hanging disk.
  void advance_at_rest(Duration time) {
    let_the_ledger_write();
    clock.advance(time);
  }
  // Makes the ledger write its file, which no caller waits for.
  void let_the_ledger_write() {
    for (int round = 0; round < 3; ++round) {
      settle();
      (void)run(ledger->history({}));  // writes first
    }
  }
  template <class T>
  static std::string text_of(const Result<T>& result) {
    return result ? "no error" : result.error().message;
  }
  void lose_ledger() {
    preparer.reset();
    ledger.reset();
    for (const char* name : {"ledger.db", "ledger.db-wal"}) std::filesystem::remove(folder / "state" / name);
  }
  // Starts a call and returns the place of its result.
  template <class T>
  std::shared_ptr<std::optional<T>> begin(Task<T> task) {
    auto answer = std::make_shared<std::optional<T>>();
    spawn(core, [](Task<T> inner, std::shared_ptr<std::optional<T>> place) -> Task<void> {
      *place = co_await std::move(inner);
    }(std::move(task), answer));
    return answer;
  }
  // Runs the core until `done`, at most 30 s.
  template <class Done>
  bool until(Done done) {
    const Instant end = real_clock.now() + std::chrono::seconds(30);
    core.restart();
    while (!done() && std::chrono::steady_clock::now() < end) core.run_one_until(end);
    return done();
  }
  std::string cdi_text(const std::string& uid) {
    return read_file(cdi.folder() / claim_file_name({Api::kDra, kDriver}, uid), 1 << 20).value();
  }

  std::shared_ptr<const ClaimRecord> record(const std::string& uid) const { return ledger->find({kDriver, uid}); }
  bool has_cdi_file(const std::string& uid) const { return cdi.read({{Api::kDra, kDriver}, uid}).has_value(); }

  ScratchFolder folder;
  Mounted state{folder / "state", "size=16m"};  // a tmpfs if possible, so that syncs cost no time
  std::string boot_id = kBoot;
  FakeClock clock;
  SystemClock real_clock;
  DeadlineConfig deadlines;
  FakeCluster cluster{core, real_clock};
  FakeClaimHost host;
  bool kubelet_has_pods = true;
  ClaimReader reader{core, real_clock, cluster,
                     [this](std::string, Instant) -> Task<bool> { co_return kubelet_has_pods; }};
  std::shared_ptr<FakeModule> gpus = std::make_shared<FakeModule>(core);
  std::shared_ptr<FakeModule> nics = std::make_shared<FakeModule>(core);
  FakeDirectory directory{core};
  CdiWriter cdi{folder / "cdi", folder / "metadata"};
  ClaimStatuses statuses{core, clock, cluster};
  std::unique_ptr<Ledger> ledger;
  std::shared_ptr<ClaimPreparer> preparer;
};

}  // namespace cardcage
