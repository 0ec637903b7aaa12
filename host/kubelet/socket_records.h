// Records of the sockets at which drivers were served, for the next daemon.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "host/kubelet/socket_dir.h"

namespace cardcage {

inline constexpr const char* kSocketRecords = "sockets";  // the folder in node.state_dir

// A daemon that is killed leaves its sockets behind, and the kubelet keeps a driver registered until its socket is
// gone. The next daemon replaces the sockets of the drivers that it serves; it recognises the others as its own only by
// a record. `folder` has a file per driver with the paths of its sockets.
//
// Keeps the record of a driver that is served, and removes sockets of its former record if they have other paths.
void keep_socket_record(const std::filesystem::path& folder, const std::string& driver, const DriverSockets& sockets);
// The sockets of all records, by driver.
std::map<std::string, DriverSockets> recorded_sockets(const std::filesystem::path& folder);
// Removes the sockets and records of all drivers but `served`. A socket that a process serves stays.
void remove_recorded_sockets(const std::filesystem::path& folder, const std::set<std::string>& served);

}  // namespace cardcage
