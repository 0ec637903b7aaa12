// Calls to the API server, with credentials, retries and readable errors.
#pragma once

#include <random>
#include <string>

#include "host/apiserver/api_status.h"
#include "host/apiserver/credentials.h"
#include "host/apiserver/restraint.h"
#include "host/core/contact.h"
#include "host/model/retry_pace.h"

namespace cardcage {

struct ApiCall {
  std::string what;  // begins every error: "get ResourceClaim 'ns/c1'"
  HttpRequest request;
  CallKind kind = CallKind::kRead;
  Duration spread = kSpreadOfWrites;  // the spread of retries after an outage
  bool unhurried = false;             // no pod waits for it
};

struct ApiPace {
  Duration request_timeout = std::chrono::seconds(10);  // for one attempt
  Duration first_pause = std::chrono::milliseconds(100), longest_pause = std::chrono::seconds(5);
};

// [core] Must outlive its calls. The error codes are those of cluster.h.
class ApiSession {
 public:
  ApiSession(asio::io_context& core, Clock& clock, Credentials credentials, ApiPace pace);

  // Returns the body of a 2xx response. Retries until the deadline, with growing pauses:
  //  - after a broken connection, a timeout or 5xx, unless the call creates something, which may have happened;
  //  - after 429 for every kind of call. The pause is at least that of Retry-After.
  // A pause without Retry-After is short while no call reaches the server (retry_pace.h), and ends when another call
  // succeeds after that.
  // Fails at once if the next attempt would begin after the deadline. After 401 it reads the credentials again and
  // tries once more.
  //
  // An unhurried call takes turns (Restraint). While the server refuses it, it is retried for a minute, and an attempt
  // may take three times as long as others, even beyond the deadline: a busy server should not have to begin again.
  Task<Result<std::string>> call(ApiCall call, Instant deadline);

  // Hands the lines of a 2xx response to `on_line` until it ends (ok). Retries once after 401, and never otherwise. A
  // stream that is silent for the request's max_pause ends with kOutOfRange.
  Task<Status> stream(ApiCall call, Duration timeout, std::function<Status(std::string_view line)> on_line);

  // For retries of the callers.
  Contact& contact() { return contact_; }

 private:
  void note(const Result<HttpResponse>& response);
  Error failure(const ApiCall& call, const Result<HttpResponse>& response) const;

  Clock& clock_;
  Credentials credentials_;
  ApiPace pace_;
  HttpClient http_;
  std::minstd_rand seeds_{std::random_device{}()};
  Contact contact_;
  Restraint restraint_;
};

}  // namespace cardcage
