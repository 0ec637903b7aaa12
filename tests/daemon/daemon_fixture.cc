#include "tests/daemon/daemon_fixture.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include "host/core/file.h"
#include "tests/fakes/built_files.h"

namespace cardcage {

DaemonTest::~DaemonTest() {
  if (HasFailure()) std::fputs(daemon.log().c_str(), stderr);
}

ClaimRef DaemonTest::add_claim(const std::string& name, const std::vector<std::string>& devices) {
  ClaimRef ref{"default", name, fmt::format("5b8f7a52-6f0e-4b4e-9d2a-{:0>12}", name.size() + 1000 * name.back())};
  std::string results;
  for (const std::string& device : devices) {
    results += fmt::format(R"({}{{"request":"gpu","driver":"{}","pool":"node1","device":"{}"}})",
                           results.empty() ? "" : ",", kDriver, device);
  }
  std::ofstream(daemon.folder() / "node/claims" / fmt::format("default_{}.json", name))
      << fmt::format(R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",)"
                     R"("metadata":{{"name":"{}","namespace":"default","uid":"{}"}},"spec":{{}},)"
                     R"("status":{{"allocation":{{"devices":{{"results":[{}]}}}}}}}})",
                     name, ref.uid, results);
  return ref;
}

// Counts registrations: the kubelet may notice the death of the previous daemon only after the next one has started.
void DaemonTest::start_and_register() {
  const auto registrations = [this] {
    return std::ranges::count(kubelet.history(), std::string(kDriver) + " v1.DRAPlugin");
  };
  const auto before = registrations();
  daemon.start();
  ASSERT_TRUE(kubelet.wait_for([&] { return registrations() > before; })) << daemon.log();
}

std::vector<PreparedDevice> DaemonTest::prepare(const ClaimRef& claim) {
  auto response = kubelet.prepare(kDriver, {claim});
  EXPECT_TRUE(response) << response.error().message;
  auto devices = response ? response->at(claim.uid) : std::unexpected(response.error());
  EXPECT_TRUE(devices) << devices.error().message;
  return devices.value_or(std::vector<PreparedDevice>{});
}

Status DaemonTest::unprepare(const ClaimRef& claim) {
  auto response = kubelet.unprepare(kDriver, {claim});
  return response ? response->at(claim.uid) : std::unexpected(response.error());
}

DaemonTest::Output DaemonTest::cagectl(const std::string& arguments) const {
  const std::string command = fmt::format("{} --socket {} {} 2>&1", built_program("cagectl").native(),
                                          (daemon.folder() / "admin.sock").native(), arguments);
  FILE* const stream = ::popen(command.c_str(), "r");
  if (stream == nullptr) return {-1, "popen failed"};
  Output output{};
  std::array<char, 4096> piece{};
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), stream))
    output.text.append(piece.data(), size);
  const int status = ::pclose(stream);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

std::vector<std::string> DaemonTest::files(const std::filesystem::path& folder) const {
  std::vector<std::string> names;
  if (!std::filesystem::exists(folder)) return names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.push_back(entry.path().filename().native());
  }
  std::ranges::sort(names);
  return names;
}

std::string DaemonTest::another_build(const std::string& trailer) const {
  return read_file(built_module("mock"), 64u << 20).value() + trailer;
}

void DaemonTest::install_module(const std::string& content) const {
  const auto installed = daemon.installed_module(), next = installed.parent_path() / "next";
  std::ofstream(next) << content;
  std::filesystem::permissions(next, std::filesystem::perms(0644));
  std::filesystem::rename(next, installed);
}

bool DaemonTest::logged(const std::string& text, std::chrono::milliseconds limit) {
  return kubelet.wait_for([&] { return daemon.logged(text); }, limit);
}

bool DaemonTest::shows(const std::string& command, const std::string& text, std::chrono::milliseconds limit) {
  return kubelet.wait_for([&] { return cagectl(command).text.find(text) != std::string::npos; }, limit);
}

}  // namespace cardcage
