#include "host/view/registration_condition.h"

namespace cardcage {
namespace {

Level level_of(RegistrationState state) {
  switch (state) {
    case RegistrationState::kRegistered: return Level::kGood;
    case RegistrationState::kRefused: return Level::kBad;
    case RegistrationState::kWaiting:
    case RegistrationState::kAsked: break;
  }
  return Level::kInProgress;
}

constexpr const char* kUnconfirmed =
    "its socket was asked for its name, but no kubelet has confirmed; is kubelet_root right?";

}  // namespace

Condition registration_condition(const std::optional<ServerFacts>& server, const std::optional<Error>& server_error,
                                 std::string not_yet) {
  if (server) {
    const RegistrationView& view = server->registration;
    return {level_of(view.state), std::string(to_string(view.state)),
            view.state == RegistrationState::kAsked ? kUnconfirmed : view.error};
  }
  if (server_error) return {Level::kBad, "waiting", server_error->message};
  return {Level::kInProgress, "waiting", std::move(not_yet)};
}

}  // namespace cardcage
