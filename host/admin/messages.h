// Converts reports to messages of the admin API, and requests to queries.
#pragma once

#include "cardcage/admin.pb.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// Values of secret options are left out.
void fill(admin::v1::GetStatusResponse& message, const StatusReport& report);
void fill(admin::v1::ListModulesResponse& message, const std::vector<ModuleReport>& reports);
void fill(admin::v1::ListDevicesResponse& message, const std::vector<DeviceReport>& reports);
void fill(admin::v1::ListClaimsResponse& message, const std::vector<ClaimReport>& reports);
void fill(admin::v1::ForgetClaimResponse& message, const ForgetReport& report);
void fill(admin::v1::ListHistoryResponse& message, const std::vector<HistoryEntry>& entries);
void fill(admin::v1::ListCatalogueResponse& message, const std::vector<CatalogueReport>& reports);
void fill(admin::v1::ReloadResponse& message, const ReloadReport& report);
void fill(admin::v1::ModuleCommandResponse& message, const Condition& state);
void fill(admin::v1::ListHealthRulesResponse& message, const std::vector<HealthRulesReport>& reports);
void fill(admin::v1::ListHealthEventsResponse& message, const std::vector<HealthEvent>& events);
void fill(admin::v1::DeviceCommandResponse& message, const std::string& done);

ModuleCommand module_command(ModuleVerb verb, const admin::v1::ModuleCommandRequest& request);
HistoryQuery history_query(const admin::v1::ListHistoryRequest& request);
// Names and reasons become one line.
DeviceCommand device_command(DeviceVerb verb, const admin::v1::DeviceCommandRequest& request);
HealthQuery health_query(const admin::v1::ListHealthEventsRequest& request);

}  // namespace cardcage
