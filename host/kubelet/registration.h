// How a resource is made known to the kubelet.
#pragma once

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

// What the ListAndWatch streams of the resource are doing: the kubelet's side of a registration.
struct StreamCount {
  std::uint64_t opened = 0;  // so far
  std::size_t open = 0;
};

// [core] One of the two ways. It compares what is with what should be and does what is due, as often as it is asked:
// nothing depends on having seen every event.
class Registration {
 public:
  // What a way needs of the server around it.
  struct Host {
    asio::io_context& core;
    Clock& clock;
    std::function<void(UniqueFd)> adopt;  // serves a connection
    std::function<void()> wake;           // asks for another look
  };
  virtual ~Registration() = default;

  // Returns when to look again if nothing happens before.
  virtual Instant look(StreamCount streams) = 0;
  // The kubelet is to learn of the resource anew, although nothing is wrong. The streams were ended.
  virtual void restart() = 0;
  // Takes the socket away and returns when nothing is on its way to the kubelet.
  virtual Task<void> end() = 0;

  virtual RegistrationWay way() const = 0;
  virtual RegistrationView view() const = 0;
  virtual std::filesystem::path socket() const = 0;  // empty = none
};

// A socket for the kubelet to call a resource on; what is in the way is logged.
Result<std::unique_ptr<SocketListener>> open_resource_socket(const Registration::Host& host,
                                                             const std::string& resource, std::filesystem::path path,
                                                             mode_t folder_mode);

// Notices once that nothing has been heard of the kubelet for long.
class Silence {
 public:
  explicit Silence(Instant now) : since_(now) {}
  // True the first time that it has lasted long.
  bool noticed(bool silent, Instant now);

 private:
  Instant since_;
  bool noticed_ = false;
};

}  // namespace cardcage
