#include "host/hook/hook_request.h"

#include <algorithm>
#include <array>

namespace cardcage {

std::string to_message(const HookRequest& request) {
  std::string message;
  for (const std::string* line :
       {&request.driver, &request.claim_uid, &request.pod_namespace, &request.pod, &request.pod_uid})
    message += *line + "\n";
  return message;
}

std::optional<HookRequest> hook_request_from(std::string_view message) {
  HookRequest request;
  for (std::string* line :
       {&request.driver, &request.claim_uid, &request.pod_namespace, &request.pod, &request.pod_uid}) {
    const auto end = message.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    *line = message.substr(0, end);
    message.remove_prefix(end + 1);
  }
  if (!message.empty() || request.driver.empty() || request.claim_uid.empty()) return std::nullopt;
  return request;
}

}  // namespace cardcage
