// The DRA drivers of this node, found as a kubelet finds them: by the sockets in its registration folder.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "host/core/result.h"

namespace cardcage {

struct RegisteredDriver {
  std::string name;
  std::filesystem::path service;      // its DRA socket
  std::vector<std::string> versions;  // "v1.DRAPlugin", ...
};

// Where to look, for the commands that play a kubelet.
struct DriverSearch {
  std::filesystem::path kubelet_root = "/var/lib/kubelet";
  std::filesystem::path service;  // not empty: this socket, whatever the driver

  void add_options(CLI::App& command);
  // Every driver that answers, newest socket first.
  std::vector<RegisteredDriver> all() const;
  // kUnavailable if there is none of that name.
  Result<RegisteredDriver> find(const std::string& driver) const;
  // The one driver there is; an error that names them if there are more.
  Result<RegisteredDriver> only() const;
};

}  // namespace cardcage
