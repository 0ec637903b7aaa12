#include "host/kubelet/direct_registration.h"

#include <algorithm>
#include <functional>

#include "host/core/log.h"
#include "host/core/utf8.h"
#include "host/kubelet/socket_dir.h"
#include "host/rpc/unary_call.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

constexpr mode_t kDevicePluginsMode = 0750;  // as the kubelet makes it
constexpr seconds kRegisterLimit{15};        // the kubelet takes up to 10 s to dial back
constexpr seconds kStreamLimit{5};           // from the registration to ListAndWatch
constexpr milliseconds kFirstPause{100};
constexpr seconds kLongestPause{10};

}  // namespace

struct DirectRegistration::Call {
  std::shared_ptr<const KubeletClients> clients;
  grpc::ClientContext context;
  api::device_plugin::RegisterRequest request;
  api::device_plugin::Empty response;
  std::uint64_t opened_before = 0;
  std::optional<grpc::Status> result;
};

DirectRegistration::DirectRegistration(Host host, ClientSlot<KubeletClients>& clients, Options options)
    : host_(std::move(host)),
      clients_(clients),
      options_(std::move(options)),
      kubelet_socket_(options_.folder / "kubelet.sock"),
      silence_(host_.clock.now()),
      next_call_(host_.clock.now()),
      backoff_(kFirstPause, kLongestPause, options_.resource),
      ended_(host_.core) {
  set_view(RegistrationState::kWaiting, "");
}

DirectRegistration::~DirectRegistration() = default;

void DirectRegistration::set_view(RegistrationState state, std::string error) {
  if (view_.state == state && view_.error == error && view_.since.time_since_epoch().count() != 0) return;
  view_ = {state, std::move(error), host_.clock.wall()};
}

void DirectRegistration::call_after_pause() { next_call_ = host_.clock.now() + backoff_.next(); }

Instant DirectRegistration::maintain(StreamCount streams) {
  const Instant now = host_.clock.now();
  check_for_new_kubelet();
  take_response(streams);
  follow_streams(streams);
  const Status usable = [&] {
    auto opened = open_socket();
    return opened ? check_kubelet() : opened;
  }();
  if (!usable && !stream_open_) set_view(RegistrationState::kWaiting, usable.error().message);
  if (usable && !call_ && next_call_ && *next_call_ <= now) call_kubelet(streams);
  if (silence_.noticed(view_.state == RegistrationState::kWaiting, now))
    log(LogLevel::kWarn, "cannot register the resource", {{"resource", options_.resource}, {"error", view_.error}});
  Instant next = now + kSocketCheckInterval;
  if (next_call_ && usable && !call_) next = std::min(next, *next_call_);
  if (stream_deadline_) next = std::min(next, *stream_deadline_);
  return next;
}

// A restarted kubelet does not know this daemon, even if streams of its predecessor are still open.
void DirectRegistration::check_for_new_kubelet() {
  const auto there = socket_identity(kubelet_socket_);
  if (there == kubelet_) return;
  kubelet_ = there;
  if (!there) return;
  if (used_) clients_.replace(used_);
  if (call_) call_->context.TryCancel();
  backoff_.reset();
  stream_deadline_.reset();
  must_call_ = true;
  next_call_ = host_.clock.now();
}

void DirectRegistration::take_response(StreamCount streams) {
  if (!call_ || !call_->result) return;
  const auto call = std::exchange(call_, nullptr);
  if (!call->result->ok()) return record_failure(*call->result);
  socket_used_ = true;
  set_view(RegistrationState::kRegistered, "");
  log(LogLevel::kInfo, "registered with the kubelet", {{"resource", options_.resource}});
  if (must_call_) return;
  next_call_.reset();
  if (streams.opened == call->opened_before)
    stream_deadline_ = host_.clock.now() + kStreamLimit;
  else if (streams.open == 0)
    call_after_pause();  // opened and ended meanwhile
}

