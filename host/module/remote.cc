#include "host/module/remote.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "cardcage/module.h"

namespace cardcage {
namespace {

Status outcome_of(const Answers& answers) {
  const wire::Answer& last = answers.back();
  if (last.code() == 0) return {};
  return fail(static_cast<Code>(last.code()), "{}", last.message());
}

Result<SnapshotPtr> read_snapshot(const Answers& answers) {
  auto snapshot = std::make_shared<Snapshot>();
  for (const wire::Answer& answer : answers) {
    for (const wire::Device& in : answer.snapshot().devices()) {
      auto device = read(in);
      if (!device) return std::unexpected(device.error());
      snapshot->devices.push_back(std::move(*device));
    }
    for (const wire::CounterSet& set : answer.snapshot().counter_sets())
      snapshot->counter_sets[set.name()] = read(set.counters());
  }
  return snapshot;
}

}  // namespace

Leftover leftover_of(std::string module, std::shared_ptr<ChildProcess> worker) {
  return [name = std::move(module), child = std::move(worker)]() -> std::optional<std::string> {
    if (child->is_gone()) return std::nullopt;
    return fmt::format(
        "the worker (pid {}) of module '{}' was killed and does not end: it {}; it may hold the hardware, so no other "
        "is "
        "started; if it stays so, restart the node",
        child->pid(), name, child->hold());
  };
}

RemoteModule::RemoteModule(asio::io_context& core, Clock& clock, Parts parts)
    : RunningModule(core, clock, std::move(parts.name), std::move(parts.identity)),
      options_(std::move(parts.options)),
      link_(std::move(parts.link)) {
  link_->listen({.health =
                     [this](const wire::Health& health) {
                       if (events().health) events().health(health.device_id(), read(health));
                     },
                 .rescan =
                     [this] {
                       if (events().rescan) events().rescan();
                     },
                 .ended =
                     [this](const std::string& how) {
                       lose({Code::kUnavailable, fmt::format("module '{}' is gone: its worker {}", name(), how)});
                     }});
}

std::shared_ptr<RemoteModule> RemoteModule::make(asio::io_context& core, Clock& clock, Parts parts) {
  return std::shared_ptr<RemoteModule>(new RemoteModule(core, clock, std::move(parts)));
}

Task<Result<Answers>> RemoteModule::call(std::string what, wire::Request request, Instant deadline,
                                         std::vector<wire::Request> parts) {
  const auto self = shared_from_this();
  if (auto admitted = admit(what, deadline); !admitted) co_return std::unexpected(admitted.error());
  const std::uint64_t number = next_number();
  if (deadline != Instant::max())
    request.set_deadline_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count());
  const auto answers = std::make_shared<Answers>();
  const auto ended = open_call(number, what);
  Status told;
  for (wire::Request& part : parts)
    if (told) told = link_->tell(number, std::move(part));
  if (told)
    told = link_->call(number, std::move(request), [answers, weak = std::weak_ptr(ended)](Answers all) {
      *answers = std::move(all);
      if (const auto waiting = weak.lock()) waiting->set({});
    });
  if (!told) co_return within(told.error(), "module '{}' cannot {}", name(), what);
  const Status in_time = co_await wait(number, ended, deadline);
  if (!in_time) co_return std::unexpected(in_time.error());
  if (auto outcome = outcome_of(*answers); !outcome) co_return std::unexpected(outcome.error());
  co_return std::move(*answers);
}

Task<Status> RemoteModule::done(std::string what, wire::Request request, Instant deadline,
                                std::vector<wire::Request> parts) {
  const auto answers = co_await call(std::move(what), std::move(request), deadline, std::move(parts));
  if (!answers) co_return std::unexpected(answers.error());
  co_return Status{};
}

bool RemoteModule::cancel(std::uint64_t number) {
  wire::Request request;
  request.mutable_cancel();
  std::ignore = link_->tell(number, std::move(request));
  return link_->is_open(number);
}

Error RemoteModule::give_up(const std::string& what, WallTime since) {
  link_->kill();
  return {Code::kUnavailable, fmt::format("module '{}' was stuck in {} since {}: its worker (pid {}) was killed",
                                          name(), what, timestamp(since), link_->process().child()->pid())};
}

