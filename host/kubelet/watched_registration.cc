#include "host/kubelet/watched_registration.h"

#include <algorithm>

#include "host/core/log.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

constexpr mode_t kFolderMode = 0755;  // as the kubelet makes it
constexpr seconds kLook{1};
constexpr seconds kPatience{5};  // the kubelet reconciles once a second
// It opens the stream before it tells of the registration. Up to 1.36 the end of an old stream may tear the new one
// down.
constexpr milliseconds kUnwatchedPatience{500};
constexpr seconds kAskedLimit{15};  // it takes up to 10 s to dial after GetInfo
constexpr seconds kSteady{10};      // a stream that lived so long was a good one
constexpr int kMaxDoublings = 4;

}  // namespace

WatchedRegistration::WatchedRegistration(Host host, PluginRegistration& registration, Options options)
    : host_(std::move(host)),
      registration_(registration),
      options_(std::move(options)),
      stage_since_(host_.clock.now()),
      patience_(kPatience),
      after_loss_(milliseconds(100), seconds(10),
                  static_cast<std::uint32_t>(std::hash<std::string>()(options_.resource))),
      silence_(host_.clock.now()) {
  registration_.forget();
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

// How long the kubelet has from here before the socket is made anew.
Duration WatchedRegistration::patience() {
  switch (stage_) {
    case Stage::kWatched: return Duration::max();
    // A kubelet that was started again comes by itself.
    case Stage::kLost:
      return socket_identity(options_.kubelet_socket) == kubelet_ ? after_loss_.next() : Duration(kPatience);
    case Stage::kAsked: return kAskedLimit;
    case Stage::kWaiting:
    case Stage::kRefused:
    case Stage::kUnwatched: break;
  }
  const Duration first = stage_ == Stage::kUnwatched ? Duration(kUnwatchedPatience) : Duration(kPatience);
  return first * (1 << std::min(offers_, kMaxDoublings));
}

Instant WatchedRegistration::look(StreamCount streams) {
  const Instant now = host_.clock.now();
  const bool made = !socket_ || !socket_->present();
  if (made) {
    registration_.forget();
    opened_before_ = streams.opened;
    socket_.reset();
    auto opened = open_resource_socket(host_, options_.resource, options_.socket, kFolderMode);
    error_ = opened ? "" : opened.error().message;
    if (opened) socket_ = std::move(*opened);
  }
  // Also of a stream that is gone before the first look at it.
  if (streams.opened != std::exchange(opened_seen_, streams.opened)) {
    kubelet_ = socket_identity(options_.kubelet_socket);
    kubelet_lives_ = true;
    offers_ = 0;
  }
  if (const Stage there = stage(streams); made || there != stage_) {
    if (there == Stage::kLost && now - stage_since_ >= kSteady) after_loss_.reset();
    stage_ = there;
    stage_since_ = now;
    patience_ = patience();
  }
  if (silence_.noticed(stage_ == Stage::kWaiting, now))
    log(LogLevel::kWarn, "no kubelet has asked for the resource: is node.kubelet_root the kubelet's --root-dir?",
        {{"resource", options_.resource}, {"socket", options_.socket.native()}});
  if (stage_ == Stage::kWatched) return now + kLook;
  // Its time counts from when it is there to use it, and one that has just come looks by itself.
  const bool lives = is_served(options_.kubelet_socket);
  if (!std::exchange(kubelet_lives_, lives) || !lives) {
    stage_since_ = now;
    patience_ = std::max<Duration>(patience_, kPatience);
    return now + kLook;
  }
  if (now - stage_since_ >= patience_) {
    ++offers_;
    socket_.reset();
    return now;
  }
  return std::min(now + kLook, stage_since_ + patience_);
}

Task<void> WatchedRegistration::end() {
  socket_.reset();
  co_return;
}

}  // namespace cardcage
