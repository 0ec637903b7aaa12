// Letting the kubelet find a resource by a socket in <kubelet_root>/plugins_registry.
#pragma once

#include <optional>
#include <string>

#include "host/core/backoff.h"
#include "host/kubelet/registration.h"
#include "host/rpc/unix_socket.h"

namespace cardcage {

// The kubelet walks the folder at its start and watches it afterwards (pluginmanager/pluginwatcher). For device plugins
// it does not watch the connection: when ListAndWatch ends while the file stays, only a new file brings it back. So
// does one after a refusal or silence, where its own retries have had gaps (k/k#127457, #133725).
class WatchedRegistration final : public Registration {
 public:
  struct Options {
    std::string resource;
    std::filesystem::path socket;          // in the registry
    std::filesystem::path kubelet_socket;  // where a living kubelet accepts connections
  };
  // `registration` is served on the connections that the host adopts and tells it to look; it outlives the way.
  WatchedRegistration(Host host, PluginRegistration& registration, Options options);

  Instant look(StreamCount streams) override;
  void restart() override { socket_.reset(); }
  Task<void> end() override;
  RegistrationWay way() const override { return RegistrationWay::kRegistry; }
  RegistrationView view() const override;
  std::filesystem::path socket() const override { return socket_ ? socket_->path() : std::filesystem::path(); }

 private:
  // Where the registration stands; each but the first has its patience.
  enum class Stage : std::uint8_t { kWatched, kWaiting, kAsked, kRefused, kUnwatched, kLost };
  Stage stage(StreamCount streams) const;
  Duration patience();

  const Host host_;
  PluginRegistration& registration_;
  const Options options_;
  std::unique_ptr<SocketListener> socket_;
  std::string error_;                      // of opening it
  std::uint64_t opened_before_ = 0;        // streams, when the socket was made
  std::uint64_t opened_seen_ = 0;          // streams, at the last look
  std::optional<SocketIdentity> kubelet_;  // when a stream was last opened
  bool kubelet_lives_ = false;             // at the last look
  Stage stage_ = Stage::kWaiting;
  Instant stage_since_{};
  Duration patience_{};
  int offers_ = 0;  // in vain, one after the other
  Backoff after_loss_;
  Silence silence_;
};

}  // namespace cardcage
