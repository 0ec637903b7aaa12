// The module under check, and the instance of it that a rule uses at the moment. The daemon's own code stages, loads
// and calls it, so that the check covers the behaviour on a node.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/config/config.h"
#include "host/conformance/check_log.h"
#include "host/conformance/process_state.h"
#include "host/core/clock.h"
#include "host/loader/loader.h"
#include "host/module/remote.h"
#include "host/services/services.h"

namespace cardcage {

struct CheckRequest {
  std::filesystem::path file;
  std::map<std::string, RawOption> options;
  std::vector<std::filesystem::path> programs;  // programs that the module may have run, absolute
  std::vector<std::string> writes;              // patterns of files that it may have written to
  std::vector<std::string> devices;             // ids of the devices to prepare; empty = healthy ones
  bool all_devices = false;                     // prepares every device that is not unhealthy
  bool prepare = true;                          // false: nothing is prepared
  bool in_process = false;                      // the module runs in this process, for debuggers and sanitizers
  std::vector<std::string> rules;               // names and numbers of the rules to check; empty = all
  Duration limit = std::chrono::seconds(10);    // limit for each call
  // Called before each check with the rule's number, name and statement; may be null.
  std::function<void(std::string_view, std::string_view, std::string_view)> begins = {};
};

// The effects of one whole life of an instance, with a call of each kind, on its process.
struct ObservedLife {
  ProcessState loaded, running, destroyed;
  std::vector<std::string> printed;  // the last lines
};

// [core] Every call starts an instance first if none runs, so that a rule that loses one costs the next rule nothing.
// Errors are those of the daemon.
class Trial {
 public:
  // `core` and `clock` outlive the object. `scratch` is an empty folder, for the files that a daemon keeps on disk.
  Trial(asio::io_context& core, Clock& clock, CheckRequest request, const std::filesystem::path& scratch,
        std::shared_ptr<CheckLog> log);

  Task<Status> stage();
  // Loads the module, in a worker or in this process, until the next stop().
  Task<Status> load();
  Task<Status> start();
  Task<Result<PreparedEdits>> prepare(ModuleClaim claim);
  Task<Status> unprepare(ModuleClaim claim);
  // Makes any other call with these members; its claim is as prepare saved it.
  template <class Call, class... Members>
  Task<Result<typename Call::Reply>> call(Members... members) {
    if (auto started = co_await start(); !started) co_return std::unexpected(started.error());
    Call call{std::move(members)...};
    if constexpr (requires { call.claim; }) call.claim = saved(call.claim);
    co_return co_await module_->call(std::move(call), deadline());
  }
  // The module's statements since the last forget_statements(), by device. statements() waits for those of the last
  // calls.
  void forget_statements() { stated_.clear(); }
  Task<std::map<std::string, Statements>> statements();
  // Ends the instance; succeeds if none runs.
  Task<Status> stop();
  // Ends the instance and creates the next one in the same process.
  Task<Status> restart_in_place();
  // The effects of a whole life of an instance on its process; observed once.
  Task<Result<ObservedLife>> life();
  // Starts and stops a second instance while the first one runs.
  Task<Status> start_another();
  // Ends the worker as in a crash. A module in this process has none.
  Task<void> kill();
  // Makes a call that ends `after` from now and waits until the module returns from it. Fails if it does not.
  Task<Status> discover_until(Duration after);
  Task<Status> prepare_until(ModuleClaim claim, Duration after);
  // The breaches in the log, except those of rules that a check has found broken.
  std::vector<std::string> breaches() const { return log_->breaches(broken_rules_); }
  // Notes that a check has found a breach of the rule, and reports more about it than the log.
  void note_broken(std::string_view rule) { broken_rules_.insert(rule); }
  // Releases the claims that the rule left prepared.
  Task<void> release_claims();

  // The device to prepare; kNotFound without one.
  Task<Result<Device>> device();
  // Another device, of other hardware, for the same claim; kNotFound without one.
  Task<Result<Device>> second_device();
  // The devices that the request names, or all that are not unhealthy, or else the one to prepare.
  Task<Result<std::vector<Device>>> devices();
  // A new claim for one device, as the scheduler and the host would make it. Its parameters are the defaults of
  // `schema`, or of the first that the device takes.
  Result<ModuleClaim> claim_of(const Device& device, const ParamsSchema* schema = nullptr);
  // A claim for a device that the kubelet allocates with the device-plugin API [R15].
  Result<ModuleClaim> resource_claim_of(const Device& device);
  // Adds the device to the claim, with the defaults.
  Status add_device(ModuleClaim& claim, const Device& device);
  // A claim for the device to prepare, with the defaults.
  Task<Result<ModuleClaim>> new_claim();

  const CheckRequest& request() const { return request_; }
  // Null until stage() and load() succeeded.
  const StagedModule* build() const { return build_.get(); }
  const ModuleIdentity* identity() const { return identity_ ? &*identity_ : nullptr; }
  // States of the instance's process: before the instance was created, and now.
  const ProcessState& loaded_state() const { return loaded_state_; }
  Result<ProcessState> state() const { return read_process(pid()); }
  Clock& clock() { return clock_; }

 private:
  Result<ModuleBuild> stage_file();
  Task<Result<std::shared_ptr<RunningModule>>> load_one();
  // Null if the module runs in this process.
  const RemoteModule* worker() const {
    return request_.in_process ? nullptr : static_cast<const RemoteModule*>(module_.get());
  }
  Task<Result<ObservedLife>> observe_life();
  Task<Result<ProcessState>> state_at_rest();
  // The claim as prepare saved it, if it did.
  const ModuleClaim& saved(const ModuleClaim& claim) const;
  // A device for claims, beside `first` if that is given.
  Result<Device> choose(const Snapshot& snapshot, const Device* first) const;
  ModuleAllocation allocation_of(const Device& device, OptionValues values) const;
  // Stores the journal that the module writes for a claim of prepared_.
  JournalWriter journal_of(const std::string& uid);
  Instant deadline() const { return clock_.now() + request_.limit; }
  pid_t pid() const;

  asio::io_context& core_;
  Clock& clock_;
  const CheckRequest request_;
  const std::filesystem::path scratch_;
  const std::shared_ptr<CheckLog> log_;
  std::set<std::string_view> broken_rules_;
  const std::shared_ptr<Services> services_;
  ModuleConfig config_;
  ModuleBuild build_;
  unsigned images_ = 0;  // files made for instances in this process
  std::optional<ModuleIdentity> identity_;
  std::optional<Device> device_;
  std::shared_ptr<RunningModule> module_;  // loaded; null if none runs
  bool started_ = false;
  std::map<std::string, Statements> stated_;  // by device
  ProcessState loaded_state_;
  std::optional<Result<ObservedLife>> life_;
  std::map<std::string, ModuleClaim> prepared_;  // by uid, with the state that prepare saved
  unsigned claims_ = 0;
  bool prepare_works_ = false;  // a claim was prepared and released
};

}  // namespace cardcage
