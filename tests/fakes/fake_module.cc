#include "tests/fakes/fake_module.h"

#include <algorithm>

namespace cardcage {

void FakeModule::fail(Verb verb, Error error, int times) { failures_[verb] = {std::move(error), times}; }

void FakeModule::unblock(Verb verb) {
  const auto entry = blocked_.find(verb);
  if (entry == blocked_.end()) return;
  for (const OneShot<bool>& waiter : entry->second) waiter.set(true);
  blocked_.erase(entry);
}

int FakeModule::count(Verb verb) const {
  return static_cast<int>(std::ranges::count_if(calls, [verb](const Call& call) { return call.verb == verb; }));
}

Task<Status> FakeModule::respond(Verb verb, std::string about_what, Instant deadline) {
  calls.push_back({verb, std::move(about_what)});
  if (const auto gate = blocked_.find(verb); gate != blocked_.end()) {
    const OneShot<bool> opened(core_);
    gate->second.push_back(opened);
    SystemClock clock;
    const auto in_time = co_await opened.wait_until(clock, deadline);
    if (!in_time) co_return cardcage::fail(Code::kDeadlineExceeded, "the module did not respond in time");
  }
  Failure& failure = failures_[verb];
  if (failure.times > 0) {
    --failure.times;
    co_return std::unexpected(failure.error);
  }
  co_return Status{};
}

Task<Status> FakeModule::start(ModuleEvents module_events, Instant deadline) {
  events = std::move(module_events);
  co_return co_await respond(Verb::kStart, "", deadline);
}

Task<Status> FakeModule::configure(OptionValues options, Instant deadline) {
  const Status status = co_await respond(Verb::kConfigure, "", deadline);
  if (status) configured = std::move(options);
  co_return status;
}

Task<Result<SnapshotPtr>> FakeModule::discover(Instant deadline) {
  const Status status = co_await respond(Verb::kDiscover, "", deadline);
  if (rescans_in_discover) events.rescan();
  if (!status) co_return std::unexpected(status.error());
  co_return std::make_shared<const Snapshot>(devices);
}

Task<Result<PreparedEdits>> FakeModule::prepare(ModuleClaim claim, Instant deadline, JournalWriter write) {
  if (!journal.empty())
    if (auto written = write(journal); !written) co_return std::unexpected(written.error());
  const Status status = co_await respond(Verb::kPrepare, claim.ref.uid, deadline);
  if (!status) co_return std::unexpected(status.error());
  if (touch) touch(Verb::kPrepare, claim);
  holds[claim.ref.uid] = claim;
  if (edits) co_return edits(claim);
  PreparedEdits prepared;
  for (std::size_t i = 0; i < claim.allocations.size(); ++i) {
    Edits device;
    std::string variable = "FAKE_" + claim.allocations[i].device_id;
    std::ranges::replace(variable, '-', '_');
    device.env.push_back({std::move(variable), claim.allocations[i].device_id});
    prepared.allocations.push_back(std::move(device));
  }
  prepared.state = "state of " + claim.ref.uid;
  prepared.state_version = about.state_version;
  co_return prepared;
}

Task<Status> FakeModule::unprepare(ModuleClaim claim, Instant deadline) {
  const Status status = co_await respond(Verb::kUnprepare, claim.ref.uid, deadline);
  if (!status) co_return status;
  if (touch) touch(Verb::kUnprepare, claim);
  holds.erase(claim.ref.uid);
  co_return status;
}

Task<Result<BindProgress>> FakeModule::bind(ModuleClaim claim, Instant deadline) {
  if (!about.has_bind) co_return cardcage::fail(Code::kUnimplemented, "the module has no cage.bind/1");
  const Status status = co_await respond(Verb::kBind, claim.ref.uid, deadline);
  if (!status) co_return std::unexpected(status.error());
  if (bound) co_return bound(claim);
  co_return BindProgress(claim.allocations.size());
}

Task<Status> FakeModule::attach(ModuleClaim claim, SandboxedPod pod, Instant deadline) {
  if (!about.has_sandbox) co_return cardcage::fail(Code::kUnimplemented, "the module has no cage.sandbox/1");
  const Status status = co_await respond(Verb::kAttach, claim.ref.uid, deadline);
  if (status) attached[claim.ref.uid] = pod.uid;
  co_return status;
}

Task<Status> FakeModule::detach(ModuleClaim claim, SandboxedPod, Instant deadline) {
  if (!about.has_sandbox) co_return cardcage::fail(Code::kUnimplemented, "the module has no cage.sandbox/1");
  const Status status = co_await respond(Verb::kDetach, claim.ref.uid, deadline);
  if (status) attached.erase(claim.ref.uid);
  co_return status;
}

Task<Status> FakeModule::reconcile(std::vector<ModuleClaim> live, Instant deadline) {
  const Status status = co_await respond(Verb::kReconcile, "", deadline);
  if (status) reconciled.push_back(std::move(live));
  co_return status;
}

Task<Result<std::vector<std::string>>> FakeModule::choose(std::vector<std::string> available,
                                                          std::vector<std::string> required, std::size_t want,
                                                          Instant deadline) {
  if (!about.has_preferred) co_return cardcage::fail(Code::kUnimplemented, "the module has no cage.preferred/1");
  const Status status = co_await respond(Verb::kChoose, "", deadline);
  if (!status) co_return std::unexpected(status.error());
  if (preference) co_return preference(available, required, want);
  for (std::string& id : available)
    if (required.size() < want && std::ranges::find(required, id) == required.end()) required.push_back(std::move(id));
  co_return required;
}

Task<Status> FakeModule::pre_start(ModuleClaim claim, Instant deadline) {
  if (!about.has_pre_start) co_return cardcage::fail(Code::kUnimplemented, "the module has no cage.pre_start/1");
  const Status status = co_await respond(Verb::kPreStart, claim.ref.uid, deadline);
  if (status && touch) touch(Verb::kPreStart, claim);
  co_return status;
}

Task<Result<std::size_t>> FakeModule::check(std::vector<std::string> device_ids, Instant deadline) {
  for (const std::string& id : device_ids)
    if (const Status status = co_await respond(Verb::kCheck, id, deadline); !status)
      co_return std::unexpected(status.error());
  co_return device_ids.size();
}

Task<Result<MetricSamplesPtr>> FakeModule::collect_metrics(Instant deadline) {
  const Status status = co_await respond(Verb::kCollectMetrics, "", deadline);
  if (!status) co_return std::unexpected(status.error());
  co_return std::make_shared<const MetricSamples>(samples);
}

Task<Result<NodeLabels>> FakeModule::collect_labels(Instant deadline) {
  const Status status = co_await respond(Verb::kCollectLabels, "", deadline);
  if (!status) co_return std::unexpected(status.error());
  co_return labels;
}

Task<Result<Catalogue>> FakeModule::collect_catalogue(Instant deadline) {
  const Status status = co_await respond(Verb::kCollectCatalogue, "", deadline);
  if (!status) co_return std::unexpected(status.error());
  co_return catalogue;
}

Task<Status> FakeModule::deliver_events(EventBatch batch, Instant deadline) {
  batches.push_back(std::move(batch));
  return respond(Verb::kEvents, "", deadline);
}

}  // namespace cardcage
