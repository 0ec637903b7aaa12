// The program cardcage-fleet without its command line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "host/core/result.h"

namespace cardcage {

struct FleetOptions {
  std::string listen = "127.0.0.1:0";
  std::string health_listen = {};                    // empty = no /healthz, /readyz and /metrics
  std::filesystem::path kubeconfig = {};             // empty = the service account of the pod
  std::filesystem::path certificate = {}, key = {};  // empty = plain HTTP for one browser on this machine
  std::vector<std::string> names = {};               // names of the page in the address bar of browsers
  std::vector<std::string> binding_drivers = {};     // their claims get labels for the daemons of nodes
  std::string binding_lease = {};                    // NAMESPACE/NAME of the Lease for these labels
  std::string node_pages = {};                       // pods that serve nodes' pages: NAMESPACE/SELECTOR; empty = none
  bool compute_domains = false;                      // manages ComputeDomains, which needs write permissions
};

// Returns at SIGTERM or SIGINT. Fails before it serves anything, on any problem that can be known by then.
Status run_fleet(const FleetOptions& options);

}  // namespace cardcage
