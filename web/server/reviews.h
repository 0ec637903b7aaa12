// Asks the API server to whom a token belongs, and what that user may do.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "host/apiserver/api_session.h"
#include "web/server/exchange.h"

namespace cardcage {

// The resource that rules of RBAC name. Reading the pages needs the verb "get", a command needs "update".
struct ReviewedResource {
  std::string group = "cardcage.dev";
  std::string resource;  // "nodes"
  std::string name;      // empty = all of them

  std::string text() const;  // "nodes.cardcage.dev 'n1'"
};

// [core] TokenReview, then SubjectAccessReview. Decisions count for a minute, refusals for ten seconds. Outlives its
// tasks.
class Reviews {
 public:
  // `commands`: whether any visitor may give commands.
  Reviews(asio::io_context& core, Clock& clock, Credentials credentials, ReviewedResource resource, bool commands,
          ApiPace pace = {.request_timeout = std::chrono::seconds(3)});

  // kUnauthenticated: the token is not valid (any more). kPermissionDenied: its user may not read the pages.
  // kUnavailable: the API server does not decide now. kResourceExhausted: too many tokens wait for a decision.
  Task<Result<Visitor>> visitor(std::string token);

 private:
  struct Decision {
    Result<Visitor> result;
    Instant until;
  };
  struct OpenReview;

  Task<Result<Visitor>> review(std::string token);
  Task<Result<bool>> may(const json::object& subject, std::string verb, Instant deadline);
  void remember(const std::string& key, const Result<Visitor>& result);

  asio::io_context& core_;
  Clock& clock_;
  ApiSession session_;
  const ReviewedResource resource_;
  const bool commands_;
  std::map<std::string, Decision> decisions_;  // by the hash of the token
  std::map<std::string, std::shared_ptr<OpenReview>> open_;
};

}  // namespace cardcage
