// Checks that the module keeps the rules of the ABI, with an interface that the test makes.
#include <gmock/gmock.h>
#include <sys/mount.h>

#include <cerrno>

#include "host/conformance/check_file.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/network_namespace.h"
#include "tests/fakes/sanitizers.h"

namespace cardcage {
namespace {

using ::testing::IsEmpty;

// Mounts sysfs again: a mount shows the network namespace of the thread that mounts it.
class OwnSysfs {
 public:
  OwnSysfs()
      : mounted_(::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                 ::mount("none", "/sys", "sysfs", MS_RDONLY, nullptr) == 0) {}
  OwnSysfs(const OwnSysfs&) = delete;
  OwnSysfs& operator=(const OwnSysfs&) = delete;
  ~OwnSysfs() {
    if (mounted_) ::umount2("/sys", MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

 private:
  const bool mounted_;
};

std::vector<std::string> of_verdict(const Report& report, Verdict verdict, std::string_view number = {}) {
  std::vector<std::string> found;
  for (const Finding& finding : report.findings)
    if (finding.outcome.verdict == verdict && (number.empty() || finding.rule == number))
      found.push_back(fmt::format("{}: {}", finding.name, finding.outcome.evidence));
  return found;
}

TEST(NicModuleCheck, KeepsAllRules) {
  const NetworkNamespace node;
  if (!node.works()) GTEST_SKIP() << "no network namespace can be made here";
  const OwnSysfs sysfs;
  if (!sysfs.mounted()) GTEST_SKIP() << "sysfs cannot be mounted here";
  ASSERT_TRUE(node.ip("link add nic0 type veth peer name peer0"));
  CheckRequest request{.file = built_module("nic"), .devices = {"interface/nic0"}};
  request.options["interfaces"] = {std::vector<std::string>{"nic0"}, {}};
  const auto report = check_file(request);
  ASSERT_TRUE(report) << report.error().message;
  if (!kThreadSanitizer) {  // it starts a thread of its own
    EXPECT_THAT(of_verdict(*report, Verdict::kFail), IsEmpty());
  }
  EXPECT_THAT(of_verdict(*report, Verdict::kPass, "R28"), ::testing::SizeIs(4));
}

}  // namespace
}  // namespace cardcage
