// Lets a kubelet that finds our socket learn of a driver or resource: pluginregistration.Registration.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "host/core/clock.h"
#include "host/kubelet/protocol.h"

namespace cardcage {

enum class RegistrationState : std::uint8_t {
  kWaiting,     // no kubelet has asked yet
  kAsked,       // GetInfo has been called
  kRegistered,  // the kubelet accepted
  kRefused,     // the kubelet refused: see error
};
std::string_view to_string(RegistrationState state);

// The state of a registration for operators.
struct RegistrationView {
  RegistrationState state = RegistrationState::kWaiting;
  std::string error;  // as the kubelet worded it
  std::chrono::system_clock::time_point since;
};

// The daemon is the server: the kubelet finds the socket, calls GetInfo, picks the first version of our list that it
// knows, and reports the outcome.
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
  // Forgets the kubelet's report, because the socket is recreated.
  void reset();

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
