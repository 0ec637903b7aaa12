#include "web/server/permissions.h"

#include <fmt/ranges.h>

#include <array>

#include "host/core/log.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxPermissions = 4000;
// A page waits for the decision.
constexpr Duration kPermissionLimit = std::chrono::seconds(2);

// No part has a line break.
std::string permission_key(const std::string& subject, const ReviewedAction& action) {
  const std::array<std::string_view, 7> parts = {action.verb,       action.group, action.resource, action.subresource,
                                                 action.name_space, action.name,  subject};
  return fmt::format("{}", fmt::join(parts, "\n"));
}

json::object object_of_subject(const std::string& subject) {
  auto parsed = subject.empty() ? Result<json::value>(json::object()) : parse_json(subject, "subject");
  return parsed ? as_object(*parsed) : json::object();
}

}  // namespace

Task<bool> Permissions::may(std::string subject, ReviewedAction action) {
  const std::string key = permission_key(subject, action);
  if (const auto known = decisions_.find(key); known != decisions_.end() && clock_.now() < known->second.until)
    co_return known->second.allowed;
  json::object of_visitor = object_of_subject(subject);
  if (of_visitor.empty() && !subject.empty()) co_return false;
  const auto decided =
      co_await review_access(session_, std::move(of_visitor), std::move(action), clock_.now() + kPermissionLimit);
  if (!decided)
    log_limited(LogLevel::kWarn, "permissions", "cannot check what a visitor may do",
                {{"error", decided.error().message}});
  const bool allowed = decided && *decided;
  const Instant now = clock_.now();
  if (decisions_.size() >= kMaxPermissions)
    std::erase_if(decisions_, [&](const auto& old) { return old.second.until <= now; });
  if (decisions_.size() >= kMaxPermissions) decisions_.clear();
  decisions_[key] = {allowed, now + (allowed ? kAllowedFor : kRefusedFor)};
  co_return allowed;
}

}  // namespace cardcage
