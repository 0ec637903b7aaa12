#include "host/module/in_process.h"

#include <unistd.h>

#include <algorithm>

#include "host/core/log.h"
#include "host/core/timestamp.h"
#include "host/process/child_process.h"

namespace cardcage {
namespace {

// Deadline of a stop without a waiting caller.
constexpr std::chrono::seconds kUnobservedStop{10};
constexpr std::chrono::milliseconds kNewsPause{10};

}  // namespace

InProcessModule::InProcessModule(asio::io_context& core, Clock& clock, std::unique_ptr<Lane> lane, LoadedModule module,
                                 Parts parts)
    : RunningModule(core, clock, std::move(parts)),
      lane_(std::move(lane)),
      claim_lanes_("cage/" + name()),
      news_(core, clock, kNewsPause, [this] { deliver_news(); }),
      gate_(core) {
  auto news_arrived = [this, to_core = gate_.sender()] { to_core.post([this] { news_.request(); }); };
  auto send = [this, to_core = gate_.sender()](std::uint64_t number, std::uint64_t call, ModuleAsk ask) {
    to_core.post([this, number, call, ask = std::move(ask)]() mutable {
      answer(call, std::move(ask),
             [this, number](Result<AskReply> reply) { instance_->asks().answer(number, std::move(reply)); });
    });
  };
  instance_ = std::make_shared<Instance>(name(), std::move(module), identity(), std::move(news_arrived),
                                         Asks::Channel{std::move(send), {}});
}

InProcessModule::~InProcessModule() {
  if (state() == State::kStarted) tear_down_later();
  const bool at_rest = (state() == State::kLoaded || (state() == State::kStopped && *torn_down_)) &&
                       std::ranges::all_of(contexts_, [](const auto& entry) { return entry.second->has_ended(); });
  for (const auto& [number, context] : contexts_) context->cancel();
  if (at_rest) return;
  instance_->asks().close();
  lane_->leave_alone();
  claim_lanes_.leave_alone();
}

// A lane must not keep the object or any part of the core alive: only handlers that pass the gate use `this`.
Status InProcessModule::begin(std::uint64_t number, ModuleCall call, Instant deadline) {
  const auto context = std::make_shared<CallContext>(std::string(name_of(call)), number, deadline, attempt_of(call));
  contexts_[number] = context;
  const bool overlaps = identity().concurrent && claim_of(call) != nullptr;
  Lane::Job job = [this, to_core = gate_.sender(), instance = instance_, torn_down = torn_down_, context,
                   call = std::move(call)] {
    if (!context->begin()) return;
    auto reply = instance->execute(*context, call);
    if (std::holds_alternative<StopCall>(call)) torn_down->store(true);
    context->end();
    to_core.post([this, number = context->number(), reply = std::move(reply)]() mutable {
      contexts_.erase(number);
      close_call(number, std::move(reply));
    });
  };
  if (!overlaps) lane_->post(std::move(job));
  const Status posted = overlaps ? claim_lanes_.post(std::move(job)) : Status();
  if (!posted) contexts_.erase(number);
  return posted;
}

bool InProcessModule::cancel(std::uint64_t number) {
  const auto found = contexts_.find(number);
  if (found == contexts_.end()) return false;
  found->second->cancel();
  if (!found->second->abandon()) return true;
  contexts_.erase(found);
  return false;
}

bool InProcessModule::is_traced() const { return cardcage::is_traced(::getpid()); }

Error InProcessModule::give_up(const OpenCall& call) {
  for (const auto& [number, context] : contexts_) context->abandon();
  return {Code::kUnavailable, stuck_text(call.what, call.since)};
}

Task<void> InProcessModule::tear_down(Instant) {
  if (*torn_down_) co_return;
  if (const OpenCall* const busy = oldest_call()) stuck_ = stuck_text(busy->what, busy->since);
  const bool comes_later = std::ranges::any_of(contexts_, [](const auto& entry) {
    return entry.second->what() == StopCall::kName && !entry.second->is_abandoned();
  });
  if (!comes_later) tear_down_later();
}

void InProcessModule::tear_down_later() {
  const auto context =
      std::make_shared<CallContext>(std::string(StopCall::kName), next_number(), clock().now() + kUnobservedStop);
  lane_->post([instance = instance_, context, torn_down = torn_down_, for_claims = claim_lanes_.jobs()] {
    LanePool::wait_until_ended(*for_claims);
    instance->services().close();
    if (const auto stopped = instance->execute(*context, StopCall()); !stopped)
      log(LogLevel::kWarn, "stop failed", {{"error", stopped.error().message}});
    torn_down->store(true);
  });
}

std::string InProcessModule::stuck_text(std::string_view what, WallTime since) const {
  return fmt::format(
      "module '{}' is stuck in {} since {}: its thread cannot be ended, restart the daemon, or set isolation = "
      "\"process\" to let the host end the module",
      name(), what, timestamp(since));
}

Leftover InProcessModule::leftover() const {
  if (state() == State::kLoaded) return {};
  auto left = [torn_down = torn_down_, text = lost() ? lost()->message : stuck_,
               programs = programs()]() -> std::optional<std::string> {
    if (*torn_down) return programs->survivor();
    return text;
  };
  return left() ? Leftover(left) : Leftover();
}

void InProcessModule::deliver_news() {
  const auto self = shared_from_this();
  const ModuleNews news = instance_->services().take();
  for (const auto& [device_id, statements] : news.health)
    for (const auto& [cause, health] : statements)
      if (events().health) events().health(device_id, health);
  for (const auto& [call, progress] : news.progress) note_progress(call, progress);
  for (const std::int32_t descriptor : news.descriptors)
    if (events().descriptor) events().descriptor(descriptor);
  if (news.rescan && events().rescan) events().rescan();
}

}  // namespace cardcage
