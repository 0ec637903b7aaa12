// Makes a resource known to the kubelet.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "host/config/config.h"
#include "host/core/clock.h"
#include "host/core/unique_fd.h"
#include "host/kubelet/plugin_registration.h"
#include "host/rpc/socket_listener.h"

namespace cardcage {

constexpr std::chrono::seconds kSocketCheckInterval{1};  // inotify does not see a new mount over a folder
constexpr std::chrono::seconds kSteadyStream{10};        // a stream that lasts this long has not failed

// The ListAndWatch streams of a resource: the kubelet's side of a registration.
struct StreamCount {
  std::uint64_t opened = 0;  // since the start of the server
  std::size_t open = 0;      // now
};

// [core] One of two ways to register. It compares the actual state with the wanted one whenever maintain() is called,
// so that no event has to be seen.
class Registration {
 public:
  // The registration's access to the server around it.
  struct Host {
    asio::io_context& core;
    Clock& clock;
    std::function<void(UniqueFd)> adopt;  // serves a connection
    std::function<void()> wake;           // requests another maintain()
  };
  virtual ~Registration() = default;

  // Takes due steps; returns the time of the next call if nothing happens before.
  virtual Instant maintain(StreamCount streams) = 0;
  // Makes the kubelet learn of the resource again although nothing is wrong. The caller has ended the streams.
  virtual void restart() = 0;
  // Removes the socket and returns when no call to the kubelet is open.
  virtual Task<void> end() = 0;

  virtual RegistrationWay way() const = 0;
  virtual RegistrationView view() const = 0;
  virtual std::filesystem::path socket() const = 0;  // empty = none
};

// Opens the socket on which the kubelet calls a resource; logs an obstacle.
Result<std::unique_ptr<SocketListener>> open_resource_socket(const Registration::Host& host,
                                                             const std::string& resource, std::filesystem::path path,
                                                             mode_t folder_mode);

// Reports once that the kubelet has been silent for long.
class LongSilence {
 public:
  explicit LongSilence(Instant now) : since_(now) {}
  // True the first time that the silence has lasted long.
  bool noticed(bool silent, Instant now);

 private:
  Instant since_;
  bool noticed_ = false;
};

}  // namespace cardcage
