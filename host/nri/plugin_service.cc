#include "host/nri/plugin_service.h"

#include <algorithm>

#include "host/core/bounded.h"
#include "host/core/log.h"
#include "host/model/text_rules.h"
#include "host/nri/protocol.h"
#include "host/nri/sandbox_message.h"

namespace cardcage {

using namespace std::chrono_literals;

namespace {

// A node runs hundreds of pods, with several sandboxes each.
constexpr std::size_t kMaxPods = 50'000;
constexpr std::size_t kMaxRuntimeName = 64;
// Reserve before the runtime's limit: it disconnects a plugin that responds too late, and starts the pod without it.
constexpr Duration kResponseReserve = 250ms;

constexpr std::int32_t event_bit(api::nri::Event event) { return 1 << (event - 1); }

template <class Message>
Result<Message> parse(const std::string& payload) {
  Message message;
  if (!message.ParseFromString(payload))
    return fail(Code::kInvalidArgument, "{} bytes are not a message of the Node Resource Interface", payload.size());
  return message;
}

Task<void> respond_at(std::shared_ptr<RuntimeConnection> connection, std::uint32_t stream, OneShot<Status> done,
                      Clock& clock, Instant limit, Status late) {
  const std::optional<Status> outcome = co_await done.wait_until(clock, limit);
  const Status& status = outcome ? *outcome : late;
  // Responses to events are empty messages.
  connection->respond(stream, status ? Result<std::string>("") : std::unexpected(status.error()));
}

std::string label(const RuntimeSandbox& sandbox) { return sandbox.pod.name_space + "/" + sandbox.pod.name; }

}  // namespace

void PluginService::take(RuntimeConnection::Call call) {
  const auto respond = [&](const Result<std::string>& payload) { connection_->respond(call.stream, payload); };
  if (call.service != kNriPluginService)
    return respond(fail(Code::kUnimplemented, "cardcage has no service '{}'", printable(call.service, 64)));
  if (call.method == "Configure") return respond(configure(call.payload));
  if (call.method == "Synchronize") return respond(synchronize(call.payload));
  if (call.method == "Shutdown") return respond("");
  if (call.method != "StateChange")
    return respond(fail(Code::kUnimplemented, "cardcage does not implement '{}'", printable(call.method, 64)));
  if (const Status begun = begin_event(call); !begun) respond(within(begun.error(), "cardcage"));
}

Result<std::string> PluginService::configure(const std::string& payload) {
  const auto request = parse<api::nri::ConfigureRequest>(payload);
  if (!request) return std::unexpected(request.error());
  if (request->request_timeout() > 0) request_limit_ = bounded_milliseconds(request->request_timeout());
  runtime_ = printable(request->runtime_name(), kMaxRuntimeName) + " " +
             printable(request->runtime_version(), kMaxRuntimeName);
  api::nri::ConfigureResponse response;
  response.set_events(event_bit(api::nri::RUN_POD_SANDBOX) | event_bit(api::nri::STOP_POD_SANDBOX));
  return response.SerializeAsString();
}

Result<std::string> PluginService::synchronize(const std::string& payload) {
  const auto request = parse<api::nri::SynchronizeRequest>(payload);
  if (!request) return std::unexpected(request.error());
  if (told_.size() + static_cast<std::size_t>(request->pods_size()) > kMaxPods)
    return fail(Code::kResourceExhausted, "more than {} pod sandboxes", kMaxPods);
  for (const auto& message : request->pods()) {
    auto pod = read_pod_sandbox(message);
    if (pod && *pod)
      told_.push_back(**std::move(pod));
    else if (!pod)
      log_limited(LogLevel::kWarn, "nri sandbox", "a pod of the container runtime is left out",
                  {{"error", pod.error().message}});
  }
  api::nri::SynchronizeResponse response;
  response.set_more(request->more());
  if (request->more()) return response.SerializeAsString();
  synchronized_ = true;
  environment_.listener.connected(std::exchange(told_, {}));
  return response.SerializeAsString();
}

Status PluginService::begin_event(const RuntimeConnection::Call& call) {
  const auto event = parse<api::nri::StateChangeEvent>(call.payload);
  if (!event) return std::unexpected(event.error());
  const bool starts = event->event() == api::nri::RUN_POD_SANDBOX;
  Result<std::optional<RuntimeSandbox>> pod;
  if (starts || event->event() == api::nri::STOP_POD_SANDBOX) pod = read_pod_sandbox(event->pod());
  if (!pod) return std::unexpected(pod.error());
  if (*pod) return starts ? begin_start(call, **pod) : begin_stop(call, **pod);
  connection_->respond(call.stream, "");
  return {};
}

Status PluginService::begin_start(const RuntimeConnection::Call& call, const RuntimeSandbox& sandbox) {
  const OneShot<Status> done(environment_.core);
  const auto work = [&listener = environment_.listener, sandbox, done]() -> Task<void> {
    Status started = co_await listener.starting(sandbox);
    if (!started) started = within(started.error(), "cardcage");
    done.set(std::move(started));
  };
  if (!environment_.turns.add(sandbox.pod.uid, work))
    return fail(Code::kResourceExhausted, "pod '{}' cannot start: too many calls for pods wait for their devices",
                label(sandbox));
  respond_in_time(call, done,
                  fail(Code::kDeadlineExceeded,
                       "cardcage: the devices of pod '{}' are not ready within the time that the container runtime "
                       "allows; the work continues, and the kubelet tries again",
                       label(sandbox)));
  return {};
}

Status PluginService::begin_stop(const RuntimeConnection::Call& call, const RuntimeSandbox& sandbox) {
  const OneShot<Status> done(environment_.core);
  const auto work = [&listener = environment_.listener, sandbox, done]() -> Task<void> {
    co_await listener.stopping(sandbox);
    done.set({});
  };
  if (!environment_.turns.add(sandbox.pod.uid, work))
    return fail(Code::kResourceExhausted,
                "the stop of pod '{}' is missed: too many calls for pods wait for their devices", label(sandbox));
  respond_in_time(call, done, {});
  return {};
}

void PluginService::respond_in_time(const RuntimeConnection::Call& call, const OneShot<Status>& done, Status late) {
  const Duration limit = std::min(call.limit.value_or(request_limit_), request_limit_);
  const Duration reserve = std::min(kResponseReserve, limit / 4);
  const Instant end = environment_.clock.now() + limit - reserve;
  spawn(environment_.core, respond_at(connection_, call.stream, done, environment_.clock, end, std::move(late)));
}

}  // namespace cardcage
