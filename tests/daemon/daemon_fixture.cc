#include "tests/daemon/daemon_fixture.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

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

// A kubelet notices the end of a killed daemon by itself, perhaps after the next one is there: what counts is that it
// registered once more.
void DaemonTest::start_and_register() {
  const auto registrations = [this] {
    return std::ranges::count(kubelet.history(), std::string(kDriver) + " v1.DRAPlugin");
  };
  const auto before = registrations();
  daemon.start();
  ASSERT_TRUE(kubelet.wait_for([&] { return registrations() > before; })) << daemon.log();
}

std::vector<PreparedDevice> DaemonTest::prepare(const ClaimRef& claim) {
  auto answer = kubelet.prepare(kDriver, {claim});
  EXPECT_TRUE(answer) << answer.error().message;
  auto devices = answer ? answer->at(claim.uid) : std::unexpected(answer.error());
  EXPECT_TRUE(devices) << devices.error().message;
  return devices.value_or(std::vector<PreparedDevice>{});
}

Status DaemonTest::unprepare(const ClaimRef& claim) {
  auto answer = kubelet.unprepare(kDriver, {claim});
  return answer ? answer->at(claim.uid) : std::unexpected(answer.error());
}

DaemonTest::Said DaemonTest::cagectl(const std::string& words) const {
  const std::string line =
      fmt::format("{} --socket {} {} 2>&1", CAGECTL, (daemon.folder() / "admin.sock").native(), words);
  FILE* const stream = ::popen(line.c_str(), "r");
  if (stream == nullptr) return {-1, "popen failed"};
  Said said{};
  std::array<char, 4096> piece{};
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), stream))
    said.text.append(piece.data(), size);
  const int status = ::pclose(stream);
  said.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
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

}  // namespace cardcage
