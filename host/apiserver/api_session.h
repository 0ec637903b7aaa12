// One call to the API server: credentials, patience, and errors in words.
#pragma once

#include <random>
#include <string>

#include "host/apiserver/api_status.h"
#include "host/apiserver/credentials.h"

namespace cardcage {

struct ApiCall {
  std::string what;  // opens every error: "get ResourceClaim 'ns/c1'"
  HttpRequest request;
  CallKind kind = CallKind::kRead;
};

struct ApiPace {
  Duration request_timeout = std::chrono::seconds(10);  // of one attempt
  Duration first_pause = std::chrono::milliseconds(100), longest_pause = std::chrono::seconds(5);
};

// [core] Outlives its calls. Codes are those of cluster.h.
class ApiSession {
 public:
  ApiSession(asio::io_context& core, Clock& clock, Credentials credentials, ApiPace pace);

  // The body of a 2xx answer. A broken connection, silence and 5xx are tried again until the deadline, with doubling
  // and jittered pauses, unless the call creates something: it may have been carried out. 429 is tried again for
  // every kind; Retry-After is obeyed, and if it reaches past the deadline the answer is an error at once. 401 reads
  // the credentials again and tries once more.
  Task<Result<std::string>> call(ApiCall call, Instant deadline);

  // Lines of a 2xx answer until it ends (ok). Not tried again, except once after 401.
  Task<Status> stream(ApiCall call, Duration timeout, std::function<Status(std::string_view line)> on_line);

 private:
  Error failure(const ApiCall& call, const Result<HttpResponse>& response) const;
  Duration jittered(Duration pause);

  Clock& clock_;
  Credentials credentials_;
  ApiPace pace_;
  HttpClient http_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace cardcage
