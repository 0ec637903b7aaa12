// The settings of an interface below /proc/sys/net, which it loses when it leaves its network namespace.
//
// Source: Documentation/networking/ip-sysctl.rst of the kernel.
#pragma once

#include <cardcage/sdk.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace cardcage::nic {

// "ipv4/conf forwarding 1" for each that is not as in a new interface of the namespace, which is that of this thread.
std::vector<std::string> read_sysctls(const std::filesystem::path& procfs, const std::string& interface);
// Sets them. What cannot be set is logged.
void write_sysctls(cage::Host host, const std::filesystem::path& procfs, const std::string& interface,
                   const std::vector<std::string>& settings);

}  // namespace cardcage::nic
