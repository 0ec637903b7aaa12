#include "tests/unit/ctl/page_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/fakes/built_files.h"

namespace cardcage {
namespace {

constexpr std::chrono::seconds kPageLimit{60};

// Returns everything that the process prints until the text appears.
std::string read_until(int pipe, std::string_view text) {
  const auto end = std::chrono::steady_clock::now() + kPageLimit;
  std::string read;
  while (!read.contains(text) && std::chrono::steady_clock::now() < end) {
    pollfd ready{.fd = pipe, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 1000) <= 0) continue;
    char bytes[512];
    const ssize_t count = ::read(pipe, bytes, sizeof bytes);
    if (count <= 0) break;
    read.append(bytes, static_cast<std::size_t>(count));
  }
  return read;
}

}  // namespace

PageProcess::PageProcess(const std::string& socket, const std::vector<std::string>& options) {
  std::vector<std::string> words = {built_program("cagectl"), "--socket", socket, "web"};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int failed = ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed != 0) throw std::runtime_error("cannot start cagectl");
  printed_ = read_until(ends[0], "use.\n");
  ::close(ends[0]);
  const auto port = printed_.find("127.0.0.1:"), path = printed_.find("/?token=");
  if (port == std::string::npos || path == std::string::npos) throw std::runtime_error("no address: " + printed_);
  std::from_chars(printed_.data() + port + 10, printed_.data() + path, port_);
  RawClient browser(port_);
  browser.send(request("GET", printed_.substr(path, printed_.find('\n') - path), "Connection: close\r\n"));
  const std::string welcome = browser.read_all();
  const auto begin = welcome.find("cardcage_session");
  if (begin == std::string::npos) throw std::runtime_error("no session: " + welcome);
  cookie_ = welcome.substr(begin, welcome.find(';', begin) - begin);
}

PageProcess::~PageProcess() {
  if (pid_ > 0) stop();
}

std::string PageProcess::request(const std::string& method, const std::string& path, const std::string& headers) const {
  return fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {}\r\n{}\r\n", method, path, port_, cookie_,
                     headers);
}

std::string PageProcess::get(const std::string& path) const {
  RawClient browser(port_);
  browser.send(request("GET", path, "Connection: close\r\n"));
  return browser.read_all();
}

std::string PageProcess::post(const std::string& path, const std::string& body) const {
  RawClient browser(port_);
  const std::string headers = fmt::format(
      "Connection: close\r\nOrigin: http://127.0.0.1:{}\r\nX-Cardcage-Request: 1\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n",
      port_, body.size());
  browser.send(request("POST", path, headers) + body);
  return browser.read_all();
}

std::unique_ptr<RawClient> PageProcess::watch() const {
  auto browser = std::make_unique<RawClient>(port_);
  browser->send(request("GET", "/api/v1/watch", ""));
  browser->read_until("\r\n\r\n");
  return browser;
}

int PageProcess::stop() {
  ::kill(pid_, SIGTERM);
  return wait();
}

int PageProcess::wait() {
  const auto end = std::chrono::steady_clock::now() + kPageLimit;
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) ::kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string body_of(const std::string& response) {
  const auto end = response.find("\r\n\r\n");
  return end == std::string::npos ? "" : response.substr(end + 4);
}

}  // namespace cardcage
