// A blocking GET over plain HTTP, and a port for a server that a test starts.
#pragma once

#include <cstdint>
#include <string>

namespace cardcage {

// Of 127.0.0.1; free a moment ago.
std::uint16_t free_port();
// The body; empty if nobody answers with status 200.
std::string http_get(std::uint16_t port, const std::string& path);

}  // namespace cardcage
