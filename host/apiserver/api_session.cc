#include "host/apiserver/api_session.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "host/core/backoff.h"
#include "host/core/cancellation.h"

namespace cardcage {
namespace {

// How long an unhurried call is tried again while the server refuses calls, and how many times as long as an attempt of
// an urgent call one of its attempts may take.
constexpr Duration kPatience = std::chrono::seconds(60);
constexpr int kLongerAttempt = 3;

bool is_success(const Result<HttpResponse>& response) { return response && response->status / 100 == 2; }

// A server that takes too long for one call, or that responds 5xx since it has no etcd, is not away: the success of
// other calls would hurry the one that fails again and again.
bool is_unreached(const Result<HttpResponse>& response) {
  return !response && response.error().code == Code::kUnavailable;
}

bool retry_may_help(Code code, CallKind kind) {
  if (code == Code::kResourceExhausted) return true;  // the server refused the call before it did anything
  return (code == Code::kUnavailable || code == Code::kDeadlineExceeded) && kind != CallKind::kCreate;
}

}  // namespace

ApiSession::ApiSession(asio::io_context& core, Clock& clock, Credentials credentials, ApiPace pace)
    : clock_(clock),
      credentials_(std::move(credentials)),
      pace_(pace),
      http_(core),
      contact_(core, static_cast<std::uint32_t>(seeds_())),
      restraint_(core, clock, static_cast<std::uint32_t>(seeds_())) {}

void ApiSession::note(const Result<HttpResponse>& response) {
  if (is_success(response))
    contact_.made();
  else if (is_unreached(response))
    contact_.lost();
  else if (response)
    contact_.heard();
}

Error ApiSession::failure(const ApiCall& call, const Result<HttpResponse>& response) const {
  if (response) {
    Error error = api_error(*response, call.kind);
    if (error.code == Code::kUnauthenticated) error.message += "; " + credentials_.remedy();
    return {error.code, fmt::format("{}: {}", call.what, error.message)};
  }
  const auto& [code, cause] = response.error();
  const auto& url = credentials_.peer().url;
  return {code, fmt::format("{}: API server {}{}: {}", call.what, url, code == Code::kUnavailable ? " unreachable" : "",
                            cause)};
}

Task<Result<std::string>> ApiSession::call(ApiCall call, Instant deadline) {
  const Instant start = clock_.now();
  Backoff backoff(pace_.first_pause, pace_.longest_pause, static_cast<std::uint32_t>(seeds_()));
  Error error{Code::kUnavailable, call.what + ": the deadline passed before the API server was called"};
  std::optional<Restraint::Turn> turn;
  if (call.unhurried) {
    turn = co_await restraint_.take_turn(start + kPatience);
    if (is_cancelled(co_await asio::this_coro::cancellation_state))
      co_return fail(Code::kCancelled, "{}: cancelled", call.what);
    if (!turn)
      co_return fail(Code::kResourceExhausted,
                     "{}: the API server is overloaded, and other calls of this node come first", call.what);
    if (start < deadline && clock_.now() >= deadline) deadline = start + kPatience;  // the turn came late
  }
  bool refreshed = false, retried = false;
  std::uint64_t recoveries = contact_.recoveries();
  for (Duration left = deadline - clock_.now(); left > Duration::zero(); left = deadline - clock_.now()) {
    const Duration limit =
        call.unhurried ? kLongerAttempt * pace_.request_timeout : std::min(left, pace_.request_timeout);
    const std::shared_ptr<const HttpPeer> peer = credentials_.current();
    auto response = co_await http_.request(peer, call.request, limit);
    note(response);
    if (is_success(response)) co_return std::move(response->body);

    error = failure(call, response);
    if (error.code == Code::kUnauthenticated && !refreshed) {
      refreshed = true;
      if (credentials_.differ_from(*peer)) continue;
    }
    if (std::exchange(recoveries, contact_.recoveries()) != contact_.recoveries()) backoff.reset();
    const bool server_decides = response && response->retry_after;
    Duration pause = server_decides ? Duration(*response->retry_after) : backoff.next();
    if (call.unhurried && error.code == Code::kResourceExhausted) {
      pause = restraint_.note_refusal(pause);
      deadline = std::max(deadline, start + kPatience);
    }
    if (is_unreached(response) && call.spread <= kSpreadOfWrites) pause = std::min<Duration>(pause, kPauseWhileAway);
    if (!retry_may_help(error.code, call.kind) || clock_.now() + pause >= deadline) break;
    if (server_decides)
      co_await clock_.sleep_for(pause);
    else
      co_await contact_.wait_to_retry(clock_, clock_.now() + pause, call.spread);
    if (is_cancelled(co_await asio::this_coro::cancellation_state))
      co_return fail(Code::kCancelled, "{}: cancelled", call.what);
    retried = true;
  }
  if (error.code == Code::kDeadlineExceeded) error.code = Code::kUnavailable;
  if (retried)
    error.message +=
        fmt::format("; kept retrying for {:.1f} s", std::chrono::duration<double>(clock_.now() - start).count());
  co_return std::unexpected(std::move(error));
}

Task<Status> ApiSession::stream(ApiCall call, Duration timeout, std::function<Status(std::string_view line)> on_line) {
  std::optional<Restraint::Turn> turn = co_await restraint_.take_turn(Instant::max());
  if (!turn) co_return fail(Code::kCancelled, "{}: cancelled", call.what);
  const std::function<void()> on_begin = [this, &turn] {
    contact_.made();
    turn.reset();
  };
  for (bool refreshed = false;; refreshed = true) {
    const std::shared_ptr<const HttpPeer> peer = credentials_.current();
    auto response = co_await http_.stream(peer, call.request, timeout, on_begin, on_line);
    if (is_success(response)) co_return Status{};
    note(response);
    Error error = failure(call, response);
    if (error.code == Code::kResourceExhausted) restraint_.note_refusal(Duration::zero());
    if (error.code == Code::kUnauthenticated && !refreshed && credentials_.differ_from(*peer)) continue;
    if (error.code == Code::kDeadlineExceeded) error.code = Code::kUnavailable;
    if (error.code == Code::kDataLoss) error.code = Code::kOutOfRange;
    co_return std::unexpected(std::move(error));
  }
}

}  // namespace cardcage