Task<Status> RemoteModule::start(ModuleEvents told, Instant deadline) {
  const auto self = shared_from_this();
  if (auto begun = begin_life(std::move(told)); !begun) co_return begun;
  wire::Request request;
  write(options_, *request.mutable_start()->mutable_options());
  co_return co_await done("start", std::move(request), deadline);
}

Task<Result<SnapshotPtr>> RemoteModule::discover(Instant deadline) {
  wire::Request request;
  request.mutable_discover();
  const auto answers = co_await call("discover", std::move(request), deadline);
  if (!answers) co_return std::unexpected(answers.error());
  auto snapshot = read_snapshot(*answers);
  if (!snapshot) co_return within(snapshot.error(), "module '{}' cannot discover", name());
  co_return snapshot;
}

Task<Result<PreparedEdits>> RemoteModule::prepare(ModuleClaim claim, Instant deadline) {
  wire::Request request;
  write(claim, *request.mutable_prepare());
  const auto answers = co_await call("prepare", std::move(request), deadline);
  if (!answers) co_return std::unexpected(answers.error());
  PreparedEdits edits = read(answers->back().edits());
  if (edits.allocations.size() != claim.allocations.size())
    co_return fail(Code::kInternal, "module '{}' cannot prepare: its worker answered for {} devices of {}", name(),
                   edits.allocations.size(), claim.allocations.size());
  co_return edits;
}

Task<Status> RemoteModule::unprepare(ModuleClaim claim, Instant deadline) {
  wire::Request request;
  write(claim, *request.mutable_unprepare());
  return done("unprepare", std::move(request), deadline);
}

Task<Status> RemoteModule::reconcile(std::vector<ModuleClaim> live, Instant deadline) {
  std::vector<wire::Request> parts;
  for (const ModuleClaim& claim : live) write(claim, *parts.emplace_back().mutable_live_claim());
  wire::Request request;
  request.mutable_reconcile();
  return done("reconcile", std::move(request), deadline, std::move(parts));
}

Task<Result<std::vector<std::string>>> RemoteModule::choose(std::vector<std::string> available,
                                                            std::vector<std::string> required, std::size_t want,
                                                            Instant deadline) {
  if (!identity().has_preferred) co_return lacks("choose", CAGE_EXT_PREFERRED);
  wire::Request request;
  write(available, *request.mutable_choose()->mutable_available());
  write(required, *request.mutable_choose()->mutable_required());
  request.mutable_choose()->set_want(want);
  const auto answers = co_await call("choose", std::move(request), deadline);
  if (!answers) co_return std::unexpected(answers.error());
  co_return read(answers->back().chosen().texts());
}

Task<Status> RemoteModule::pre_start(ModuleClaim claim, Instant deadline) {
  if (!identity().has_pre_start) co_return lacks("pre_start", CAGE_EXT_PRE_START);
  wire::Request request;
  write(claim, *request.mutable_pre_start());
  co_return co_await done("pre_start", std::move(request), deadline);
}

Task<Status> RemoteModule::check(std::string device_id, Instant deadline) {
  wire::Request request;
  request.set_check(std::move(device_id));
  return done("check", std::move(request), deadline);
}

Task<Status> RemoteModule::quiesce(Instant deadline) {
  wire::Request request;
  request.mutable_quiesce();
  return done("quiesce", std::move(request), deadline);
}

Task<Status> RemoteModule::resume(Instant deadline) {
  wire::Request request;
  request.mutable_resume();
  return done("resume", std::move(request), deadline);
}

Task<Status> RemoteModule::stop(Instant deadline) {
  const auto self = shared_from_this();
  if (!end_life()) co_return Status{};
  wire::Request request;
  request.mutable_stop();
  const Status stopped = co_await done("stop", std::move(request), deadline);
  events() = {};
  co_await end_worker(deadline);
  co_return stopped;
}

// Waits for the end: a worker that goes on would hold the hardware while the next one takes it.
Task<void> RemoteModule::end_worker(Instant deadline) {
  link_->kill();
  const auto limit = std::max(deadline, clock().now() + std::chrono::seconds(1));
  if (!link_->has_ended()) co_await link_->over().wait_until(clock(), limit);
}

}  // namespace cardcage
