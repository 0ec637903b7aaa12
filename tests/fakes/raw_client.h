// A client that controls every byte of a TCP connection to this machine.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace cardcage {

// Blocking; each wait for the server ends after 60 s.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port);

  // Ignores that the server has closed the connection.
  void send(std::string_view text);
  // Returns everything until the server closes the connection.
  std::string read_all();
  // Returns everything from the text that was read before to the end of this one; all that came if it never came.
  std::string read_until(std::string_view text);
  void close();

 private:
  // Returns false at the end of the connection.
  bool read_some();

  boost::asio::io_context context_;
  boost::asio::ip::tcp::socket socket_{context_};
  std::string received_;
};

}  // namespace cardcage
