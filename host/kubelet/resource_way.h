// How a resource is made known to the kubelet.
#pragma once

#include <filesystem>
#include <functional>

#include "host/config/config.h"
#include "host/core/clock.h"
#include "host/core/unique_fd.h"
#include "host/kubelet/registration.h"

namespace cardcage {

// What the ListAndWatch streams of the resource are doing: the kubelet's side of a registration.
struct StreamCount {
  std::uint64_t opened = 0;  // so far
  std::size_t open = 0;
};

// [core] One of the two ways. It compares what is with what should be and does what is due, as often as it is asked:
// nothing depends on having seen every event.
class ResourceWay {
 public:
  // What a way needs of the server around it.
  struct Host {
    asio::io_context& core;
    Clock& clock;
    std::function<void(UniqueFd)> adopt;  // serves a connection
    std::function<void()> wake;           // asks for another look
  };
  virtual ~ResourceWay() = default;

  // Returns when to look again if nothing happens before.
  virtual Instant look(StreamCount streams) = 0;
  // The kubelet is to learn of the resource anew, although nothing is wrong. The streams were ended.
  virtual void again() = 0;
  // Takes the socket away and returns when nothing is on its way to the kubelet.
  virtual Task<void> end() = 0;

  virtual RegistrationWay way() const = 0;
  virtual RegistrationView view() const = 0;
  virtual std::filesystem::path socket() const = 0;  // empty = none
};

}  // namespace cardcage
