// How a kubelet learns of a driver or a resource by finding its socket: pluginregistration.Registration.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "host/core/clock.h"
#include "host/kubelet/protocol.h"

namespace cardcage {

enum class RegistrationState : std::uint8_t {
  kWaiting,     // no kubelet has asked yet
  kAsked,       // GetInfo was answered
  kRegistered,  // the kubelet said yes
  kRefused,     // the kubelet said no: see error
};
std::string_view to_string(RegistrationState state);

// What operators see of it.
struct RegistrationView {
  RegistrationState state = RegistrationState::kWaiting;
  std::string error;  // the kubelet's words
  std::chrono::system_clock::time_point since;
};

// We are the server here: the kubelet finds the socket, asks, and tells how it went. It picks the first version of our
// list that it knows.
class PluginRegistration {
 public:
  // `changed` is called on the core after the view has changed.
  PluginRegistration(asio::io_context& core, Clock& clock, api::registration::PluginInfo info,
                     std::function<void()> changed);
  ~PluginRegistration();
  PluginRegistration(const PluginRegistration&) = delete;
  PluginRegistration& operator=(const PluginRegistration&) = delete;

  grpc::Service* service();
  // [core]
  const RegistrationView& view() const { return view_; }
  // As if no kubelet had asked: its socket was made anew.
  void forget();

 private:
  class Service;
  void record(RegistrationState state, std::string error);

  asio::io_context& core_;
  Clock& clock_;
  const std::string kind_, name_;  // for the log: "driver" or "resource"
  const std::function<void()> changed_;
  const std::unique_ptr<Service> service_;
  RegistrationView view_;
};

}  // namespace cardcage