void DirectRegistration::record_failure(const grpc::Status& status) {
  const std::string words = cut_utf8(status.error_message(), kMaxErrorText);
  switch (status.error_code()) {
    case grpc::StatusCode::CANCELLED: break;  // cancelled by this object, because there is another kubelet
    case grpc::StatusCode::UNAVAILABLE:
      clients_.replace(used_);  // so that the next attempt dials at once
      set_view(RegistrationState::kWaiting,
               fmt::format("cannot reach the kubelet at '{}': {}", kubelet_socket_.native(), words));
      break;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      clients_.replace(used_);
      set_view(RegistrationState::kWaiting,
               fmt::format("the kubelet did not respond to the registration within {} s: see its log",
                           kRegisterLimit.count()));
      break;
    case grpc::StatusCode::UNIMPLEMENTED:
      set_view(RegistrationState::kRefused,
               fmt::format("'{}' is served by a program that accepts no device plugins: is it a kubelet's?",
                           kubelet_socket_.native()));
      break;
    default:
      set_view(
          RegistrationState::kRefused,
          words.find("API version") == std::string::npos
              ? words
              : words + ": cardcage speaks v1beta1 of the device-plugin API: serve the devices with api = \"dra\"");
  }
  if (view_.state == RegistrationState::kRefused)
    log_limited(LogLevel::kError, "refused " + options_.resource, "the kubelet refused the resource",
                {{"resource", options_.resource}, {"error", view_.error}});
  else
    log_limited(LogLevel::kDebug, "unregistered " + options_.resource, "cannot register the resource",
                {{"resource", options_.resource}, {"error", view_.error}});
  if (!must_call_) call_after_pause();
}

void DirectRegistration::follow_streams(StreamCount streams) {
  const Instant now = host_.clock.now();
  if (streams.opened != streams_opened_) {
    streams_opened_ = streams.opened;
    stream_opened_at_ = now;
    stream_open_ = true;
    stream_deadline_.reset();
    if (!must_call_) next_call_.reset();
  }
  if (stream_open_ && streams.open == 0) {
    stream_open_ = false;
    set_view(RegistrationState::kWaiting, "the kubelet has ended the device list");
    if (now - stream_opened_at_ >= kSteadyStream) backoff_.reset();
    if (!stream_deadline_ && !must_call_ && !call_) call_after_pause();
  }
  if (stream_deadline_ && *stream_deadline_ <= now) {
    stream_deadline_.reset();
    set_view(RegistrationState::kWaiting,
             fmt::format("the kubelet accepted the registration but did not ask for the devices within {} s",
                         kStreamLimit.count()));
    call_after_pause();
  }
}

Status DirectRegistration::open_socket() {
  const bool renew = socket_used_ && !call_ && next_call_ && *next_call_ <= host_.clock.now();
  if (socket_ && socket_->present() && !renew) return {};
  socket_.reset();
  auto path = resource_socket(options_.folder, options_.resource, fmt::format("{}-{}", options_.nonce, sockets_));
  if (!path) return std::unexpected(path.error());
  auto opened = open_resource_socket(host_, options_.resource, std::move(*path), kDevicePluginsMode);
  if (!opened) return std::unexpected(opened.error());
  ++sockets_;
  socket_ = std::move(*opened);
  socket_used_ = false;
  return {};
}

Status DirectRegistration::check_kubelet() const {
  if (!kubelet_)
    return fail(
        Code::kUnavailable,
        "no kubelet is there: '{}' is missing; node.device_plugins_dir does not follow the kubelet's --root-dir",
        kubelet_socket_.native());
  if (!kubelet_->is_socket)
    return fail(Code::kFailedPrecondition, "'{}' is not a socket: is node.device_plugins_dir the kubelet's folder?",
                kubelet_socket_.native());
  return {};
}

void DirectRegistration::call_kubelet(StreamCount streams) {
  must_call_ = false;
  next_call_.reset();
  stream_deadline_.reset();
  call_ = std::make_shared<Call>();
  used_ = call_->clients = clients_.current();
  call_->opened_before = streams.opened;
  call_->context.set_deadline(host_.clock.wall() + kRegisterLimit);
  call_->request.set_version("v1beta1");
  call_->request.set_endpoint(socket_->path().filename().native());
  call_->request.set_resource_name(options_.resource);
  // The call ends on a thread of gRPC and is handed to the core with all that it owns: a channel that is destroyed on
  // that thread would wait for the thread itself.
  auto ended = [this, call = call_](const grpc::Status& status) mutable {
    asio::post(host_.core, [this, call = std::move(call), status] {
      call->result = status;
      if (ending_) return ended_.wake();
      host_.wake();
    });
  };
  Call& call = *call_;
  call.clients->registration->async()->Register(&call.context, &call.request, &call.response, std::move(ended));
}

void DirectRegistration::restart() {
  stream_deadline_.reset();
  must_call_ = true;
  // Up to Kubernetes 1.36 an end of the old stream that comes later would end the new registration.
  next_call_ = host_.clock.now() + kFirstPause;
}

Task<void> DirectRegistration::end() {
  ending_ = true;
  socket_.reset();
  if (!call_) co_return;
  call_->context.TryCancel();
  while (!call_->result) co_await ended_.wait();
}

}  // namespace cardcage
