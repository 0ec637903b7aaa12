// Admits users of the cluster by their tokens.
#pragma once

#include <map>
#include <string>

#include "web/server/access.h"
#include "web/server/reviews.h"

namespace cardcage {

// A token comes as "Authorization: Bearer", as X-Cardcage-Token where a proxy keeps that header for itself, or from the
// page for signing in: POST /session with the token in X-Cardcage-Token begins a session with a cookie, and
// POST /sign-out ends it. Anyone may GET /healthz. The token stays here; the cookie is a random text. A session
// lasts an hour at most.
class TokenAccess final : public Access {
 public:
  // `name` becomes part of the name of the cookie, because browsers send it to all ports of a host. The clock and the
  // reviews outlive this object.
  TokenAccess(Clock& clock, Reviews& reviews, std::string_view name);

  Task<std::expected<Visitor, WebResponse>> admit(WebRequest request) override;

 private:
  struct SignedIn {
    std::string token;
    Instant until;
  };

  WebResponse begin_session(std::string token);
  WebResponse end_session(const WebRequest& request);
  // Returns null for a session that does not exist or is over.
  const SignedIn* session_of(const WebRequest& request);
  WebResponse refusal(const WebRequest& request, const Error& error) const;
  std::string cookie(std::string_view value, std::chrono::seconds lifetime) const;

  Clock& clock_;
  Reviews& reviews_;
  const std::string cookie_name_;
  std::map<std::string, SignedIn> sessions_;  // by the hash of the cookie
};

}  // namespace cardcage
