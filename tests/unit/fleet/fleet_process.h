// The program cardcage-fleet as a child process, and the browser that opens the address that it prints.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/test_certificates.h"

namespace cardcage {

struct FetchedPage {
  unsigned status = 0;  // 0 without a response
  std::string body, location, cookie;
};

// A blocking GET from 127.0.0.1 over plain HTTP.
inline FetchedPage fetch(std::uint16_t port, const std::string& path, const std::string& cookie = "") {
  namespace http = boost::beast::http;
  using boost::asio::ip::tcp;
  boost::asio::io_context io;
  tcp::socket socket(io);
  boost::system::error_code failed;
  socket.connect({boost::asio::ip::address_v4::loopback(), port}, failed);
  if (failed) return {};
  http::request<http::empty_body> request(http::verb::get, path, 11);
  request.set(http::field::host, "127.0.0.1:" + std::to_string(port));
  if (!cookie.empty()) request.set(http::field::cookie, cookie);
  http::write(socket, request, failed);
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> response;
  response.body_limit(std::uint64_t{64} << 20);
  if (!failed) http::read(socket, buffer, response, failed);
  if (failed) return {};
  const std::string set = response.get()[http::field::set_cookie];
  return {response.get().result_int(), response.get().body(), response.get()[http::field::location],
          set.substr(0, set.find(';'))};
}

class FleetProcess {
 public:
  // `url` and `certificates` of an API server that expects the token "t1".
  FleetProcess(const std::string& url, const TestCertificates& certificates) {
    EXPECT_TRUE(write_file_atomically(folder_ / "ca.crt", certificates.ca, 0600, false));
    EXPECT_TRUE(write_file_atomically(
        folder_ / "kubeconfig",
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: '" + url +
            "', certificate-authority: ca.crt}}]\nusers: [{name: u, user: {token: t1}}]\n"
            "contexts: [{name: c, context: {cluster: c, user: u}}]\n",
        0600, false));
  }
  FleetProcess(const FleetProcess&) = delete;
  FleetProcess& operator=(const FleetProcess&) = delete;
  ~FleetProcess() {
    if (pid_ > 0) end(SIGKILL);
  }

  void start(std::vector<std::string> more = {}) {
    const auto program = program_beside("cardcage-fleet");
    ASSERT_TRUE(program) << program.error().message;
    std::vector<std::string> arguments{*program};
    if (std::ranges::find(more, "--kubeconfig") == more.end())
      arguments.insert(arguments.end(), {"--kubeconfig", folder_ / "kubeconfig"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const std::string output = folder_ / "output", log = folder_ / "log";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    const int failed = ::posix_spawn(&pid_, program->c_str(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ASSERT_EQ(failed, 0) << *program;
  }
  // Sends the signal, and returns the status as waitpid(2) does.
  int end(int signal) {
    ::kill(pid_, signal);
    return reap();
  }
  int reap() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  // Opens the printed address and keeps the cookie.
  void sign_in() {
    ASSERT_TRUE(wait_until([this] { return output().ends_with('\n'); })) << log();
    const std::string line = output(), port = line.substr(line.rfind(':') + 1);
    port_ = static_cast<std::uint16_t>(std::stoi(port));
    const FetchedPage welcome = fetch(port_, line.substr(line.find('/', 8), line.size() - line.find('/', 8) - 1));
    ASSERT_EQ(welcome.status, 303u) << line;
    cookie_ = welcome.cookie;
  }
  FetchedPage get(const std::string& path) const { return fetch(port_, path, cookie_); }
  // Waits until a summary has the text.
  bool shows(const std::string& text) const {
    return wait_until([&] { return get("/api/v1/summary").body.find(text) != std::string::npos; });
  }

  template <class Condition>
  static bool wait_until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  std::string output() const { return read_file(folder_ / "output", 1 << 20).value_or(""); }
  std::string log() const { return read_file(folder_ / "log", 1 << 20).value_or(""); }
  pid_t pid() const { return pid_; }
  std::uint16_t port() const { return port_; }
  const std::string& cookie() const { return cookie_; }

 private:
  ScratchFolder folder_;
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
  std::string cookie_;
};

}  // namespace cardcage
