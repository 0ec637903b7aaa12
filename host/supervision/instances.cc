#include "host/supervision/instances.h"

#include <utility>

#include "host/core/log.h"
#include "host/core/subject.h"

namespace cardcage {

Instances::Instances(SupervisedModule& module, ModuleDevices& devices, DeviceCare& care, LabelCollector& labels,
                     Loader loader)
    : module_(module), devices_(devices), care_(care), labels_(labels), loader_(std::move(loader)) {}

Task<Result<ModuleBuild>> Instances::stage(ModuleConfig config) {
  Leftover left;
  auto staged = co_await loader_.stage(config, module_.start_deadline(), left);
  leftovers_.add(std::move(left));
  co_return staged;
}

Task<Result<std::shared_ptr<Module>>> Instances::load(ModuleConfig config, ModuleBuild build) {
  Leftover left;
  auto loaded = co_await loader_.load(config, std::move(build), module_.start_deadline(), left);
  leftovers_.add(std::move(left));
  co_return loaded;
}

// Another module cannot read the states of the claims, and would take the devices for its own.
Status Instances::check_id(const ModuleIdentity& build) const {
  std::string before = module_.served_id;
  for (const ModuleClaim& claim : module_.listener.live_claims(module_.name()))
    if (!claim.module_id.empty() && claim.module_id != build.id) before = claim.module_id;
  if (before.empty() || before == build.id) return {};
  return fail(
      Code::kFailedPrecondition,
      "its file is of module '{0}', and its devices and claims are those of module '{1}': put the file of '{1}' "
      "back, and give '{0}' a [[module]] of its own; to replace '{1}', remove its [[module]], and write the new "
      "one when 'cagectl modules' does not list it any more",
      build.id, before);
}

Task<Status> Instances::start(std::shared_ptr<Module> instance) {
  Started& started = started_[instance.get()] = Started();
  // Before the start, which may cause events.
  if (const auto& watch = instance->identity().watch) {
    started.events = std::make_unique<InstanceEvents>(*watch, module_.listener.sources, module_.clock,
                                                      [this] { module_.wakeup.wake(); });
    started.events->open();
  }
  co_return co_await instance->start(callbacks(instance), module_.start_deadline());
}

// `instance` is the running one, or a candidate to replace it.
ModuleEvents Instances::callbacks(const std::shared_ptr<Module>& instance) {
  const std::weak_ptr<Module> which = instance;
  ModuleEvents callbacks;
  callbacks.rescan = [this] {
    devices_.list().request_rescan();
    module_.wakeup.wake();
  };
  callbacks.health = [this, which](const std::string& id, const Health& health) {
    if (which.lock() != module_.instance) return devices_.list().keep_for_later(id, health);
    care_.tell(devices_.list().note(id, health));
  };
  callbacks.descriptor = [this, which](std::int32_t descriptor) {
    if (InstanceEvents* const waiting = events_of(which.lock())) waiting->note_descriptor(descriptor);
  };
  callbacks.lost = [this, which](Error error) {
    const auto lost = which.lock();
    if (const auto started = started_.find(lost.get()); started != started_.end()) started->second.lost = true;
    if (lost != module_.instance) return;
    module_.life.lose(std::move(error));
    module_.wakeup.wake();
  };
  return callbacks;
}

InstanceEvents* Instances::events_of(const std::shared_ptr<Module>& instance) const {
  const auto found = started_.find(instance.get());
  return found == started_.end() ? nullptr : found->second.events.get();
}

Task<void> Instances::deliver_events() {
  const auto instance = module_.instance;
  const EventBatch batch = events_of(instance)->take();
  log(LogLevel::kDebug, "events are delivered",
      {{"module", module_.name()},
       {"events", batch.events.size()},
       {"lost", batch.lost ? "some before them" : "none"}});
  EventsCall events{batch};
  const Status delivered = co_await instance->call(std::move(events), module_.discover_deadline());
  if (delivered || module_.life.lost()) co_return;
  log_limited(LogLevel::kWarn, module_.name() + "/events", "events are not handled; they are not repeated",
              {{"module", module_.name()}, {"error", delivered.error().message}});
  events_of(instance)->put_back(batch);
}

Task<Status> Instances::discover() {
  devices_.list().begin_discover();
  auto snapshot = co_await module_.instance->call(DiscoverCall{}, module_.discover_deadline());
  if (!snapshot) {
    devices_.list().fail_discover();
    co_return within_subject(snapshot.error(), module_.subject(), "cannot list its devices");
  }
  const ListedDevices::Changes changes = adopt(std::move(*snapshot));
  co_await let_others_run();  // the list may be long, and its listeners work as long again
  if (!module_.life.offered()) co_return Status{};
  if (changes.list)
    log_limited(LogLevel::kInfo, module_.name() + "/devices", "device list changed",
                {{"module", module_.name()}, {"devices", devices_.snapshot()->devices.size()}});
  if (changes.list || changes.health) module_.changed(SupervisorEvent::kList);
  co_return Status{};
}

ListedDevices::Changes Instances::adopt(SnapshotPtr devices) {
  const ListedDevices::Changes changes = devices_.list().adopt(std::move(devices));
  care_.set_timer();
  labels_.request();
  return changes;
}

Task<Status> Instances::reconcile() {
  ReconcileCall reconcile{module_.listener.live_claims(module_.name())};
  auto reconciled = co_await module_.instance->call(std::move(reconcile), module_.start_deadline());
  if (!reconciled) co_return within_subject(reconciled.error(), module_.subject(), "cannot reconcile its claims");
  co_return Status{};
}

Task<void> Instances::repeat_device_quiesces(std::shared_ptr<Module> instance) {
  if (!instance->identity().has(Family::kQuiesce)) co_return;
  for (const QuiesceMark& mark : module_.marks.of_devices(module_.name())) {
    QuiesceDeviceCall quiesce{mark.device_id};
    const Status quiesced = co_await instance->call(std::move(quiesce), module_.discover_deadline());
    if (!quiesced)
      log(LogLevel::kWarn, "the new instance of a module may hold a device that is quiesced",
          {{"module", module_.name()}, {"device", mark.device}, {"error", quiesced.error().message}});
  }
}

Task<void> Instances::release() {
  devices_.list().forget_kept();
  if (module_.instance) co_await stop(std::exchange(module_.instance, nullptr));
}

Task<void> Instances::stop(std::shared_ptr<Module> instance) {
  const auto stopped = co_await instance->stop(module_.stop_deadline());
  started_.erase(instance.get());
  if (!stopped) log(LogLevel::kWarn, "stop failed", {{"module", module_.name()}, {"error", stopped.error().message}});
  leftovers_.add(instance->leftover());
}

}  // namespace cardcage
