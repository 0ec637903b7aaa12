// Quiesce and resume: a module releases its hardware, for instance for a driver upgrade, and takes it back.
#include <signal.h>

#include <algorithm>
#include <thread>

#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/proc.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class QuiesceTest : public DaemonTest, public ::testing::WithParamInterface<const char*> {
 protected:
  QuiesceTest() {
    configure("devices = [\"gpu:2\"]\nscript_file = \"" + script().native() + "\"", kDriver, GetParam());
  }

  // True if the daemon or a worker has the mock's hardware open.
  bool hardware_is_open() const {
    return std::ranges::any_of(daemon.processes(), [this](pid_t pid) {
      return std::ranges::any_of(proc::open_files(pid), [this](const auto& file) { return file.second == hardware(); });
    });
  }
  Result<std::vector<PreparedDevice>> try_prepare(const ClaimRef& claim) {
    auto response = kubelet.prepare(kDriver, {claim});
    return response ? response->at(claim.uid) : std::unexpected(response.error());
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, QuiesceTest, ::testing::Values("process", "in-process"), name_of_isolation);

TEST_P(QuiesceTest, ReleasesTheHardwareDespiteClaimsAndTakesItBack) {
  const ClaimRef held = add_claim("one", {"gpu-0"}), next = add_claim("two", {"gpu-1"});
  start_and_register();
  const auto before = prepare(held);
  ASSERT_TRUE(hardware_is_open());

  const Output quiesced = cagectl("module quiesce mock --reason 'driver 580'");
  EXPECT_EQ(quiesced.code, 0) << quiesced.text;
  EXPECT_THAT(quiesced.text, AllOf(HasSubstr("module 'mock' is quiesced: by "), HasSubstr("(driver 580)"),
                                   HasSubstr("its devices stay with 1 claim"), HasSubstr("default/one")));
  EXPECT_FALSE(hardware_is_open());
  EXPECT_THAT(cagectl("status").text, HasSubstr("warning: module 'mock' is quiesced by "));
  EXPECT_THAT(cagectl("devices").text, HasSubstr("unknown (Quiesced)"));

  const auto refused = try_prepare(next);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("module 'mock' is quiesced by "),
                                             HasSubstr("'cagectl module resume mock' takes it back into service")));
  EXPECT_EQ(prepare(held), before) << "prepared claims stay prepared";
  EXPECT_THAT(unprepare(held).error().message, HasSubstr("'cagectl module resume mock'"))
      << "the call must not pretend to succeed";
  EXPECT_THAT(files(hardware()), SizeIs(1));

  const Output resumed = cagectl("module resume mock");
  EXPECT_EQ(resumed.code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("module 'mock' is ready"));
  EXPECT_TRUE(hardware_is_open());
  EXPECT_THAT(files(hardware()), SizeIs(1)) << "reconciled with the live claim";
  EXPECT_THAT(prepare(next), SizeIs(1));
  EXPECT_TRUE(unprepare(held));
  EXPECT_TRUE(unprepare(next));
  EXPECT_THAT(files(hardware()), IsEmpty());
}

TEST_P(QuiesceTest, OneDeviceWaitsForItsResumeWhileTheOthersServe) {
  const ClaimRef held = add_claim("one", {"gpu-0"}), again = add_claim("two", {"gpu-0"}),
                 other = add_claim("three", {"gpu-1"});
  start_and_register();
  prepare(held);
  const Output quiesced = cagectl("module quiesce mock gpu-0 --reason 'reset it'");
  EXPECT_EQ(quiesced.code, 0) << quiesced.text;
  EXPECT_THAT(quiesced.text, AllOf(HasSubstr("device 'gpu-0' of module 'mock' is quiesced"),
                                   HasSubstr("it stays with 1 claim"), HasSubstr("default/one")));
  EXPECT_THAT(cagectl("devices").text, HasSubstr("unknown (Quiesced)"));
  EXPECT_THAT(cagectl("status").text, HasSubstr("warning: module 'mock': device 'gpu-0' is quiesced by "));
  EXPECT_TRUE(unprepare(held)) << "its module is called";
  EXPECT_THAT(prepare(other), SizeIs(1));

  daemon.crash();
  start_and_register();
  const auto refused = try_prepare(again);
  ASSERT_FALSE(refused);
  EXPECT_THAT(
      refused.error().message,
      AllOf(HasSubstr("(reset it)"), HasSubstr("'cagectl module resume mock gpu-0' takes it back into service")));
  EXPECT_EQ(cagectl("module resume mock gpu-0").text,
            "device 'gpu-0' of module 'mock' is resumed\nno claim holds it\n");
  EXPECT_THAT(prepare(again), SizeIs(1));
  EXPECT_THAT(cagectl("module quiesce mock gpu-7").text,
              HasSubstr("module 'mock' has no device 'gpu-7'; 'cagectl devices' lists them"));
}

