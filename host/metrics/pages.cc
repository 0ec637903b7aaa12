#include "host/metrics/pages.h"

#include <algorithm>
#include <utility>

#include "host/core/log.h"

namespace cardcage {
namespace {

// The interval of attempts to get a port that another process has.
constexpr Duration kOpenRetry = std::chrono::seconds(1);

std::vector<MetricsCollector::Source> metrics_sources(const Supervisors& supervisors) {
  std::vector<MetricsCollector::Source> sources;
  for (const Supervisor* supervisor : supervisors.all()) {
    const auto module = supervisor->module();
    if (module && !(*module)->identity().metrics.empty()) sources.push_back({supervisor->config().name, *module});
  }
  return sources;
}

}  // namespace

bool wants_claim_users(const Supervisors& supervisors, const Ledger& ledger) {
  return !metrics_sources(supervisors).empty() &&
         std::ranges::any_of(ledger.claims(), [](const auto& claim) { return !claim.second->served().is_resource(); });
}

Pages::Pages(const Environment& daemon)
    : daemon_(daemon),
      collector_(daemon.core, daemon.clock, [this] { return metrics_sources(daemon_.supervisors); }),
      retry_(daemon.core, daemon.clock) {}

void Pages::open(const std::string& address) {
  endpoint_.reset();
  retry_.cancel();
  const std::string former = std::exchange(error_, "");
  if (address.empty()) return;
  auto endpoint = HttpEndpoint::start(daemon_.core, daemon_.clock, address,
                                      [this](std::string path) { return page(std::move(path)); });
  if (endpoint) {
    endpoint_ = std::move(*endpoint);
    if (!former.empty()) log(LogLevel::kInfo, "metrics are served", {{"address", address}});
    return;
  }
  error_ = endpoint.error().message;
  if (error_ != former) log(LogLevel::kError, "metrics are not served", {{"error", error_}});
  retry_.call_after(kOpenRetry, [this, address] { open(address); });
}

Task<HttpPage> Pages::metrics_page() {
  if (wants_claim_users(daemon_.supervisors, daemon_.ledger)) {
    daemon_.pods_wanted.wake();
    if (daemon_.pods.claim_users().empty()) daemon_.pods.nudge();
  }
  auto collected = co_await collector_.collect();
  auto facts =
      std::make_shared<const MetricsFacts>(metrics_facts(daemon_.view, daemon_.counters, std::move(collected)));
  const OneShot<std::string> written(daemon_.core);
  asio::post(writer_, [written, facts = std::move(facts)] { written.set(metrics_text(*facts)); });
  HttpPage page{.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = {}};
  page.body = co_await written.wait();
  co_return page;
}

HttpPage Pages::readiness() const {
  if (const auto& errors = daemon_.config.state().errors; !errors.empty())
    return {.status = 503, .body = fmt::format("the configuration file is not applied: {}\n", errors.front())};
  for (const Supervisor* supervisor : daemon_.supervisors.all()) {
    if (!supervisor->settled())
      return {.status = 503, .body = fmt::format("module '{}' is starting\n", supervisor->config().name)};
    if (const auto refused = supervisor->refused()) return {.status = 503, .body = refused->message + "\n"};
  }
  if (const auto refused = daemon_.ledger.refusal()) return {.status = 503, .body = refused->message + "\n"};
  return {.body = "ok\n"};
}

Task<HttpPage> Pages::page(std::string path) {
  if (path == "/metrics") co_return co_await metrics_page();
  if (path == "/readyz") co_return readiness();
  HttpPage page{.body = "ok\n"};
  if (path != "/healthz") page = {.status = 404, .body = "the pages are /metrics, /healthz and /readyz\n"};
  co_return page;
}

}  // namespace cardcage
