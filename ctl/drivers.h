// Finds the DRA drivers of this node as a kubelet does: by the sockets in its registration folder.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "host/core/result.h"

namespace cardcage {

struct RegisteredDriver {
  std::string name;
  std::filesystem::path service;      // the driver's DRA socket
  std::vector<std::string> versions;  // "v1.DRAPlugin", ...
};

// Search paths of the commands that act as a kubelet.
struct DriverSearch {
  std::filesystem::path kubelet_root = "/var/lib/kubelet";
  std::filesystem::path service;  // if set, this socket serves any driver name

  void add_options(CLI::App& command);
  // Fails with kUnavailable if no driver has that name.
  Result<RegisteredDriver> find(const std::string& driver) const;
  // Returns the only driver; fails with their names if there are several.
  Result<RegisteredDriver> only() const;

 private:
  struct Found {
    std::vector<RegisteredDriver> drivers;  // newest socket first
    std::vector<std::string> silent;        // served sockets that do not respond
  };
  Found search() const;
};

}  // namespace cardcage
