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

constexpr mode_t kFolderMode = 0750;   // as the kubelet makes it
constexpr seconds kLook{1};            // inotify does not see a new mount over the folder
constexpr seconds kRegisterLimit{15};  // the kubelet takes up to 10 s to dial back
constexpr seconds kStreamLimit{5};     // from the registration to ListAndWatch
constexpr seconds kSteady{10};         // a stream that lived so long was a good one
constexpr milliseconds kFirstPause{100};
constexpr seconds kLongestPause{10};

}  // namespace

struct DirectRegistration::Call {
  std::shared_ptr<const KubeletClients> clients;
  grpc::ClientContext context;
  api::device_plugin::RegisterRequest request;
  api::device_plugin::Empty response;
  std::uint64_t opened_before = 0;
  std::optional<grpc::Status> answer;
};

DirectRegistration::DirectRegistration(Host host, ClientSlot<KubeletClients>& clients, Options options)
    : host_(std::move(host)),
      clients_(clients),
      options_(std::move(options)),
      kubelet_socket_(options_.folder / "kubelet.sock"),
      silence_(host_.clock.now()),
      next_call_(host_.clock.now()),
      backoff_(kFirstPause, kLongestPause, static_cast<std::uint32_t>(std::hash<std::string>()(options_.resource))),
      ended_(host_.core) {
  show(RegistrationState::kWaiting, "");
}

DirectRegistration::~DirectRegistration() = default;

void DirectRegistration::show(RegistrationState state, std::string error) {
  if (view_.state == state && view_.error == error && view_.since.time_since_epoch().count() != 0) return;
  view_ = {state, std::move(error), host_.clock.wall()};
}

void DirectRegistration::retry_later() { next_call_ = host_.clock.now() + backoff_.next(); }

Instant DirectRegistration::look(StreamCount streams) {
  const Instant now = host_.clock.now();
  notice_kubelet();
  notice_answer(streams);
  notice_streams(streams);
  const Status usable = [&] {
    auto opened = open_socket();
    return opened ? check_kubelet() : opened;
  }();
  if (!usable && !open_) show(RegistrationState::kWaiting, usable.error().message);
  if (usable && !call_ && next_call_ && *next_call_ <= now) call_kubelet(streams);
  if (silence_.noticed(view_.state == RegistrationState::kWaiting, now))
    log(LogLevel::kWarn, "cannot register the resource", {{"resource", options_.resource}, {"error", view_.error}});
  Instant next = now + kLook;
  if (next_call_ && usable && !call_) next = std::min(next, *next_call_);
  if (awaited_until_) next = std::min(next, *awaited_until_);
  return next;
}

// A kubelet that was started again knows nothing of us, whatever became of its predecessor's streams.
void DirectRegistration::notice_kubelet() {
  const auto there = socket_identity(kubelet_socket_);
  if (there == kubelet_) return;
  kubelet_ = there;
  if (!there) return;
  if (used_) clients_.replace(used_);
  if (call_) call_->context.TryCancel();
  backoff_.reset();
  awaited_until_.reset();
  must_call_ = true;
  next_call_ = host_.clock.now();
}

void DirectRegistration::notice_answer(StreamCount streams) {
  if (!call_ || !call_->answer) return;
  const auto call = std::exchange(call_, nullptr);
  if (!call->answer->ok()) return note_failure(*call->answer);
  socket_used_ = true;
  show(RegistrationState::kRegistered, "");
  log(LogLevel::kInfo, "registered with the kubelet", {{"resource", options_.resource}});
  if (must_call_) return;
  next_call_.reset();
  if (streams.opened == call->opened_before)
    awaited_until_ = host_.clock.now() + kStreamLimit;
  else if (streams.open == 0)
    retry_later();  // opened and ended meanwhile
}

