// The API server's decisions about users: TokenReview, SubjectAccessReview and SelfSubjectAccessReview.
#pragma once

#include <string>

#include "host/apiserver/api_session.h"
#include "host/apiserver/json_view.h"

namespace cardcage {

// How long a decision counts.
inline constexpr Duration kAllowedFor = std::chrono::seconds(60), kRefusedFor = std::chrono::seconds(10);

// An action in the words of RBAC. Empty texts are left out: without a name, all objects.
struct ReviewedAction {
  std::string verb;
  std::string group, resource, subresource = {};
  std::string name_space = {}, name = {};
};

// Returns the status of a review. Nothing is stored, so the call may be repeated.
Task<Result<json::object>> create_review(ApiSession& session, std::string path, std::string kind, json::object spec,
                                         Instant deadline);

// Tells whether the subject, as SubjectAccessReview takes it, may do this. An empty subject stands for the user of the
// session.
Task<Result<bool>> review_access(ApiSession& session, json::object subject, ReviewedAction action, Instant deadline);

}  // namespace cardcage
