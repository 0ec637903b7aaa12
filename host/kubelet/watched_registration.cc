#include "host/kubelet/watched_registration.h"

#include <algorithm>

#include "host/core/log.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

constexpr mode_t kPluginFolderMode = 0755;  // as the kubelet makes it
constexpr seconds kOfferLimit{5};           // the kubelet reconciles once a second
// The kubelet opens the stream before it reports the registration, so a missing stream was torn down: up to 1.36 the
// late end of an old stream does that.
constexpr milliseconds kUnwatchedLimit{500};
constexpr seconds kAskedLimit{15};  // the kubelet takes up to 10 s to dial after GetInfo
constexpr int kMaxDoublings = 4;

}  // namespace

WatchedRegistration::WatchedRegistration(Host host, PluginRegistration& registration, Options options)
    : host_(std::move(host)),
      registration_(registration),
      options_(std::move(options)),
      stage_since_(host_.clock.now()),
      stage_limit_(kOfferLimit),
      after_loss_(milliseconds(100), seconds(10), options_.resource),
      silence_(host_.clock.now()) {
  registration_.reset();
}

RegistrationView WatchedRegistration::view() const {
  auto view = registration_.view();
  if (!error_.empty()) view.error = error_;
  return view;
}

WatchedRegistration::Stage WatchedRegistration::stage(StreamCount streams) const {
  if (streams.open > 0) return Stage::kWatched;
  switch (registration_.view().state) {
    case RegistrationState::kWaiting: break;
    case RegistrationState::kAsked: return Stage::kAsked;
    case RegistrationState::kRefused: return Stage::kRefused;
    case RegistrationState::kRegistered: return streams.opened == opened_before_ ? Stage::kUnwatched : Stage::kLost;
  }
  return Stage::kWaiting;
}

// The time that the kubelet may stay in the stage before the socket is recreated.
Duration WatchedRegistration::stage_limit() {
  switch (stage_) {
    case Stage::kWatched: return Duration::max();
    // A kubelet that has restarted reads the folder by itself.
    case Stage::kLost:
      return socket_identity(options_.kubelet_socket) == kubelet_ ? after_loss_.next() : Duration(kOfferLimit);
    case Stage::kAsked: return kAskedLimit;
    case Stage::kWaiting:
    case Stage::kRefused:
    case Stage::kUnwatched: break;
  }
  const Duration first = stage_ == Stage::kUnwatched ? Duration(kUnwatchedLimit) : Duration(kOfferLimit);
  return first * (1 << std::min(offers_, kMaxDoublings));
}

Instant WatchedRegistration::maintain(StreamCount streams) {
  const Instant now = host_.clock.now();
  const bool made = !socket_ || !socket_->present();
  if (made) {
    registration_.reset();
    opened_before_ = streams.opened;
    socket_.reset();
    auto opened = open_resource_socket(host_, options_.resource, options_.socket, kPluginFolderMode);
    error_ = opened ? "" : opened.error().message;
    if (opened) socket_ = std::move(*opened);
  }
  // This counts a stream that has ended before this call, too.
  if (streams.opened != std::exchange(opened_seen_, streams.opened)) {
    kubelet_ = socket_identity(options_.kubelet_socket);
    kubelet_lives_ = true;
    offers_ = 0;
  }
  if (const Stage current = stage(streams); made || current != stage_) {
    if (current == Stage::kLost && now - stage_since_ >= kSteadyStream) after_loss_.reset();
    stage_ = current;
    stage_since_ = now;
    stage_limit_ = stage_limit();
  }
  if (silence_.noticed(stage_ == Stage::kWaiting, now))
    log(LogLevel::kWarn, "no kubelet has asked for the resource: is node.kubelet_root the kubelet's --root-dir?",
        {{"resource", options_.resource}, {"socket", options_.socket.native()}});
  if (stage_ == Stage::kWatched) return now + kSocketCheckInterval;
  // The limit counts only while a kubelet runs, and one that has just started reads the folder by itself.
  const bool lives = is_served(options_.kubelet_socket);
  if (!std::exchange(kubelet_lives_, lives) || !lives) {
    stage_since_ = now;
    stage_limit_ = std::max<Duration>(stage_limit_, kOfferLimit);
    return now + kSocketCheckInterval;
  }
  if (now - stage_since_ >= stage_limit_) {
    ++offers_;
    socket_.reset();
    return now;
  }
  return std::min(now + kSocketCheckInterval, stage_since_ + stage_limit_);
}

Task<void> WatchedRegistration::end() {
  socket_.reset();
  co_return;
}

}  // namespace cardcage
