// cardcage-fleet: a page about the devices of all nodes.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "fleet/program/run_fleet.h"
#include "host/core/log.h"
#include "host/core/memory.h"
#include "host/core/version.h"

namespace {

constexpr int kExitUsage = 2;

}  // namespace

int main(int argc, char** argv) {
  cardcage::share_heaps();
  CLI::App app("cardcage-fleet: serves a page about the devices of all nodes, from the objects of any DRA driver.",
               "cardcage-fleet");
  cardcage::FleetOptions options;
  app.add_option("--listen", options.listen, "address of the page; without TLS, one of this machine")
      ->capture_default_str();
  app.add_option("--health-listen", options.health_listen,
                 "address of /healthz, /readyz and /metrics, for probes and Prometheus; default: none");
  app.add_option("--kubeconfig", options.kubeconfig,
                 "access to the API server; default: the service account of the pod");
  app.add_option("--tls-cert", options.certificate, "PEM file with the certificate; visitors then need a token");
  app.add_option("--tls-key", options.key, "PEM file with the key of the certificate");
  app.add_option("--allow-host", options.names,
                 "name of the page in the address bar of browsers; may be repeated; default with TLS: any");
  app.add_option("--node-pages", options.node_pages,
                 "pods that serve the pages of nodes, for links: NAMESPACE/LABEL_SELECTOR; default: none");
  app.add_option("--binding-driver", options.binding_drivers,
                 "label claims that wait for devices of this driver for the daemon of their node; may be repeated");
  app.add_option("--binding-lease", options.binding_lease,
                 "NAMESPACE/NAME of the Lease that is renewed while all such claims have their labels");
  app.add_flag("--compute-domains", options.compute_domains,
               "manage ComputeDomains: their ResourceClaimTemplates and status; one controller per cluster");
  app.set_version_flag("--version", fmt::format("cardcage-fleet {}", cardcage::version()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  // A peer that disconnects fails its call; it must not kill the program.
  std::signal(SIGPIPE, SIG_IGN);
  if (const auto ended = cardcage::run_fleet(options); !ended) {
    cardcage::log(cardcage::LogLevel::kError, ended.error().message);
    return 1;
  }
  return 0;
}
