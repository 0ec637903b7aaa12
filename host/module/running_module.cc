#include "host/module/running_module.h"

#include <algorithm>

#include "host/core/log.h"
#include "host/model/naming.h"
#include "host/model/text_rules.h"
#include "host/sinks/edits_sink.h"

namespace cardcage {

// Bounds the entries of claims that are never tried again. Beyond it, all counts restart.
static constexpr std::size_t kMaxAttempts = 10'000;
static constexpr std::size_t kQuotedService = 80;  // bytes of a wrong name that an error quotes

// Translates paths: a module names driver files as it sees them.
static void name_paths_of_node(PreparedEdits& edits, const NodeRoots& roots) {
  const auto rename = [&roots](std::string& path) { path = roots.driver_path_on_node(path); };
  const auto rename_in = [&rename](Edits& its) {
    for (Mount& mount : its.mounts) rename(mount.host_path);
    for (DeviceNode& node : its.device_nodes) rename(node.host_path);
    for (Hook& hook : its.hooks) rename(hook.path);
  };
  rename_in(edits.claim);
  std::ranges::for_each(edits.allocations, rename_in);
}

RunningModule::RunningModule(asio::io_context& core, Clock& clock, Parts parts)
    : core_(core),
      clock_(clock),
      name_(std::move(parts.name)),
      identity_(std::move(parts.identity)),
      options_(std::move(parts.options)),
      node_(std::move(parts.node)) {}

Task<Status> RunningModule::start(ModuleEvents events, Instant deadline) {
  if (state_ != State::kLoaded)
    co_return fail(Code::kFailedPrecondition, "module '{}' cannot start: it was started before", name_);
  state_ = State::kStarted;
  events_ = std::move(events);
  StartCall starting{options_, node_.roots};
  co_return co_await call(std::move(starting), deadline);
}

Task<Result<ModuleReply>> RunningModule::execute(ModuleCall call, Instant deadline, JournalWriter journal) {
  const auto self = shared_from_this();
  const ModuleClaim* const claim = claim_of(call);
  const std::string uid = claim ? claim->ref.uid : std::string();
  if (claim) {
    if (attempts_.size() == kMaxAttempts) attempts_.clear();
    Attempts& attempts = attempts_[uid];
    if (attempts.call != name_of(call)) attempts = {name_of(call)};
    set_attempt(call, ++attempts.count);
  }
  auto reply = co_await attempt(std::move(call), deadline, std::move(journal));
  if (!reply) co_return reply;
  if (claim) attempts_.erase(uid);
  if (auto* const edits = std::get_if<PreparedEdits>(&*reply))
    if (const Status adopted = adopt(*edits); !adopted) co_return std::unexpected(adopted.error());
  co_return reply;
}

Status RunningModule::adopt(PreparedEdits& edits) const {
  name_paths_of_node(edits, node_.roots);
  return node_.edits->check(edits);
}

Task<Status> RunningModule::stop(Instant deadline) {
  const auto self = shared_from_this();
  if (std::exchange(state_, State::kStopped) != State::kStarted) co_return Status{};
  for (const auto& waiter : std::exchange(waiting_for_idle_, {}))
    waiter.set(fail(Code::kCancelled, "module '{}' is stopped", name_));
  const Status stopped = co_await call(StopCall{}, deadline);
  events_ = {};
  co_await tear_down(deadline);
  co_return stopped;
}

Task<Status> RunningModule::end_instance(Instant deadline) {
  const auto self = shared_from_this();
  if (state_ != State::kStarted) co_return Status{};
  const Status stopped = co_await call(StopCall{}, deadline);
  if (stopped) {
    events_ = {};
    state_ = State::kLoaded;
  }
  co_return stopped;
}

Task<Result<ModuleReply>> RunningModule::attempt(ModuleCall call, Instant deadline, JournalWriter journal) {
  if (auto admitted = admit(call, deadline); !admitted) co_return std::unexpected(admitted.error());
  const std::uint64_t number = next_number();
  const OneShot<Result<ModuleReply>> reply(core_);
  const ModuleClaim* const claim = claim_of(call);
  OpenCall open{.waiting = {},
                .place = place_of(call),
                .claim = claim ? claim->ref.uid : std::string(),
                .what = name_of(call),
                .since = clock_.wall(),
                .begun = clock_.now(),
                .deadline = deadline,
                .reply = reply,
                .journal = std::move(journal),
                .stuck = DelayedCall(core_, clock_)};
  open.waiting = std::move(call);
  open_.emplace(number, std::move(open));
  begin_calls();
  std::optional<Result<ModuleReply>> outcome = co_await reply.wait_until(clock_, deadline);
  if (outcome) co_return std::move(*outcome);
  Error error = unanswered(number, deadline);
  open_.at(number).given_up = true;
  // A call that still runs stays open: the errors of other calls say that the module is busy with it.
  if (open_.at(number).waiting || !cancel(number))
    forget_call(number);
  else if (deadline != Instant::max())
    open_.at(number).stuck.call_at(deadline + kStuckGrace, [this, number] { check_stuck(number); });
  co_return std::unexpected(std::move(error));
}

void RunningModule::begin_calls() {
  for (auto& [number, call] : open_) {
    if (!call.waiting || !may_begin(number)) continue;
    ModuleCall next = std::move(*std::exchange(call.waiting, {}));
    auto begun = begin(number, std::move(next), call.deadline);
    if (begun) continue;
    const std::string_view what = call.what;
    return close_call(number, within(begun.error(), "module '{}' cannot {}", name_, what));
  }
}

bool RunningModule::OpenCall::overlaps(const OpenCall& other) const {
  if (place == CallPlace::kAlone || other.place == CallPlace::kAlone) return false;
  return place != other.place || (place == CallPlace::kClaim && claim != other.claim);
}

bool RunningModule::may_begin(std::uint64_t number) const {
  if (!identity_.concurrent) return true;  // calls queue up where the module runs
  const OpenCall& next = open_.at(number);
  std::size_t earlier = 0;
  for (auto call = open_.begin(); call->first != number; ++call)
    if (++earlier == kMaxOverlappingCalls || !next.overlaps(call->second)) return false;
  return true;
}

bool RunningModule::is_busy_with(std::uint64_t number) const {
  return identity_.concurrent ? !open_.at(number).waiting : open_.begin()->first == number;
}

Status RunningModule::admit(const ModuleCall& call, Instant deadline) const {
  const std::string_view what = name_of(call);
  const bool starts_or_stops = std::holds_alternative<StartCall>(call) || std::holds_alternative<StopCall>(call);
  if (const auto family = family_of(call); family && !identity_.has(*family))
    return fail(Code::kUnimplemented, "module '{}' cannot {}: it has no {}", name_, what, id_of(*family));
  if (!starts_or_stops && state_ != State::kStarted)
    return fail(Code::kFailedPrecondition, "module '{}' cannot {}: it is {}", name_, what,
                state_ == State::kLoaded ? "not started" : "stopped");
  if (lost_) return std::unexpected(*lost_);
  if (const auto* prepare = std::get_if<PrepareCall>(&call))
    for (const auto& allocation : prepare->claim.allocations)
      if (const auto stuck = node_.writes->stuck(allocation.device_id))
        return fail(Code::kUnavailable, "module '{}' cannot {}: {}", name_, what, *stuck);
  if (deadline <= clock_.now())
    return fail(Code::kDeadlineExceeded, "module '{}' cannot {}: no time is left for it", name_, what);
  return {};
}

Error RunningModule::unanswered(std::uint64_t number, Instant deadline) const {
  const std::string_view what = open_.at(number).what;
  if (clock_.now() < deadline)
    return {Code::kCancelled, fmt::format("module '{}' cannot {}: the call was cancelled", name_, what)};
  const std::string why = is_busy_with(number)
                              ? "it did not answer in time"
                              : fmt::format("it had no time for it, being busy with {}", oldest_call()->what);
  return {Code::kDeadlineExceeded, fmt::format("module '{}' cannot {}: {}", name_, what, why)};
}

void RunningModule::close_call(std::uint64_t number, Result<ModuleReply> reply) {
  const auto call = open_.find(number);
  if (call == open_.end()) return;
  call->second.reply.set(std::move(reply));
  forget_call(number);
}

void RunningModule::answer(std::uint64_t call, ModuleAsk ask, std::function<void(Result<AskReply>)> respond) {
  const auto found = open_.find(call);
  if (found == open_.end() || found->second.given_up || lost_)
    return respond(fail(Code::kCancelled, "the host cannot {}: the call was given up", name_of(ask)));
  OpenCall& open = found->second;
  if (auto* journal = std::get_if<JournalAsk>(&ask)) {
    const Status kept = keep_journal(open, std::move(journal->bytes));
    return respond(kept ? Result<AskReply>() : std::unexpected(kept.error()));
  }
  if (std::exchange(open.waits_for_node, true))
    return respond(fail(Code::kResourceExhausted, "a call asks for one program, service or write at a time"));
  std::visit(
      [&]<class Ask>(Ask& one) {
        if constexpr (!std::is_same_v<Ask, JournalAsk>)
          spawn(core_, run_on_node(shared_from_this(), call, std::move(one), std::move(respond)));
      },
      ask);
}

Status RunningModule::keep_journal(const OpenCall& call, std::string bytes) const {
  if (!call.journal)
    return fail(Code::kFailedPrecondition, "the host cannot {}: only a prepare has one", JournalAsk::kName);
  if (bytes.size() > kMaxState)  // a worker checks this, unless the module has overwritten its memory
    return fail(Code::kInvalidArgument, "the host cannot {}: it is too long", JournalAsk::kName);
  return call.journal(std::move(bytes));
}

template <class Ask>
Task<void> RunningModule::run_on_node(std::shared_ptr<RunningModule> self, std::uint64_t call, Ask ask,
                                      std::function<void(Result<AskReply>)> respond) {
  const OpenCall& asking = self->open_.at(call);
  const Instant deadline = asking.deadline;
  const std::string claim = asking.claim;
  auto executing = self->execute_ask(std::move(ask), claim, deadline);
  Result<AskReply> reply = co_await std::move(executing);
  if (const auto open = self->open_.find(call); open != self->open_.end()) open->second.waits_for_node = false;
  respond(std::move(reply));
}

Task<Result<AskReply>> RunningModule::execute_ask(ExecAsk ask, const std::string&, Instant deadline) {
  auto running = node_.programs->run(core_, clock_, std::move(ask), deadline);
  auto result = co_await std::move(running);
  if (!result) co_return std::unexpected(std::move(result.error()));
  co_return AskReply(std::move(*result));
}

Task<Result<AskReply>> RunningModule::execute_ask(ServiceStartAsk ask, const std::string& claim, Instant deadline) {
  if (auto possible = may_have_service(claim, ask.name); !possible) co_return std::unexpected(possible.error());
  auto command = node_.programs->rules().allow(std::move(ask.command));
  if (!command) co_return std::unexpected(command.error());
  ServiceKey key{name_, claim, std::move(ask.name)};
  auto starting = node_.services->start(std::move(key), std::move(*command), deadline);
  const Status started = co_await std::move(starting);
  if (!started) co_return std::unexpected(started.error());
  co_return AskReply();
}

Task<Result<AskReply>> RunningModule::execute_ask(ServiceStopAsk ask, const std::string& claim, Instant deadline) {
  if (auto possible = may_have_service(claim, ask.name); !possible) co_return std::unexpected(possible.error());
  ServiceKey key{name_, claim, std::move(ask.name)};
  auto stopping = node_.services->stop(std::move(key), deadline);
  const Status stopped = co_await std::move(stopping);
  if (!stopped) co_return std::unexpected(stopped.error());
  co_return AskReply();
}

template <class WriteAsk>
Task<Result<AskReply>> RunningModule::execute_ask(WriteAsk ask, const std::string&, Instant deadline) {
  auto writing = node_.writes->run(std::move(ask), deadline);
  co_return co_await std::move(writing);
}

Status RunningModule::may_have_service(const std::string& claim, const std::string& service) const {
  if (!node_.services) return fail(Code::kFailedPrecondition, "only the daemon has services");
  if (claim.empty()) return fail(Code::kFailedPrecondition, "a service belongs to a claim: only calls for one have it");
  if (!is_dns_label(service))
    return fail(Code::kInvalidArgument, "the name of a service is a DNS label, '{}' is none",
                printable(service, kQuotedService));
  return {};
}

void RunningModule::forget_call(std::uint64_t number) {
  open_.erase(number);
  if (!lost_) begin_calls();
  if (!open_.empty()) return;
  for (const auto& waiter : std::exchange(waiting_for_idle_, {})) waiter.set({});
}

Task<Status> RunningModule::finish_calls(Instant deadline) {
  const auto self = shared_from_this();
  if (lost_) co_return std::unexpected(*lost_);
  if (open_.empty()) co_return Status{};
  const OneShot<Status> idle(core_);
  waiting_for_idle_.push_back(idle);
  std::optional<Status> outcome = co_await idle.wait_until(clock_, deadline);
  if (outcome) co_return std::move(*outcome);
  co_return fail(Code::kDeadlineExceeded, "module '{}' is still busy with {}", name_, oldest_call()->what);
}

std::optional<BusyModule> RunningModule::busy() const {
  const OpenCall* const oldest = oldest_call();
  if (!oldest) return std::nullopt;
  return BusyModule{std::string(oldest->what), oldest->begun, oldest->deadline, oldest->progress};
}

void RunningModule::note_progress(std::uint64_t call, Progress progress) {
  if (const auto open = open_.find(call); open != open_.end()) open->second.progress = std::move(progress);
}

std::optional<Progress> RunningModule::progress(const std::string& claim_uid) const {
  for (const auto& [number, call] : open_)
    if (call.claim == claim_uid && call.progress) return call.progress;
  return std::nullopt;
}

void RunningModule::check_stuck(std::uint64_t number) {
  if (lost_ || !is_busy_with(number)) return;
  OpenCall& call = open_.at(number);
  if (!is_traced()) return lose(give_up(call));
  if (!std::exchange(call.seen_traced, true))
    log(LogLevel::kWarn, "module is not given up while a debugger is attached",
        {{"module", name_}, {"call", std::string(call.what)}});
  call.stuck.call_at(clock_.now() + kStuckGrace, [this, number] { check_stuck(number); });
}

void RunningModule::lose(Error why) {
  const auto self = shared_from_this();
  if (lost_) return;
  lost_ = std::move(why);
  node_.programs->kill();
  node_.writes->end();
  for (const auto& [number, call] : open_) call.reply.set(std::unexpected(*lost_));
  for (const auto& waiter : std::exchange(waiting_for_idle_, {})) waiter.set(std::unexpected(*lost_));
  const ModuleEvents events = std::exchange(events_, {});
  if (events.lost) events.lost(*lost_);
}

}  // namespace cardcage
