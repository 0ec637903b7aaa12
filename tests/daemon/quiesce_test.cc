// A driver is upgraded: an operator lets a module let go of its hardware, and take it back.
#include <signal.h>

#include <fstream>
#include <thread>

#include "host/core/file.h"
#include "tests/daemon/daemon_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

class QuiesceTest : public DaemonTest, public ::testing::WithParamInterface<const char*> {
 protected:
  QuiesceTest() {
    configure("devices = [\"gpu:2\"]\nscript_file = \"" + script().native() + "\"", kDriver, GetParam());
  }

  // Whether a process of the daemon has the mock's hardware open.
  bool hardware_is_open() const {
    for (const pid_t pid : daemon.processes())
      for (const auto& fd : fs::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
        std::error_code closed;
        if (fs::read_symlink(fd, closed) == hardware()) return true;
      }
    return false;
  }
  Result<std::vector<PreparedDevice>> try_prepare(const ClaimRef& claim) {
    auto answer = kubelet.prepare(kDriver, {claim});
    return answer ? answer->at(claim.uid) : std::unexpected(answer.error());
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, QuiesceTest, ::testing::Values("process", "in-process"),
                         [](const auto& about) { return about.param[0] == 'p' ? "Process" : "InProcess"; });

TEST_P(QuiesceTest, LetsGoWithClaimsInTheLedgerAndTakesTheHardwareBack) {
  const ClaimRef held = add_claim("one", {"gpu-0"}), next = add_claim("two", {"gpu-1"});
  start_and_register();
  const auto before = prepare(held);
  ASSERT_TRUE(hardware_is_open());

  const Said quiesced = cagectl("module quiesce mock --reason 'driver 580'");
  EXPECT_EQ(quiesced.code, 0) << quiesced.text;
  EXPECT_THAT(quiesced.text, AllOf(HasSubstr("module 'mock' is quiesced: by "), HasSubstr("(driver 580)"),
                                   HasSubstr("1 claim on its devices"), HasSubstr("default/one")));
  EXPECT_FALSE(hardware_is_open());
  EXPECT_THAT(cagectl("status").text, HasSubstr("warning: module 'mock' is quiesced by "));
  EXPECT_THAT(cagectl("devices").text, HasSubstr("unknown (Quiesced)"));

  const auto refused = try_prepare(next);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("module 'mock' is quiesced by "),
                                             HasSubstr("'cagectl module resume mock' takes it back into service")));
  EXPECT_EQ(prepare(held), before) << "what is prepared stays so";
  EXPECT_THAT(unprepare(held).error().message, HasSubstr("'cagectl module resume mock'")) << "never a fake success";
  EXPECT_THAT(files(hardware()), SizeIs(1));

  const Said resumed = cagectl("module resume mock");
  EXPECT_EQ(resumed.code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("module 'mock' is ready"));
  EXPECT_TRUE(hardware_is_open());
  EXPECT_THAT(files(hardware()), SizeIs(1)) << "reconciled with the live claim";
  EXPECT_THAT(prepare(next), SizeIs(1));
  EXPECT_TRUE(unprepare(held));
  EXPECT_TRUE(unprepare(next));
  EXPECT_THAT(files(hardware()), IsEmpty());
}

TEST_P(QuiesceTest, ACallThatRunsEndsFirst) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  play("delay prepare 1s");
  ASSERT_TRUE(kubelet.wait_for([&] { return cagectl("module quiesce mock --timeout 10s").code == 0; }));
  ASSERT_EQ(cagectl("module resume mock").code, 0);
  Result<std::vector<PreparedDevice>> prepared;
  std::thread caller([&] { prepared = try_prepare(claim); });
  ASSERT_TRUE(kubelet.wait_for([&] { return cagectl("claims").text.find("preparing") != std::string::npos; }));
  const Said busy = cagectl("module quiesce mock --timeout 100ms");
  EXPECT_EQ(busy.code, 1);
  EXPECT_THAT(busy.text, HasSubstr("module 'mock' is not quiesced, nothing changed: module 'mock' is still busy with "
                                   "prepare"));
  EXPECT_EQ(cagectl("module quiesce mock --timeout 10s").code, 0);
  caller.join();
  EXPECT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(files(hardware()), SizeIs(1));
  EXPECT_FALSE(hardware_is_open());
}

