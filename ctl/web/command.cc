// cagectl web: serves the page of this node to a browser.
#include <boost/asio/signal_set.hpp>

#include "ctl/print.h"
#include "ctl/session.h"
#include "ctl/web/node_actions.h"
#include "ctl/web/node_api.h"
#include "ctl/web/protection.h"
#include "embedded/node_page.h"
#include "host/core/log.h"
#include "host/core/tcp_address.h"
#include "web/server/one_time_token.h"

namespace cardcage {
namespace {

struct PageOptions {
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> names;
  bool allow_actions = false;
  std::uint32_t idle_seconds = 3600;
  ProtectionOptions protection;
};

// A right that is withdrawn ends an open page within this time: its stream of changes starts again, with a new review.
constexpr Duration kReviewedStream = std::chrono::minutes(5);

// Everything that runs on the core until the server ends.
class PageServer {
 public:
  PageServer(const Session& session, const PageOptions& options, Protection protection, asio::io_context& core,
             Clock& clock)
      : options_(options),
        clock_(clock),
        core_(core),
        protection_(std::move(protection)),
        client_(core_, session.socket),
        hub_(core_, clock_, client_),
        token_("run 'cagectl web' again, and open the address that it prints", options.allow_actions,
               "run 'cagectl web --allow-actions'"),
        server_(core_, clock_, site(), access()) {}

  // Returns after a signal, or when no browser has used the page for the time of --idle.
  Status run(bool json) {
    if (auto listening = server_.listen(options_.listen); !listening) return listening;
    if (protection_.access)
      log(LogLevel::kInfo, "serving the page of the node",
          {{"node", options_.protection.node}, {"listen", options_.listen}});
    else
      print_address(json);
    signals_.async_wait([this](const boost::system::error_code& cancelled, int) {
      if (!cancelled) end();
    });
    if (!protection_.access) spawn(core_, end_when_idle());
    core_.run();
    return {};
  }

 private:
  Access& access() {
    if (protection_.access) return *protection_.access;
    return token_;
  }
  WebSite site() {
    WebSite site;
    site.routes = node_routes(client_, hub_);
    for (WebRoute& route : node_action_routes(client_)) site.routes.push_back(std::move(route));
    site.files = node_page();
    site.names = options_.names;
    site.tls = protection_.tls;
    if (protection_.access) site.limits.stream = kReviewedStream;
    // Visitors prove who they are with every request, so another name gives no one a way in.
    if (protection_.access && site.names.empty()) site.names.emplace_back("*");
    return site;
  }
  void print_address(bool json) const {
    const bool v6 = parse_tcp_address(options_.listen)->address().is_v6();
    const std::string url = fmt::format("{}://{}:{}/?token={}", protection_.tls ? "https" : "http",
                                        v6 ? "[::1]" : "127.0.0.1", server_.port(), token_.token());
    if (json)
      print_json({{"url", url}});
    else
      fmt::print(
          "{}\nThe address works once, in one browser. The page ends with this command, or {} s after its last "
          "use.\n",
          url, options_.idle_seconds);
    std::fflush(stdout);
  }
  Task<void> end_when_idle() {
    const std::chrono::seconds limit(options_.idle_seconds);
    while (!ending_ && clock_.now() - server_.last_used() < limit)
      co_await idle_.wait_until(clock_, server_.last_used() + limit);
    end();
  }
  void end() {
    if (!std::exchange(ending_, true)) spawn(core_, shut_down());
  }
  Task<void> shut_down() {
    idle_.wake();
    signals_.cancel();
    client_.stop();
    co_await server_.stop();
    co_await hub_.stop();
  }

  const PageOptions& options_;
  Clock& clock_;
  asio::io_context& core_;
  Protection protection_;
  asio::signal_set signals_{core_, SIGINT, SIGTERM};
  Wakeup idle_{core_};
  bool ending_ = false;
  DaemonClient client_;
  ChangeHub hub_;
  OneTimeToken token_;
  WebServer server_;
};

// Without TLS, the page and its token would cross the network as plain text.
Status check_listen(const PageOptions& options) {
  const auto address = parse_tcp_address(options.listen);
  if (!address) return within(address.error(), "--listen");
  if (!address->address().is_loopback() && options.protection.certificate.empty())
    return fail(Code::kInvalidArgument,
                "--listen: '{}' is not an address of this machine alone; use 127.0.0.1, and reach it by 'ssh -L' or "
                "'kubectl port-forward', or add --tls-cert and --tls-key",
                options.listen);
  return {};
}

Status serve_page(const Session& session, const PageOptions& options) {
  if (auto good = check_listen(options); !good) return good;
  const auto status = ask(session.socket, &admin::v1::Admin::Stub::GetStatus);
  if (!status && status.error().code != Code::kUnavailable) return std::unexpected(status.error());
  if (!status) print_error("warning: " + status.error().message);
  SystemClock clock;
  asio::io_context core(1);
  auto protection = Protection::open(core, clock, options.protection, options.allow_actions);
  if (!protection) return std::unexpected(protection.error());
  return PageServer(session, options, std::move(*protection), core, clock).run(session.json);
}

}  // namespace

void add_web(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("web", "show this node in a browser, on a page of this machine");
  auto options = std::make_shared<PageOptions>();
  command->add_option("--listen", options->listen, "address and port of the page; port 0 is any that is free")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command->add_option("--name", options->names, "another host name under which a browser may open the page")
      ->type_name("HOST");
  command->add_flag("--allow-actions", options->allow_actions, "let the page give commands, each with a reason");
  command->add_option("--idle", options->idle_seconds, "end that many seconds after the last use of the page")
      ->check(CLI::Range(1u, 1'000'000u))
      ->type_name("SECONDS")
      ->capture_default_str();
  add_protection_options(*command, options->protection);
  command->callback([&session, options] { session.outcome = serve_page(session, *options); });
}

}  // namespace cardcage
