#include "sim/fpga/control.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "sim/fpga/built_files.h"

namespace cardcage::fake_fpga {
namespace {

namespace fs = std::filesystem;

sockaddr_un address_of(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path) throw std::invalid_argument("too long a path: " + path.native());
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  return address;
}

std::string read_all(const UniqueFd& fd) {
  std::string all;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return all;
    all.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

void write_all(const UniqueFd& fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (size <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

}  // namespace

fs::path socket_of(const fs::path& root) { return root.native() + ".sock"; }

ControlSocket::ControlSocket(FakeFpgas& fpgas)
    : fpgas_(fpgas),
      path_(socket_of(fpgas.root())),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  constexpr int kWaiting = 16;
  const sockaddr_un address = address_of(path_);
  fs::remove(path_);
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 ||
      ::listen(listener_.get(), kWaiting) < 0)
    throw std::system_error(errno, std::generic_category(), path_);
  server_ = std::thread([this] { serve(); });
}

ControlSocket::~ControlSocket() {
  ::eventfd_write(stop_.get(), 1);
  server_.join();
  fpgas_.release();  // ends waiting commands
  for (std::thread& connection : connections_) connection.join();
  std::error_code ignored;
  fs::remove(path_, ignored);
}

void ControlSocket::serve() {
  for (;;) {
    std::array<pollfd, 2> ready{{{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
    if (ready[1].revents != 0) return;
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) continue;
    connections_.emplace_back([this, fd = connection.release()] { respond(UniqueFd(fd)); });
  }
}

// A request is a sequence of words, each terminated by a zero, up to the end of the stream.
void ControlSocket::respond(UniqueFd connection) {
  const std::string request = read_all(connection);
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < request.size(); begin += words.back().size() + 1)
    words.emplace_back(request.c_str() + begin);
  try {
    write_all(connection, "+" + execute(fpgas_, words));
  } catch (const std::exception& error) {
    write_all(connection, std::string("-") + error.what());
  }
}

Outcome ask(const fs::path& root, const std::vector<std::string>& words) {
  const fs::path path = socket_of(root);
  const sockaddr_un address = address_of(path);
  const UniqueFd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
    throw std::system_error(errno, std::generic_category(), path);
  std::string request;
  for (const std::string& word : words) request += word + '\0';
  write_all(connection, request);
  ::shutdown(connection.get(), SHUT_WR);
  const std::string reply = read_all(connection);
  if (reply.empty()) return {false, "the fake ended"};
  return {reply[0] == '+', reply.substr(1)};
}

void install_xbutil(const fs::path& file, const fs::path& root) {
  std::ofstream(file) << fmt::format("#!/bin/sh\nexec '{}' '{}' \"$@\"\n", xbutil_file().native(), root.native());
  fs::permissions(file, fs::perms::owner_all | fs::perms::group_exec | fs::perms::group_read);
}

}  // namespace cardcage::fake_fpga