TEST_P(QuiesceTest, OutlivesTheDaemonAndNoNewFileStartsIt) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  const auto before = prepare(claim);
  ASSERT_EQ(cagectl("module quiesce mock").code, 0);
  daemon.crash();
  start_and_register();
  EXPECT_THAT(cagectl("modules").text, HasSubstr("quiesced: by "));
  const fs::path installed = daemon.folder() / "modules/libcardcage_mock.so";
  const std::string content = read_file(installed, 64u << 20).value() + "another build";
  ASSERT_TRUE(write_file_atomically(installed, content, 0644));
  EXPECT_THAT(unprepare(claim).error().message, HasSubstr("module 'mock' is quiesced by "));
  EXPECT_FALSE(hardware_is_open());
  EXPECT_EQ(cagectl("module resume mock").code, 0);
  EXPECT_EQ(prepare(claim), before);
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), IsEmpty());
}

TEST_P(QuiesceTest, AConfigurationThatChangesMeanwhileWaitsForTheResume) {
  const ClaimRef claim = add_claim("one", {"gpu-0"}), late = add_claim("late", {"gpu-4"});
  start_and_register();
  const auto before = prepare(claim);
  ASSERT_EQ(cagectl("module quiesce mock").code, 0);
  configure("devices = [\"gpu:5\"]", kDriver, GetParam());
  EXPECT_EQ(cagectl("reload").code, 0) << "that it waits is no failure";
  EXPECT_THAT(cagectl("modules").text, HasSubstr("quiesced: by "));
  EXPECT_FALSE(hardware_is_open());
  EXPECT_EQ(cagectl("module resume mock").code, 0);
  EXPECT_EQ(prepare(claim), before);
  EXPECT_THAT(prepare(late), SizeIs(1)) << "with the new options";
}

TEST_P(QuiesceTest, WhatTheModuleDoesNotDoIsAnError) {
  start_and_register();
  play("fail quiesce * gpu-0 is in use by process 42");
  // The script is read when inotify tells: until then quiesce works.
  ASSERT_TRUE(kubelet.wait_for([&] {
    const Said said = cagectl("module quiesce mock");
    if (said.code == 0) cagectl("module resume mock");
    return said.text.find("nothing changed: module 'mock' cannot quiesce: gpu-0 is in use by process 42") !=
           std::string::npos;
  })) << daemon.log();
  EXPECT_THAT(cagectl("modules").text, HasSubstr("ready"));
  EXPECT_THAT(cagectl("module quiesce mokc").text, HasSubstr("no module 'mokc' (did you mean 'mock'?)"));
  EXPECT_EQ(cagectl("module restart mock").code, 0);
}

TEST_F(DaemonTest, AWorkerThatCrashesWhileItIsQuiescedStaysQuiesced) {
  start_and_register();
  ASSERT_EQ(cagectl("module quiesce mock").code, 0);
  const std::vector<pid_t> workers = daemon.workers();
  ASSERT_THAT(workers, SizeIs(1));
  ASSERT_EQ(::kill(workers[0], SIGKILL), 0);
  ASSERT_TRUE(
      kubelet.wait_for([&] { return daemon.log().find("quiesced module is away") != std::string::npos; }));
  EXPECT_THAT(cagectl("modules").text, HasSubstr("quiesced: by "));
  EXPECT_THAT(daemon.workers(), IsEmpty());
  EXPECT_EQ(cagectl("module resume mock").code, 0);
  EXPECT_THAT(daemon.workers(), SizeIs(1));
}

}  // namespace
}  // namespace cardcage
