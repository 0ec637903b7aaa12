// TCP addresses in configuration: "127.0.0.1:9471", "[::1]:9471".
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// Host names are refused: a name may resolve to another address tomorrow.
Result<boost::asio::ip::tcp::endpoint> parse_tcp_address(std::string_view text);

}  // namespace cardcage
