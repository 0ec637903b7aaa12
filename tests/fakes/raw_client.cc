#include "tests/fakes/raw_client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <utility>

namespace cardcage {

using boost::asio::ip::tcp;

RawClient::RawClient(std::uint16_t port) {
  socket_.connect(tcp::endpoint(boost::asio::ip::address_v4::loopback(), port));
  const timeval limit{.tv_sec = 60, .tv_usec = 0};
  ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

void RawClient::send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket_.native_handle(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool RawClient::read_some() {
  std::array<char, 4096> bytes{};
  const ssize_t count = ::recv(socket_.native_handle(), bytes.data(), bytes.size(), 0);
  if (count > 0) received_.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::string RawClient::read_all() {
  while (read_some()) {
  }
  return std::exchange(received_, {});
}

std::string RawClient::read_until(std::string_view text) {
  std::size_t found = received_.find(text);
  while (found == std::string::npos && read_some()) found = received_.find(text);
  if (found == std::string::npos) return std::exchange(received_, {});
  std::string read = received_.substr(0, found + text.size());
  received_.erase(0, read.size());
  return read;
}

void RawClient::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace cardcage
