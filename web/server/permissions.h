// Checks what visitors of a page may do in the cluster.
#pragma once

#include <map>
#include <string>

#include "web/server/review_call.h"

namespace cardcage {

// [core] Decisions count for a minute, refusals for ten seconds. Outlives its tasks.
class Permissions {
 public:
  // The session outlives this object.
  Permissions(Clock& clock, ApiSession& session) : clock_(clock), session_(session) {}

  // `subject` is that of the visitor. Returns false also if the API server does not decide.
  Task<bool> may(std::string subject, ReviewedAction action);

 private:
  struct Decision {
    bool allowed = false;
    Instant until;
  };

  Clock& clock_;
  ApiSession& session_;
  std::map<std::string, Decision> decisions_;  // by subject and action
};

}  // namespace cardcage
