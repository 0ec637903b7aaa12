// The settings of an interface below /proc/sys/net. An interface loses them when it leaves its network namespace.
//
// Source: Documentation/networking/ip-sysctl.rst of the kernel.
#pragma once

#include <cardcage/sdk.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace cardcage::nic {

// Returns "ipv4/conf forwarding 1" for each setting that differs from that of a new interface in the namespace of this
// thread.
std::vector<std::string> read_sysctls(const std::filesystem::path& procfs, const std::string& interface);
// Writes the settings. Failures are logged.
void write_sysctls(cage::Host host, const std::filesystem::path& procfs, const std::string& interface,
                   const std::vector<std::string>& settings);

}  // namespace cardcage::nic
