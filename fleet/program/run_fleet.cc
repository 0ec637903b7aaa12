#include "fleet/program/run_fleet.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <optional>

#include "embedded/fleet_page.h"
#include "fleet/compute_domain_controller.h"
#include "fleet/program/service.h"
#include "host/core/log.h"
#include "host/core/tcp_address.h"
#include "host/core/wakeup.h"
#include "web/server/one_time_token.h"
#include "web/server/reviews.h"
#include "web/server/tls_files.h"
#include "web/server/token_access.h"

namespace cardcage {
namespace {

Result<Credentials> credentials_of(Clock& clock, const FleetOptions& options) {
  if (!options.kubeconfig.empty()) return Credentials::from_kubeconfig(clock, options.kubeconfig);
  auto places = ServiceAccountPlaces::of_pod();
  if (places.host.empty())
    return fail(Code::kFailedPrecondition,
                "not in a pod (KUBERNETES_SERVICE_HOST is not set); name a kubeconfig with --kubeconfig");
  return Credentials::from_service_account(clock, std::move(places));
}

// Without TLS, tokens and cookies must not leave the machine.
Status check_listen(const FleetOptions& options) {
  const auto endpoint = parse_tcp_address(options.listen);
  if (!endpoint) return within(endpoint.error(), "--listen");
  if (options.certificate.empty() != options.key.empty())
    return fail(Code::kInvalidArgument, "--tls-cert and --tls-key belong together; give both");
  if (options.certificate.empty() && !endpoint->address().is_loopback())
    return fail(Code::kInvalidArgument,
                "--listen {}: other machines can reach this address, so it needs TLS; give --tls-cert and --tls-key",
                options.listen);
  return {};
}

// Probes and monitoring get figures that hold no secret.
class OpenAccess final : public Access {
 public:
  Task<std::expected<Visitor, WebResponse>> admit(WebRequest) override { co_return Visitor{}; }
};

Task<WebResponse> reply(WebResponse response) { co_return response; }

std::vector<WebRoute> health_routes(const FleetService& service) {
  const auto live = [](const WebRequest&) { return reply(text_response(200, "ok\n")); };
  const auto ready = [&service](const WebRequest&) {
    return reply(service.synced() ? text_response(200, "ok\n")
                                  : text_response(503, "the first lists of the API server are not complete\n"));
  };
  const auto figures = [&service](const WebRequest&) {
    WebResponse response = text_response(200, service.metrics());
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    return reply(std::move(response));
  };
  return {{"GET", "/healthz", live}, {"GET", "/readyz", ready}, {"GET", "/metrics", figures}};
}

class FleetProgram {
 public:
  FleetProgram(const FleetOptions& options, Credentials credentials, FleetServiceOptions service)
      : options_(options),
        credentials_(credentials),
        service_(core_, clock_, std::move(credentials), std::move(service)),
        stop_(core_),
        ended_(core_) {
    if (options.compute_domains) domains_.emplace(core_, clock_, service_.session());
  }

  Status run();

 private:
  Status open_access();
  Status listen();
  void tell_address() const;
  Task<void> run_watches();
  Task<void> follow();
  Task<void> stop_on_signal();

  const FleetOptions& options_;
  const Credentials credentials_;
  asio::io_context core_;
  SystemClock clock_;
  FleetService service_;
  std::optional<ComputeDomainController> domains_;
  std::shared_ptr<TlsFiles> tls_;  // null = plain HTTP
  OneTimeToken token_{"start cardcage-fleet again, and open the address that it prints", false};
  std::optional<Reviews> reviews_;
  std::optional<TokenAccess> users_;
  OpenAccess everybody_;
  std::optional<WebServer> pages_, health_;
  asio::signal_set signals_{core_, SIGTERM, SIGINT};
  Wakeup stop_, ended_;
};

// With TLS, the users of the cluster; without it, the person who started the program.
Status FleetProgram::open_access() {
  if (options_.certificate.empty()) return {};
  auto tls = TlsFiles::open(clock_, options_.certificate, options_.key);
  if (!tls) return std::unexpected(tls.error());
  tls_ = std::move(*tls);
  reviews_.emplace(core_, clock_, credentials_, ReviewedResource{.resource = "fleet", .name = {}}, false);
  users_.emplace(clock_, *reviews_, "fleet");
  return {};
}

Status FleetProgram::listen() {
  WebSite site{.routes = service_.routes(), .files = fleet_page(), .names = options_.names, .limits = {}, .tls = tls_};
  // A name proves nothing where each request needs a token.
  if (tls_ && site.names.empty()) site.names = {"*"};
  Access& access = users_ ? static_cast<Access&>(*users_) : token_;
  pages_.emplace(core_, clock_, std::move(site), access);
  if (auto listening = pages_->listen(options_.listen); !listening) return within(listening.error(), "--listen");
  if (options_.health_listen.empty()) return {};
  WebSite health{.routes = health_routes(service_), .files = {}, .names = {"*"}, .limits = {}, .tls = nullptr};
  health_.emplace(core_, clock_, std::move(health), everybody_);
  if (auto listening = health_->listen(options_.health_listen); !listening)
    return within(listening.error(), "--health-listen");
  return {};
}

// Prints to standard output: the token must not be in a log that others read.
void FleetProgram::tell_address() const {
  fmt::print("http://127.0.0.1:{}/?token={}\n", pages_->port(), token_.token());
  std::fflush(stdout);
}

Task<void> FleetProgram::run_watches() {
  using namespace asio::experimental::awaitable_operators;
  if (domains_)
    co_await (service_.run() && domains_->run());
  else
    co_await service_.run();
}

Task<void> FleetProgram::follow() {
  using namespace asio::experimental::awaitable_operators;
  co_await (run_watches() || stop_.wait());
  ended_.wake();
}

Task<void> FleetProgram::stop_on_signal() {
  boost::system::error_code ignored;
  const int number = co_await signals_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  log(LogLevel::kInfo, "stopping", {{"signal", number}});
  co_await pages_->stop();
  if (health_) co_await health_->stop();
  stop_.wake();
  co_await ended_.wait();
  core_.stop();
}

Status FleetProgram::run() {
  if (auto opened = open_access(); !opened) return opened;
  if (auto listening = listen(); !listening) return listening;
  if (!tls_) tell_address();
  spawn(core_, follow());
  spawn(core_, stop_on_signal());
  log(LogLevel::kInfo, "serving", {{"port", pages_->port()}});
  core_.run();
  log(LogLevel::kInfo, "stopped");
  return {};
}

}  // namespace

Status run_fleet(const FleetOptions& options) {
  if (auto fits = check_listen(options); !fits) return fits;
  SystemClock clock;
  auto credentials = credentials_of(clock, options);
  if (!credentials) return within(credentials.error(), "API server");
  FleetServiceOptions service;
  if (!options.node_pages.empty()) {
    auto place = parse_pods_place(options.node_pages);
    if (!place) return within(place.error(), "--node-pages");
    service.pages = std::move(*place);
  }
  if (!options.binding_drivers.empty() || !options.binding_lease.empty()) {
    auto labels = binding_label_options(options.binding_drivers, options.binding_lease);
    if (!labels) return within(labels.error(), "--binding-driver and --binding-lease");
    service.labels = std::move(*labels);
  }
  return FleetProgram(options, std::move(*credentials), std::move(service)).run();
}

}  // namespace cardcage
