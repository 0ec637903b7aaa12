// Lets the kubelet find a resource by a socket in <kubelet_root>/plugins_registry.
#pragma once

#include <optional>
#include <string>

#include "host/core/backoff.h"
#include "host/kubelet/registration.h"
#include "host/rpc/unix_socket.h"

namespace cardcage {

// The kubelet walks the folder when it starts and watches it from then on (pluginmanager/pluginwatcher). For device
// plugins it does not watch the connection: when ListAndWatch ends while the file stays, only a new file brings the
// kubelet back. A new file also helps after a refusal or silence, where the kubelet's own retries have had gaps
// (k/k#127457, k/k#133725).
class WatchedRegistration final : public Registration {
 public:
  struct Options {
    std::string resource;
    std::filesystem::path socket;          // in the registry
    std::filesystem::path kubelet_socket;  // accepts connections while a kubelet runs
  };
  // `registration` is served on the connections that the host adopts, wakes the host, and outlives this object.
  WatchedRegistration(Host host, PluginRegistration& registration, Options options);

  Instant maintain(StreamCount streams) override;
  void restart() override { socket_.reset(); }
  Task<void> end() override;
  RegistrationWay way() const override { return RegistrationWay::kRegistry; }
  RegistrationView view() const override;
  std::filesystem::path socket() const override { return socket_ ? socket_->path() : std::filesystem::path(); }

 private:
  // The progress of the registration. Every stage but the first has a limit, after which the socket is recreated.
  enum class Stage : std::uint8_t { kWatched, kWaiting, kAsked, kRefused, kUnwatched, kLost };
  Stage stage(StreamCount streams) const;
  Duration stage_limit();

  const Host host_;
  PluginRegistration& registration_;
  const Options options_;
  std::unique_ptr<SocketListener> socket_;
  std::string error_;                      // why the socket could not be opened
  std::uint64_t opened_before_ = 0;        // streams opened before the socket was made
  std::uint64_t opened_seen_ = 0;          // streams opened before the last maintain()
  std::optional<SocketIdentity> kubelet_;  // when a stream was last opened
  bool kubelet_lives_ = false;             // at the last maintain()
  Stage stage_ = Stage::kWaiting;
  Instant stage_since_{};
  Duration stage_limit_{};
  int offers_ = 0;  // unsuccessful ones since the last stream
  Backoff after_loss_;
  LongSilence silence_;
};

}  // namespace cardcage
