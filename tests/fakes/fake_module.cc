#include "tests/fakes/fake_module.h"

#include <algorithm>

namespace cardcage {

// Returns what each response of the call is about: a check makes one for each device.
static std::vector<std::string> subjects_of(const ModuleCall& call) {
  if (const auto* const check = std::get_if<CheckCall>(&call)) return check->device_ids;
  return {std::visit(
      [](const auto& one) -> std::string {
        if constexpr (requires { one.claim; })
          return one.claim.ref.uid;
        else if constexpr (requires { one.device_id; })
          return one.device_id;
        else
          return {};
      },
      call)};
}

Task<Status> FakeModule::respond(std::string_view call, std::string about_what, Instant deadline) {
  calls.push_back({call, std::move(about_what)});
  if (const auto gate = blocked_.find(call); gate != blocked_.end()) {
    const OneShot<bool> opened(core_);
    gate->second.push_back(opened);
    SystemClock clock;
    const auto in_time = co_await opened.wait_until(clock, deadline);
    if (!in_time) co_return cardcage::fail(Code::kDeadlineExceeded, "the module did not respond in time");
  }
  Failure& failure = failures_[call];
  if (failure.times > 0) {
    --failure.times;
    co_return std::unexpected(failure.error);
  }
  co_return Status{};
}

Task<Status> FakeModule::start(ModuleEvents module_events, Instant deadline) {
  events = std::move(module_events);
  return respond(StartCall::kName, "", deadline);
}

Task<Result<ModuleReply>> FakeModule::execute(ModuleCall call, Instant deadline, JournalWriter write) {
  if (const auto family = family_of(call); family && !about.has(*family))
    co_return cardcage::fail(Code::kUnimplemented, "the module has no {}", id_of(*family));
  if (std::holds_alternative<PrepareCall>(call) && !journal.empty())
    if (auto written = write(journal); !written) co_return std::unexpected(written.error());
  if (const auto* const delivery = std::get_if<EventsCall>(&call)) batches.push_back(delivery->batch);
  Status status;
  const std::vector<std::string> subjects = subjects_of(call);
  for (std::size_t i = 0; status && i < subjects.size(); ++i)
    status = co_await respond(name_of(call), subjects[i], deadline);
  if (rescans_in_discover && std::holds_alternative<DiscoverCall>(call)) events.rescan();
  if (!status) co_return std::unexpected(status.error());
  co_return std::visit([this](auto& one) { return reply(one); }, call);
}

ModuleReply FakeModule::reply(ConfigureCall& call) {
  configured = std::move(call.options);
  return {};
}

ModuleReply FakeModule::reply(DiscoverCall&) { return std::make_shared<const Snapshot>(devices); }

ModuleReply FakeModule::reply(PrepareCall& call) {
  const ModuleClaim& claim = call.claim;
  if (touch) touch(PrepareCall::kName, claim);
  holds[claim.ref.uid] = claim;
  if (edits) return edits(claim);
  PreparedEdits prepared;
  for (const ModuleAllocation& allocation : claim.allocations) {
    std::string variable = "FAKE_" + allocation.device_id;
    std::ranges::replace(variable, '-', '_');
    prepared.allocations.emplace_back().env.push_back({std::move(variable), allocation.device_id});
  }
  prepared.state = "state of " + claim.ref.uid;
  prepared.state_version = about.state_version;
  return prepared;
}

ModuleReply FakeModule::reply(UnprepareCall& call) {
  if (touch) touch(UnprepareCall::kName, call.claim);
  holds.erase(call.claim.ref.uid);
  return {};
}

ModuleReply FakeModule::reply(BindCall& call) {
  return bound ? bound(call.claim) : BindProgress(call.claim.allocations.size());
}

ModuleReply FakeModule::reply(AttachCall& call) {
  attached[call.claim.ref.uid] = call.pod.uid;
  pod_path = call.pod.network_namespace_path;
  return {};
}

ModuleReply FakeModule::reply(DetachCall& call) {
  attached.erase(call.claim.ref.uid);
  return {};
}

ModuleReply FakeModule::reply(ReconcileCall& call) {
  reconciled.push_back(std::move(call.live));
  return {};
}

ModuleReply FakeModule::reply(ChooseCall& call) {
  if (preference) return preference(call.available, call.required, call.want);
  std::vector<std::string> chosen = call.required;
  for (const std::string& id : call.available)
    if (chosen.size() < call.want && std::ranges::find(chosen, id) == chosen.end()) chosen.push_back(id);
  return chosen;
}

ModuleReply FakeModule::reply(PreStartCall& call) {
  if (touch) touch(PreStartCall::kName, call.claim);
  return {};
}

}  // namespace cardcage