void DirectRegistration::note_failure(const grpc::Status& status) {
  const std::string words = cut_utf8(status.error_message(), kMaxErrorText);
  switch (status.error_code()) {
    case grpc::StatusCode::CANCELLED: break;  // by us: another kubelet is there
    case grpc::StatusCode::UNAVAILABLE:
      clients_.replace(used_);  // the next attempt is to dial at once
      show(RegistrationState::kWaiting,
           fmt::format("cannot reach the kubelet at '{}': {}", kubelet_socket_.native(), words));
      break;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      clients_.replace(used_);
      show(RegistrationState::kWaiting,
           fmt::format("the kubelet did not answer the registration within {} s: see its log", kRegisterLimit.count()));
      break;
    case grpc::StatusCode::UNIMPLEMENTED:
      show(RegistrationState::kRefused,
           fmt::format("'{}' is served by something that takes no device plugins: is it a kubelet's?",
                       kubelet_socket_.native()));
      break;
    default:
      show(RegistrationState::kRefused,
           words.find("API version") == std::string::npos
               ? words
               : words + ": cardcage speaks v1beta1 of the device-plugin API: serve the devices with api = \"dra\"");
  }
  if (view_.state == RegistrationState::kRefused)
    log_limited(LogLevel::kError, "refused " + options_.resource, "the kubelet refused the resource",
                {{"resource", options_.resource}, {"error", view_.error}});
  else
    log_limited(LogLevel::kDebug, "unanswered " + options_.resource, "cannot register the resource",
                {{"resource", options_.resource}, {"error", view_.error}});
  if (!must_call_) retry_later();
}

void DirectRegistration::notice_streams(StreamCount streams) {
  const Instant now = host_.clock.now();
  if (streams.opened != opened_) {
    opened_ = streams.opened;
    opened_at_ = now;
    open_ = true;
    awaited_until_.reset();
    if (!must_call_) next_call_.reset();
  }
  if (open_ && streams.open == 0) {
    open_ = false;
    show(RegistrationState::kWaiting, "the kubelet has ended the device list");
    if (now - opened_at_ >= kSteady) backoff_.reset();
    if (!awaited_until_ && !must_call_ && !call_) retry_later();
  }
  if (awaited_until_ && *awaited_until_ <= now) {
    awaited_until_.reset();
    show(RegistrationState::kWaiting,
         fmt::format("the kubelet took the registration and did not ask for the devices within {} s",
                     kStreamLimit.count()));
    retry_later();
  }
}

Status DirectRegistration::open_socket() {
  const bool renew = socket_used_ && !call_ && next_call_ && *next_call_ <= host_.clock.now();
  if (socket_ && socket_->present() && !renew) return {};
  socket_.reset();
  auto path = resource_socket(options_.folder, options_.resource, fmt::format("{}-{}", options_.nonce, sockets_));
  if (!path) return std::unexpected(path.error());
  auto opened = open_resource_socket(host_, options_.resource, std::move(*path), kFolderMode);
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
  awaited_until_.reset();
  call_ = std::make_shared<Call>();
  used_ = call_->clients = clients_.current();
  call_->opened_before = streams.opened;
  call_->context.set_deadline(std::chrono::system_clock::now() + kRegisterLimit);
  call_->request.set_version("v1beta1");
  call_->request.set_endpoint(socket_->path().filename().native());
  call_->request.set_resource_name(options_.resource);
  // It ends on a thread of gRPC and goes to the core as a whole: the last channel waits for these threads.
  auto ended = [this, call = call_](const grpc::Status& status) mutable {
    asio::post(host_.core, [this, call = std::move(call), status] {
      call->answer = status;
      if (ending_) return ended_.wake();
      host_.wake();
    });
  };
  Call& call = *call_;
  call.clients->registration->async()->Register(&call.context, &call.request, &call.response, std::move(ended));
}

void DirectRegistration::restart() {
  awaited_until_.reset();
  must_call_ = true;
  // A kubelet up to 1.36 takes the end of the old stream for that of the new registration if it comes later.
  next_call_ = host_.clock.now() + kFirstPause;
}

Task<void> DirectRegistration::end() {
  ending_ = true;
  socket_.reset();
  if (!call_) co_return;
  call_->context.TryCancel();
  while (!call_->answer) co_await ended_.wait();
}

}  // namespace cardcage
