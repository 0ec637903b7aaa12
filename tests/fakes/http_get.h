// A blocking GET over plain HTTP, and a port for a server that a test starts.
#pragma once

#include <cstdint>
#include <string>

namespace cardcage {

// A port of 127.0.0.1 that was free just now.
std::uint16_t free_port();
// The body; empty without a response of status 200.
std::string http_get(std::uint16_t port, const std::string& path);

}  // namespace cardcage
