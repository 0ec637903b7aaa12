// The registration of a driver or resource with the kubelet.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "host/core/result.h"
#include "host/kubelet/plugin_registration.h"
#include "host/model/condition.h"

namespace cardcage {

// The sockets of one served name towards the kubelet.
struct ServerFacts {
  std::filesystem::path socket;  // socket that the kubelet calls; empty = none now
  RegistrationView registration;
};

// Without a server: `server_error` gives the reason; `not_yet` is the text before the first attempt.
Condition registration_condition(const std::optional<ServerFacts>& server, const std::optional<Error>& server_error,
                                 std::string not_yet);

}  // namespace cardcage
