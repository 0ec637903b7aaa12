#include "host/supervision/lifecycle.h"

#include <cstdlib>
#include <utility>

#include "host/core/log.h"
#include "host/core/subject.h"

namespace cardcage {

// The cause of the host's own statements about a device, beside the causes of its module.
static constexpr const char* kHostCause = "Module";

std::string to_string(ModuleState state) {
  switch (state) {
    case ModuleState::kStarting: return "starting";
    case ModuleState::kReady: return "ready";
    case ModuleState::kBackingOff: return "backing off";
    case ModuleState::kBroken: return "broken";
    case ModuleState::kStuck: return "stuck";
    case ModuleState::kQuiesced: return "quiesced";
    case ModuleState::kStopped: return "stopped";
  }
  return "unknown";
}

Lifecycle::Lifecycle(ModuleConfig config, const Clock& clock, std::function<void()> changed)
    : clock_(clock), changed_(std::move(changed)), since_(clock.wall()), target_(std::move(config)) {}

void Lifecycle::require(bool allowed, std::string_view transition) const {
  if (allowed) return;
  log(LogLevel::kError, "illegal transition of a module",
      {{"module", config().name}, {"transition", std::string(transition)}, {"state", to_string(state())}});
  std::abort();
}

void Lifecycle::enter(Phase phase) {
  phase_ = std::move(phase);
  since_ = clock_.wall();
  changed_();
}

Lifecycle::Step Lifecycle::next_step(bool has_leftover) const {
  if (stop_requested_) return Step::kStop;
  if (has_leftover) return Step::kWaitUntilUnstuck;
  if (quiesced_) return Step::kStayQuiesced;
  const bool pause = clock_.now() < policy_.next_try() && !target_.trial_requested();
  return pause ? Step::kWaitBeforeRetry : Step::kRunInstance;
}

void Lifecycle::start() {
  require(!in<Ready>() && !in<Stopped>() && !quiesced_, "start");
  if (target_.trial_requested()) policy_.forgive();
  lost_.reset();
  enter(Starting{.first = !settled(), .offered = false});
}

void Lifecycle::lose(Error why) {
  if (callable()) away_since_ = clock_.now();
  lost_ = std::move(why);
}

void Lifecycle::offer() {
  require(in<Starting>() && !offered(), "offer");
  away_since_.reset();
  std::get<Starting>(phase_).offered = true;
  changed_();
}

void Lifecycle::serve() {
  require(in<Starting>() && offered(), "serve");
  trouble_.reset();
  enter(Ready{});
}

void Lifecycle::restart() {
  require(in<Ready>(), "restart");
  policy_.forgive();
  ++restarts_;
  if (callable()) away_since_ = clock_.now();
  enter(Starting{});
}

void Lifecycle::back_off(Duration ran) {
  require((in<Starting>() || in<Ready>()) && lost_, "back_off");
  policy_.failed(clock_.now(), ran);
  ++restarts_;
  const auto kind = in<Starting>() ? Trouble::Kind::kNotStarted : Trouble::Kind::kLost;
  trouble_ = Trouble{kind, *std::exchange(lost_, std::nullopt)};
  enter(Away{});
}

void Lifecycle::await_retry() {
  require(in<Away>() || in<Stuck>(), "await_retry");
  if (in<Stuck>()) enter(Away{});
}

void Lifecycle::block(std::string why) {
  require(!in<Stopped>(), "block");
  auto* const stuck = std::get_if<Stuck>(&phase_);
  if (!stuck) return enter(Stuck{std::move(why)});
  if (why == stuck->why) return;
  stuck->why = std::move(why);
  changed_();
}

void Lifecycle::unblock() {
  require(in<Stuck>(), "unblock");
  policy_.skip_pause();
}

void Lifecycle::stay_quiesced() {
  require(!in<Stopped>() && quiesced_, "stay_quiesced");
  enter(Quiesced{});
}

void Lifecycle::stop() { enter(Stopped{}); }

void Lifecycle::fail_discover(const Error& why) { trouble_ = Trouble{Trouble::Kind::kDiscoverFailed, why}; }

void Lifecycle::pass_discover() {
  if (trouble_ && trouble_->kind == Trouble::Kind::kDiscoverFailed) trouble_.reset();
}

void Lifecycle::refuse_file(const Error& why) {
  require(in<Ready>(), "refuse_file");
  file_refused_ = refusal(why, "file");
  changed_();
}

const ModuleConfig& Lifecycle::begin_start() {
  require(in<Starting>(), "begin_start");
  lost_.reset();
  file_refused_.reset();
  return target_.begin_start();
}

void Lifecycle::accept_trial() {
  require(in<Ready>(), "accept_trial");
  target_.accept_trial();
  lost_.reset();
  away_since_.reset();
  trouble_.reset();
  file_refused_.reset();
  enter(Ready{});
}

void Lifecycle::refuse_trial(const Error& why) {
  require(in<Ready>(), "refuse_trial");
  note_refusal(why, target_.has_candidate());
  target_.refuse_trial(refusal(why, "configuration"));
  changed_();
}

void Lifecycle::take_back_trial(ModuleConfig before, const Error& why) {
  require(in<Ready>(), "take_back_trial");
  note_refusal(why, !same_instance(before, config()));
  target_.take_back(std::move(before), refusal(why, "configuration"));
  lost_.reset();
  enter(Ready{});
}

// Records a refused file. TargetConfig keeps the refusal of a configuration.
void Lifecycle::note_refusal(const Error& why, bool of_config) {
  file_refused_ = of_config ? std::nullopt : std::optional(refusal(why, "file"));
}

Error Lifecycle::refusal(Error why, std::string_view what) const {
  why.message = fmt::format(
      "the new {} of module '{}' is not taken over: {}; the old one stays in use, but after a restart the module will "
      "not "
      "start",
      what, config().name, why.message);
  return why;
}

void Lifecycle::drop_trial() {
  require(in<Ready>(), "drop_trial");
  target_.drop_trial();
  changed_();
}

void Lifecycle::confirm_file() {
  file_refused_.reset();
  drop_trial();
}

void Lifecycle::set_quiesced(QuiesceMark mark) {
  require(!in<Stopped>() && !quiesced_, "set_quiesced");
  quiesced_ = std::move(mark);
  changed_();
}

void Lifecycle::clear_quiesced() {
  require(quiesced_.has_value(), "clear_quiesced");
  quiesced_.reset();
  changed_();
}

void Lifecycle::drain(std::string why) {
  draining_ = std::move(why);
  changed_();
}

ModuleState Lifecycle::state() const {
  if (in<Away>() && policy_.is_broken()) return ModuleState::kBroken;
  return std::visit([]<class P>(const P&) { return P::kState; }, phase_);
}

bool Lifecycle::offered() const {
  const auto* const starting = in<Starting>();
  return in<Ready>() || (starting && starting->offered);
}

Status Lifecycle::usable() const {
  if (quiesced_) return fail(Code::kUnavailable, "{}", quiesced_text());
  if (callable()) return {};
  const std::string subject = fmt::format("module '{}'", config().name);
  return fail(Code::kUnavailable, "{} is {}: {}", subject, to_string(state()), with_pronoun(why_away(), subject));
}

bool Lifecycle::returns_by(Instant when) const {
  if (callable() || quiesced_ || stop_requested_ || in<Stuck>() || in<Stopped>()) return false;
  return !in<Away>() || (!policy_.is_broken() && policy_.next_try() < when);
}

std::optional<Instant> Lifecycle::away_since() const { return returns_by(Instant::max()) ? away_since_ : std::nullopt; }

// A quiesced or stuck module stays so until an operator acts.
bool Lifecycle::undecided() const {
  if (in<Quiesced>() || in<Stuck>() || in<Stopped>()) return false;
  return in<Starting>() || target_.undecided();
}

bool Lifecycle::settled() const {
  const auto* const starting = in<Starting>();
  return !starting || !starting->first;
}

std::optional<Error> Lifecycle::refused() const { return target_.refused() ? target_.refused() : file_refused_; }

bool Lifecycle::runs_as_wanted() const {
  return !refused() && !(in<Away>() && trouble_ && trouble_->kind == Trouble::Kind::kNotStarted);
}

std::optional<Error> Lifecycle::last_error() const { return trouble_ ? std::optional(trouble_->error) : refused(); }

std::string Lifecycle::detail() const {
  if (const auto* const stuck = in<Stuck>()) return stuck->why;
  if (quiesced_) return to_string(*quiesced_);
  const auto error = last_error();
  return error ? error->message : "";
}

std::string Lifecycle::warning() const {
  if (const auto* const stuck = in<Stuck>()) return stuck->why;
  if (quiesced_) return quiesced_text();
  const std::string subject = fmt::format("module '{}'", config().name);
  const std::string why = with_pronoun(why_away(), subject);
  switch (state()) {
    case ModuleState::kBroken:
      return fmt::format(
          "module '{0}' is broken: it failed too often and is tried once in 30 min now; "
          "'cagectl module restart {0}' tries at once, as a new file does: {1}",
          config().name, why);
    case ModuleState::kBackingOff: return fmt::format("{} is backing off: {}", subject, why);
    case ModuleState::kReady: return trouble_ ? trouble_->error.message : "";
    default: return "";
  }
}

std::optional<CauseHealth> Lifecycle::health_while_away() const {
  if (quiesced_) return quiesced_health(quiesced_text(), quiesced_->since);
  if (callable()) return std::nullopt;
  CauseHealth away{.health = {.cause = kHostCause}, .changed = since_};
  away.health.reason = "ModuleAway";
  away.health.message = why_away();
  // A module that does not return soon must attract no more claims. A broken one stays tainted while it is tried again.
  if (in<Stuck>() || policy_.is_broken()) {
    away.health.reason = in<Stuck>() ? "ModuleStuck" : "ModuleBroken";
    away.health.taint = TaintEffect::kNoSchedule;
  }
  return away;
}

CauseHealth quiesced_health(std::string why, std::chrono::system_clock::time_point since) {
  return {.health = {.reason = "Quiesced",
                     .message = std::move(why),
                     .taint = TaintEffect::kNoSchedule,
                     .cause = kHostCause},
          .changed = since};
}

std::string Lifecycle::quiesced_text() const {
  return fmt::format("module '{0}' is quiesced {1}; 'cagectl module resume {0}' takes it back into service",
                     config().name, to_string(*quiesced_));
}

std::string Lifecycle::why_away() const {
  if (const auto* const stuck = in<Stuck>()) return stuck->why;
  if (lost_) return lost_->message;
  return trouble_ ? trouble_->error.message : "it has not started yet";
}

}  // namespace cardcage
