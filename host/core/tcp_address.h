// Addresses that people write: "127.0.0.1:9471", "[::1]:9471".
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// No names: an address that is looked up may be another one tomorrow.
Result<boost::asio::ip::tcp::endpoint> parse_tcp_address(std::string_view text);

}  // namespace cardcage
