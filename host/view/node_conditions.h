// The conditions of what the whole daemon depends on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/config/live_config.h"
#include "host/model/condition.h"
#include "host/pods/pod_reconciler.h"
#include "host/slices/slice_publisher.h"

namespace cardcage {

// "applied"; "needs restart"; "refused", also by modules that run with an older configuration or file.
Condition config_condition(const ConfigState& state, const std::vector<std::string>& refused_by);
// What differs between the configuration file and the running configuration, for people.
std::vector<std::string> config_warnings(const ConfigState& state);

// "ok", or "rebuilt" after corruption; "failing"; "refusing" further claims
Condition ledger_condition(bool rebuilt, const std::optional<Error>& refusal, const std::optional<Error>& last_error);
// `claims_folder` is empty when there is an API server. Publishers talk to it all the time, so they know how it fares.
Condition api_server_condition(const std::filesystem::path& claims_folder,
                               const std::vector<const PublisherStatus*>& publishers);
// A warning if the node's container runtime may start containers without their devices and say nothing; else empty.
std::string runtime_warning(const std::vector<const PublisherStatus*>& publishers);
// The kubelet's PodResources socket, which tells when devices of a resource are free again.
Condition pod_resources_condition(const PodReconcilerStatus& status);

}  // namespace cardcage
