#include "host/conformance/trial.h"

#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include "host/config/params.h"
#include "host/conformance/mapped_file.h"
#include "host/module/load.h"

namespace cardcage {
namespace {

// The time until /proc shows nothing more of an instance.
constexpr std::chrono::milliseconds kCleanUp{500}, kCleanUpStep{10};
// The time that the news of a module may take.
constexpr std::chrono::milliseconds kNewsTime{200};
// For the stop of an instance that is busy with a call: it ends with its worker.
constexpr std::chrono::milliseconds kStopWhileBusy{50};
// Enough time to see that a call ends soon after its deadline, and less than the daemon gives it.
constexpr Duration kReturnLimit = kStuckGrace - std::chrono::seconds(1);

// True if neither is a part of the other, and no third device has both as parts.
bool is_other_hardware(const Device& one, const Device& other) {
  const auto whole = [](const Device& device) { return device.parent_id.empty() ? device.id : device.parent_id; };
  if (whole(one) == whole(other)) return false;
  return std::ranges::none_of(one.consumes, [&](const CounterUse& use) {
    return std::ranges::find(other.consumes, use.set, &CounterUse::set) != other.consumes.end();
  });
}

// The module may change the working folder.
CheckRequest with_full_path(CheckRequest request) {
  request.file = std::filesystem::absolute(request.file).lexically_normal();
  return request;
}

// The position that messages name, where an operator would look.
const Origin kCommandLine{{.file = "--option"}};

}  // namespace

Trial::Trial(asio::io_context& core, Clock& clock, CheckRequest request, const std::filesystem::path& scratch,
             std::shared_ptr<CheckLog> log)
    : core_(core),
      clock_(clock),
      request_(with_full_path(std::move(request))),
      scratch_(scratch),
      log_(std::move(log)),
      services_(std::make_shared<Services>(core, clock,
                                           Services::Places{.records = scratch / "records",
                                                            .outputs = scratch / "outputs",
                                                            .groups = {},
                                                            .boot_id = {},
                                                            .tied = true})) {
  config_.name = request_.file.stem();
  config_.path = request_.file.filename();
  config_.isolation = request_.in_process ? Isolation::kInProcess : Isolation::kProcess;
  config_.position = kCommandLine;
  config_.programs = request_.programs;
  config_.writes = request_.writes;
  for (const auto& [name, option] : request_.options) config_.options[name] = {option.value, kCommandLine};
}

// Write access to the file matters where it is installed, not where it is built.
Result<ModuleBuild> Trial::stage_file() {
  const std::vector folders{request_.file.parent_path()};
  auto staged = cardcage::stage(folders, config_.path, {}, Trust::kAnybody);
  if (!staged) return std::unexpected(staged.error());
  if (request_.in_process) {
    const auto folder = [&] { return scratch_ / fmt::format("image-{}", images_); };
    std::error_code ignored;
    std::filesystem::remove_all(folder(), ignored);  // after a crash only one stays
    ++images_;
    map_from_folder(*staged, folder());
  }
  return std::make_shared<const StagedModule>(std::move(*staged));
}

Task<Status> Trial::stage() {
  auto staged = stage_file();
  if (!staged) co_return std::unexpected(staged.error());
  build_ = std::move(*staged);
  co_return Status{};
}

// Each instance in this process needs an image of its own, since the dynamic loader maps a file once.
Task<Result<std::shared_ptr<RunningModule>>> Trial::load_one() {
  auto build = request_.in_process ? stage_file() : Result<ModuleBuild>(build_);
  if (!build) co_return std::unexpected(build.error());
  // GCC 12 destroys such a temporary of a co_await twice.
  SharedParts shared{nullptr, nullptr, services_, {}, true};
  auto loading = load_module(core_, clock_, config_, std::move(*build), deadline(), std::move(shared));
  auto loaded = co_await std::move(loading);
  if (!loaded) co_return std::unexpected(loaded.error());
  co_return std::static_pointer_cast<RunningModule>(std::move(*loaded));
}

Task<Status> Trial::load() {
  if (module_) co_return Status{};
  auto loaded = co_await load_one();
  if (!loaded) co_return std::unexpected(loaded.error());
  module_ = std::move(*loaded);
  identity_ = module_->identity();
  auto state = read_process(pid());
  if (!state) co_return std::unexpected(state.error());
  loaded_state_ = std::move(*state);
  co_return Status{};
}

Task<Status> Trial::start() {
  if (started_) co_return Status{};
  if (auto loaded = co_await load(); !loaded) co_return loaded;
  ModuleEvents heard;
  heard.health = [this](const std::string& device_id, const Health& health) { put(stated_[device_id], health); };
  Status started = co_await module_->start(std::move(heard), deadline());
  started_ = started.has_value();
  if (!started_) co_await stop();
  co_return started;
}

JournalWriter Trial::journal_of(const std::string& uid) {
  return [this, uid](std::string bytes) {
    prepared_.at(uid).journal = std::move(bytes);
    return Status{};
  };
}

const ModuleClaim& Trial::saved(const ModuleClaim& claim) const {
  const auto found = prepared_.find(claim.ref.uid);
  return found == prepared_.end() ? claim : found->second;
}

Task<Result<PreparedEdits>> Trial::prepare(ModuleClaim claim) {
  if (auto started = co_await start(); !started) co_return std::unexpected(started.error());
  const std::string uid = claim.ref.uid;
  claim.journal = prepared_.try_emplace(uid, claim).first->second.journal;
  JournalWriter journal = journal_of(uid);
  PrepareCall call{claim};
  auto edits = co_await module_->call(std::move(call), deadline(), std::move(journal));
  if (edits) {
    claim.journal = prepared_.at(uid).journal;
    claim.state = edits->state;
    claim.state_version = edits->state_version;
    prepared_[uid] = std::move(claim);
  }
  co_return edits;
}

Task<Status> Trial::unprepare(ModuleClaim claim) {
  const std::string uid = claim.ref.uid;
  Status released = co_await call<UnprepareCall>(std::move(claim));
  if (released) released = co_await services_->stop_all(config_.name, uid, deadline());
  if (released && prepared_.erase(uid) > 0) prepare_works_ = true;
  co_return released;
}

Task<std::map<std::string, Statements>> Trial::statements() {
  co_await clock_.sleep_for(kNewsTime);
  co_return stated_;
}

Task<Status> Trial::stop() {
  const auto module = std::exchange(module_, nullptr);
  started_ = false;
  if (!module) co_return Status{};
  const Instant limit = module->busy() ? clock_.now() + kStopWhileBusy : deadline();
  co_return co_await module->stop(limit);
}

Task<Status> Trial::restart_in_place() {
  if (auto started = co_await start(); !started) co_return started;
  if (auto ended = co_await module_->end_instance(deadline()); !ended) co_return ended;
  started_ = false;
  co_return co_await start();
}

// Polls: the kernel lists a thread for another moment after it was joined, and the worker closes the descriptor of the
// call after its response. Neither sends an event. Printed lines arrive meanwhile.
Task<Result<ProcessState>> Trial::state_at_rest() {
  const Instant end = clock_.now() + kCleanUp;
  for (;;) {
    co_await clock_.sleep_for(kCleanUpStep);
    auto state = this->state();
    if (!state) co_return state;
    const bool clean = new_threads(loaded_state_, *state).empty() && new_descriptors(loaded_state_, *state).empty();
    if (clean || clock_.now() >= end) co_return state;
  }
}

Task<Result<ObservedLife>> Trial::life() {
  if (!life_) {
    co_await stop();
    Result<ObservedLife> observed = co_await observe_life();
    life_ = std::move(observed);
    co_await stop();
  }
  co_return *life_;
}

// Leaves out the calls that a rule has seen failing. Other failures do not matter here.
Task<Result<ObservedLife>> Trial::observe_life() {
  if (auto started = co_await start(); !started) co_return std::unexpected(started.error());
  const auto module = module_;
  std::ignore = co_await call<DiscoverCall>();
  const auto device = co_await this->device();
  if (device && identity_->has_check) std::ignore = co_await call<CheckCall>(std::vector(1, device->id));
  std::ignore = co_await call<CollectMetricsCall>();
  std::ignore = co_await call<CollectLabelsCall>();
  std::ignore = co_await call<CollectCatalogueCall>();
  EventBatch loss{.events = {}, .lost = true};
  std::ignore = co_await call<EventsCall>(std::move(loss));
  const auto claim = device ? claim_of(*device) : std::unexpected(device.error());
  if (claim && prepare_works_) {
    std::ignore = co_await prepare(*claim);
    std::ignore = co_await unprepare(*claim);
  }
  auto running = state();
  if (!running) co_return std::unexpected(running.error());
  if (auto ended = co_await module->end_instance(deadline()); !ended) co_return std::unexpected(ended.error());
  started_ = false;
  auto destroyed = co_await state_at_rest();
  if (!destroyed) co_return std::unexpected(destroyed.error());
  ObservedLife life{loaded_state_, std::move(*running), std::move(*destroyed), {}};
  if (worker()) std::ranges::copy(worker()->link().last_printed(), std::back_inserter(life.printed));
  co_return life;
}

Task<Status> Trial::start_another() {
  if (auto started = co_await start(); !started) co_return started;
  auto other = co_await load_one();
  if (!other) co_return std::unexpected(other.error());
  ModuleEvents nothing;
  Status started = co_await (*other)->start(std::move(nothing), deadline());
  Status stopped = co_await (*other)->stop(deadline());
  if (!started) co_return started;
  co_return stopped;
}

Task<void> Trial::kill() {
  if (worker()) ::kill(pid(), SIGKILL);
  std::ignore = co_await stop();
}

Task<Status> Trial::discover_until(Duration after) {
  if (auto started = co_await start(); !started) co_return started;
  const Instant limit = clock_.now() + after;
  std::ignore = co_await module_->call(DiscoverCall{}, limit);
  co_return co_await module_->finish_calls(limit + kReturnLimit);
}

Task<Status> Trial::prepare_until(ModuleClaim claim, Duration after) {
  if (auto started = co_await start(); !started) co_return started;
  prepared_.try_emplace(claim.ref.uid, claim);
  const Instant limit = clock_.now() + after;
  JournalWriter journal = journal_of(claim.ref.uid);
  PrepareCall call{std::move(claim)};
  std::ignore = co_await module_->call(std::move(call), limit, std::move(journal));
  co_return co_await module_->finish_calls(limit + kReturnLimit);
}

Task<void> Trial::release_claims() {
  if (!prepared_.empty() && module_ && module_->busy()) std::ignore = co_await stop();
  const auto left = std::exchange(prepared_, {});
  for (const auto& [uid, claim] : left) std::ignore = co_await unprepare(claim);
}

Task<Result<Device>> Trial::device() {
  if (device_) co_return *device_;
  const auto snapshot = co_await call<DiscoverCall>();
  if (!snapshot) co_return std::unexpected(snapshot.error());
  auto found = choose(**snapshot, nullptr);
  if (found) device_ = *found;
  co_return found;
}

Task<Result<Device>> Trial::second_device() {
  const auto first = co_await device();
  if (!first) co_return first;
  const auto snapshot = co_await call<DiscoverCall>();
  if (!snapshot) co_return std::unexpected(snapshot.error());
  co_return choose(**snapshot, &*first);
}

Task<Result<std::vector<Device>>> Trial::devices() {
  const auto first = co_await device();
  if (!first) co_return std::unexpected(first.error());
  const auto snapshot = co_await call<DiscoverCall>();
  if (!snapshot) co_return std::unexpected(snapshot.error());
  std::vector<Device> devices;
  for (const std::string& id : request_.devices) {
    const Device* const found = (*snapshot)->find(id);
    if (!found) co_return fail(Code::kInvalidArgument, "the module reports no device '{}'", id);
    devices.push_back(*found);
  }
  const auto may_work = [](const Device& device) { return device.health.state != HealthState::kUnhealthy; };
  if (request_.all_devices) std::ranges::copy_if((*snapshot)->devices, std::back_inserter(devices), may_work);
  if (devices.empty()) devices.push_back(*first);
  co_return devices;
}

Result<Device> Trial::choose(const Snapshot& snapshot, const Device* first) const {
  if (const std::size_t place = first ? 1 : 0; place < request_.devices.size()) {
    const std::string& id = request_.devices[place];
    if (const Device* const found = snapshot.find(id)) return *found;
    return fail(Code::kInvalidArgument, "the module reports no device '{}'", id);
  }
  if (first && !request_.devices.empty())  // the others may be in use
    return fail(Code::kNotFound, "no second device was named");
  const Device* chosen = nullptr;
  for (const Device& device : snapshot.devices) {
    if (first && !is_other_hardware(*first, device)) continue;
    if (device.health.state == HealthState::kHealthy) return device;
    if (!chosen) chosen = &device;
  }
  if (chosen) return *chosen;
  return fail(Code::kNotFound, "the module reports no {}", first ? "second device of other hardware" : "device");
}

Result<ModuleClaim> Trial::claim_of(const Device& device, const ParamsSchema* schema) {
  std::vector<DecodedParams> params;
  if (schema) params.push_back({schema, {}});
  auto values = resolve_params(*identity_, device.kind, params);
  if (!values) return std::unexpected(values.error());
  ModuleClaim claim;
  claim.ref = {"default", "module-check", fmt::format("cacecace-0000-4000-8000-{:012}", ++claims_)};
  claim.allocations.push_back(allocation_of(device, std::move(*values)));
  return claim;
}

Result<ModuleClaim> Trial::resource_claim_of(const Device& device) {
  auto claim = claim_of(device);
  if (!claim) return claim;
  claim->ref = {"", "", device.name};
  claim->resource = "example.com/" + device.kind;
  ModuleAllocation& allocation = claim->allocations.front();
  allocation.request = allocation.share_id = "";
  allocation.consumed_capacity.clear();
  return claim;
}

Status Trial::add_device(ModuleClaim& claim, const Device& device) {
  auto values = resolve_params(*identity_, device.kind, {});
  if (!values) return std::unexpected(values.error());
  claim.allocations.push_back(allocation_of(device, std::move(*values)));
  claim.allocations.back().request = "second";
  return {};
}

ModuleAllocation Trial::allocation_of(const Device& device, OptionValues values) const {
  ModuleAllocation allocation;
  allocation.device_id = device.id;
  allocation.request = "main";
  if (device.shared) {
    allocation.share_id = fmt::format("5a5e5a5e-0000-4000-8000-{:012}", claims_);
    // The capacity that a request without amounts consumes.
    allocation.consumed_capacity = device.capacity;
    for (const auto& [name, policy] : device.policies) allocation.consumed_capacity[name] = *policy.default_amount;
  }
  allocation.values = std::move(values);
  return allocation;
}

Task<Result<ModuleClaim>> Trial::new_claim() {
  const auto device = co_await this->device();
  if (!device) co_return std::unexpected(device.error());
  co_return claim_of(*device);
}

pid_t Trial::pid() const { return worker() ? worker()->link().process().child()->pid() : ::getpid(); }

}  // namespace cardcage
