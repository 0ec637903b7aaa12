#include "host/module/running_module.h"

#include <fmt/chrono.h>

#include <algorithm>

namespace cardcage {
namespace {

// Between two looks whether calls are over: an operator waits for it, nobody else.
constexpr std::chrono::milliseconds kLook{20};

}  // namespace

RunningModule::RunningModule(asio::io_context& core, Clock& clock, std::string name, ModuleIdentity identity)
    : core_(core), clock_(clock), name_(std::move(name)), identity_(std::move(identity)) {
  binding_->module = this;
}

Status RunningModule::admit(const std::string& what, Instant deadline) const {
  if (what != "start" && what != "stop" && state_ != State::kStarted)
    return fail(Code::kFailedPrecondition, "module '{}' cannot {}: it is {}", name_, what,
                state_ == State::kLoaded ? "not started" : "stopped");
  if (lost_) return std::unexpected(*lost_);
  if (deadline <= clock_.now())
    return fail(Code::kDeadlineExceeded, "module '{}' cannot {}: no time is left for it", name_, what);
  return {};
}

std::unexpected<Error> RunningModule::lacks(std::string_view what, std::string_view family) const {
  return fail(Code::kUnimplemented, "module '{}' cannot {}: it has no {}", name_, what, family);
}

RunningModule::Ended RunningModule::open_call(std::uint64_t number, const std::string& what) {
  std::erase_if(open_, [this](const auto& one) { return one.second.ended.expired() && !is_running(one.first); });
  auto ended = std::make_shared<OneShot<Status>>(core_);
  open_[number] = {what, ended};
  return ended;
}

Error RunningModule::too_late(std::uint64_t number, const std::string& what) const {
  std::string busy;
  for (const auto& [other, open] : open_)
    if (other != number && is_running(other)) busy = open.what;
  const std::string why =
      busy.empty() ? "it did not answer in time" : fmt::format("it had no time for it, being busy with {}", busy);
  return {Code::kDeadlineExceeded, fmt::format("module '{}' cannot {}: {}", name_, what, why)};
}

Task<Status> RunningModule::finish_calls(Instant deadline) {
  const auto self = shared_from_this();
  for (;;) {
    if (lost_) co_return std::unexpected(*lost_);
    const auto busy = std::ranges::find_if(
        open_, [this](const auto& one) { return is_running(one.first) || !one.second.ended.expired(); });
    if (busy == open_.end()) co_return Status{};
    if (clock_.now() >= deadline)
      co_return fail(Code::kDeadlineExceeded, "module '{}' is still busy with {}", name_, busy->second.what);
    co_await clock_.sleep_for(kLook);
  }
}

Task<Status> RunningModule::wait(std::uint64_t number, Ended ended, Instant deadline) {
  const auto since = clock_.wall();
  std::optional<Status> outcome = co_await ended->wait_until(clock_, deadline);
  const std::string what = open_[number].what;
  if (outcome) {
    open_.erase(number);
    co_return std::move(*outcome);
  }
  const bool late = clock_.now() >= deadline;
  const Error error =
      late ? too_late(number, what)
           : Error{Code::kCancelled, fmt::format("module '{}' cannot {}: the call was cancelled", name_, what)};
  // What goes on stays open: others are told what the module is busy with.
  if (!cancel(number))
    open_.erase(number);
  else if (deadline != Instant::max())
    spawn(core_, watch(binding_, clock_, number, what, deadline + kStuckGrace, since));
  co_return std::unexpected(error);
}

Task<void> RunningModule::watch(std::shared_ptr<Binding> binding, Clock& clock, std::uint64_t number, std::string what,
                                Instant until, WallTime since) {
  co_await clock.sleep_until(until);
  RunningModule* const module = binding->module;
  if (module == nullptr) co_return;
  if (module->is_running(number) && !module->lost_) module->lose(module->give_up(what, since));
}

std::string RunningModule::timestamp(WallTime time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

void RunningModule::lose(Error why) {
  const auto self = shared_from_this();
  if (lost_) return;
  lost_ = std::move(why);
  for (const auto& [number, open] : open_)
    if (const auto waiting = open.ended.lock()) waiting->set(std::unexpected(*lost_));
  const ModuleEvents told = std::exchange(events_, {});
  if (told.lost) told.lost(*lost_);
}

Status RunningModule::begin_life(ModuleEvents told) {
  if (state_ != State::kLoaded)
    return fail(Code::kFailedPrecondition, "module '{}' cannot start: it was started before", name_);
  state_ = State::kStarted;
  events_ = std::move(told);
  return {};
}

}  // namespace cardcage
