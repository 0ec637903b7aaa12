#include "host/core/tcp_address.h"

#include "host/core/number.h"

namespace cardcage {

Result<boost::asio::ip::tcp::endpoint> parse_tcp_address(std::string_view text) {
  const auto wrong = [text] {
    return fail(Code::kInvalidArgument, "'{}' is not an address; write one like \"127.0.0.1:9471\", or \"\" for none",
                text);
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  const auto port = number_from<std::uint16_t>(text.substr(colon + 1));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(host), error);
  if (error || !port) return wrong();
  return boost::asio::ip::tcp::endpoint(address, *port);
}

}  // namespace cardcage