TEST_P(QuiesceTest, WaitsForARunningCall) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  play("delay prepare 3s");
  ASSERT_TRUE(kubelet.wait_for([&] { return cagectl("module quiesce mock --timeout 10s").code == 0; }));
  ASSERT_EQ(cagectl("module resume mock").code, 0);
  Result<std::vector<PreparedDevice>> prepared;
  std::thread caller([&] { prepared = try_prepare(claim); });
  ASSERT_TRUE(shows("claims", "preparing"));
  const Output busy = cagectl("module quiesce mock --timeout 100ms");
  EXPECT_EQ(busy.code, 1);
  EXPECT_THAT(busy.text, HasSubstr("module 'mock' is not quiesced, nothing changed: it is still busy with "
                                   "prepare"));
  EXPECT_EQ(cagectl("module quiesce mock --timeout 10s").code, 0);
  caller.join();
  EXPECT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(files(hardware()), SizeIs(1));
  EXPECT_FALSE(hardware_is_open());
}

TEST_P(QuiesceTest, SurvivesADaemonRestartAndANewFile) {
  const ClaimRef claim = add_claim("one", {"gpu-0"});
  start_and_register();
  const auto before = prepare(claim);
  ASSERT_EQ(cagectl("module quiesce mock").code, 0);
  daemon.crash();
  start_and_register();
  EXPECT_THAT(cagectl("modules").text, HasSubstr("quiesced: by "));
  install_module(another_build());
  EXPECT_THAT(unprepare(claim).error().message, HasSubstr(": it is quiesced by "));
  EXPECT_FALSE(hardware_is_open());
  EXPECT_EQ(cagectl("module resume mock").code, 0);
  EXPECT_EQ(prepare(claim), before);
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), IsEmpty());
}

TEST_P(QuiesceTest, AChangedConfigurationWaitsForTheResume) {
  const ClaimRef claim = add_claim("one", {"gpu-0"}), late = add_claim("late", {"gpu-4"});
  start_and_register();
  const auto before = prepare(claim);
  ASSERT_EQ(cagectl("module quiesce mock").code, 0);
  configure("devices = [\"gpu:5\"]", kDriver, GetParam());
  EXPECT_EQ(cagectl("reload").code, 0) << "waiting is not a failure";
  EXPECT_THAT(cagectl("modules").text, HasSubstr("quiesced: by "));
  EXPECT_FALSE(hardware_is_open());
  EXPECT_EQ(cagectl("module resume mock").code, 0);
  EXPECT_EQ(prepare(claim), before);
  EXPECT_THAT(prepare(late), SizeIs(1)) << "with the new options";
}

TEST_P(QuiesceTest, AModuleThatCannotQuiesceIsAnError) {
  start_and_register();
  play("fail quiesce * gpu-0 is in use by process 42");
  // The module reads the script when inotify reports it; until then quiesce works.
  ASSERT_TRUE(kubelet.wait_for([&] {
    const Output output = cagectl("module quiesce mock");
    if (output.code == 0) cagectl("module resume mock");
    return output.text.find("nothing changed: gpu-0 is in use by process 42") != std::string::npos;
  })) << daemon.log();
  EXPECT_THAT(cagectl("modules").text, HasSubstr("ready"));
  EXPECT_THAT(cagectl("module quiesce mokc").text, HasSubstr("no module 'mokc' (did you mean 'mock'?)"));
  EXPECT_EQ(cagectl("module restart mock").code, 0);
}

TEST_F(DaemonTest, AQuiescedWorkerThatCrashesStaysQuiesced) {
  start_and_register();
  ASSERT_EQ(cagectl("module quiesce mock").code, 0);
  const std::vector<pid_t> workers = daemon.workers();
  ASSERT_THAT(workers, SizeIs(1));
  ASSERT_EQ(::kill(workers[0], SIGKILL), 0);
  ASSERT_TRUE(logged("quiesced module is away"));
  EXPECT_THAT(cagectl("modules").text, HasSubstr("quiesced: by "));
  EXPECT_THAT(daemon.workers(), IsEmpty());
  EXPECT_EQ(cagectl("module resume mock").code, 0);
  EXPECT_THAT(daemon.workers(), SizeIs(1));
}

}  // namespace
}  // namespace cardcage
