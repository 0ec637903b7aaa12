// Conditions that concern the whole daemon.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/config/live_config.h"
#include "host/model/condition.h"
#include "host/pods/pod_reconciler.h"
#include "host/pods/pods_watch.h"
#include "host/slices/slice_publisher.h"
#include "host/view/state_disk.h"

namespace cardcage {

// Reasons: "applied"; "needs restart"; "refused", also by modules that run with an older configuration or file.
Condition config_condition(const ConfigState& state, const std::vector<std::string>& refused_by);
// Lists the differences between the configuration file and the running configuration, for people.
std::vector<std::string> config_warnings(const ConfigState& state);

// Reasons: "ok", or "rebuilt" after corruption; "failing"; "refusing" further claims.
Condition ledger_condition(bool rebuilt, const std::optional<Error>& refusal, const std::optional<Error>& last_error);
// Reasons: "ok", or "low" while the free space may soon be too small for the ledger.
std::optional<Condition> disk_condition(const std::optional<DiskSpace>& space);
// `claims_folder` is empty with an API server. Publishers use the API server all the time, so they know its state.
Condition api_server_condition(const std::filesystem::path& claims_folder,
                               const std::vector<const PublisherStatus*>& publishers);
// Warns if the node's container runtime may silently start containers without their devices; else empty.
std::string runtime_warning(const std::vector<const PublisherStatus*>& publishers);
// The condition of the kubelet's Pods API, which reports claims before the kubelet asks for them. It is optional.
Condition pods_api_condition(const PodsWatchView& view);
// The condition of the kubelet's PodResources socket, which reports when devices of a resource are free again.
Condition pod_resources_condition(const PodReconcilerStatus& status);

}  // namespace cardcage
