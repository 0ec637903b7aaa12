// Checks FME_PORT_PR and `firmware` against the drivers' sources: their results, and the accesses that wait for them.
#include <signal.h>
#include <sys/wait.h>

#include <future>

#include "tests/sim/fpga/kernel_fixture.h"

namespace cardcage {
namespace {

TEST_F(FakeFpgaKernel, ProgrammingChangesTheAcceleratorAndNothingElse) {
  EXPECT_EQ(program(1, payload), 0);
  EXPECT_EQ(read_file(port("afu_id", 1)).text, "f7df405cbd7acf7222f144b0b93acd18\n");
  EXPECT_EQ(read_file(port("afu_id", 0)).text, "d8424dc4a4a3c413f89e433683f9040b\n");
  EXPECT_EQ(read_file(manager() / "state").text, "operating\n");
  EXPECT_EQ(read_file(manager() / "status").text, "");
  // Neither the kernel nor the fake compares interface ids: this one belongs to another shell.
  EXPECT_EQ(program(0, fake_payload(fake_fpga::kN3000Afu, 61)), 0);
  EXPECT_EQ(read_file(port("afu_id")).text, "9aeffe5f84570612c000c9660d824272\n");
  EXPECT_EQ(fpgas.last_payload().size(), 64u) << "padded to four bytes";
}

TEST_F(FakeFpgaKernel, ProgrammingTakesALargePayload) {
  EXPECT_EQ(program(0, fake_payload(fake_fpga::kNlb3, 8u << 20)), 0);
  EXPECT_EQ(fpgas.last_payload().size(), 8u << 20);
}

TEST_F(FakeFpgaKernel, ACardWithoutItsDriverShowsNothing) {
  ASSERT_EQ(write_file(fpgas.sysfs() / "bus/pci/drivers/dfl-pci/unbind", kCard), 0);
  EXPECT_FALSE(fs::exists(fpgas.function(kCard) / "fpga_region"));
}

TEST(FakeFpgaOtherDriver, AFailureMayEnableThePortAgain) {
  FakeFpgas fpgas({fake_fpga::n3000(kOther)}, {.failure_keeps_port_disabled = false});
  if (!fpgas.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  fpgas.fail_next({ETIMEDOUT, "", "write init error"});
  const UniqueFd fme = open_node(fpgas.fme_node(kOther));
  const std::string payload = fake_payload(fake_fpga::kNlb0);
  dfl_fpga_fme_port_pr pr{.argsz = sizeof pr, .buffer_size = 64};
  pr.buffer_address = reinterpret_cast<std::uint64_t>(payload.data());
  EXPECT_EQ(call_with(fme, DFL_FPGA_FME_PORT_PR, pr), ETIMEDOUT);
  EXPECT_EQ(read_file(fpgas.port_folder(kOther) / "afu_id").text, "9aeffe5f84570612c000c9660d824272\n");
}

TEST_F(FakeFpgaKernel, WhileACardIsProgrammedOnlyItsFmeWaits) {
  fpgas.hold();
  auto running = std::async(std::launch::async, [&] { return program(0, payload); });
  ASSERT_TRUE(eventually([&] { return fpgas.programming() == 1; }));
  EXPECT_EQ(read_file(port("afu_id", 0)), (Text{"", EBUSY}));
  EXPECT_EQ(read_file(port("afu_id", 1)).error, 0);
  EXPECT_EQ(read_file(fme("errors/catfatal_errors")).text, "0x0\n") << "read without the lock";
  EXPECT_EQ(read_file(manager() / "state").text, "write\n");
  EXPECT_TRUE(open_node(fpgas.port_node(kCard, 1), O_EXCL));
  EXPECT_TRUE(open_node(fpgas.fme_node(kOther)));
  auto errors = std::async(std::launch::async, [&] { return read_file(fme("errors/fme_errors")); });
  auto second = std::async(std::launch::async, [&] { return program(1, payload); });
  EXPECT_EQ(errors.wait_for(100ms), std::future_status::timeout);
  EXPECT_EQ(second.wait_for(0ms), std::future_status::timeout);
  EXPECT_EQ(fpgas.programming(), 1u);
  fpgas.release();
  EXPECT_EQ(running.get(), 0);
  EXPECT_EQ(errors.get().text, "0x0\n");
  EXPECT_EQ(second.get(), 0);
}

TEST_F(FakeFpgaKernel, CardsAreProgrammedAtTheSameTime) {
  fpgas.hold();
  auto one = std::async(std::launch::async, [&] { return program(0, payload); });
  auto other = std::async(std::launch::async, [&] { return program(0, payload, kOther); });
  EXPECT_TRUE(eventually([&] { return fpgas.programming() == 2; }));
  fpgas.release();
  EXPECT_EQ(one.get(), 0);
  EXPECT_EQ(other.get(), 0);
}

TEST_F(FakeFpgaKernel, ProgrammingTakesItsTime) {
  fpgas.set_programming_time(50ms);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(program(0, payload), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 50ms);
}

TEST_F(FakeFpgaKernel, ProgrammingEndsWithoutItsCaller) {
  fpgas.hold();
  const fs::path node = fpgas.fme_node(kCard);  // takes a lock, which the child may find taken
  const pid_t child = ::fork();
  if (child == 0) ::_exit(program_at(node, 0, payload));
  ASSERT_TRUE(eventually([&] { return fpgas.programming() == 1; }));
  ::kill(child, SIGKILL);
  std::this_thread::sleep_for(50ms);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, WNOHANG), 0) << "it waits in the kernel";
  fpgas.release();
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(read_file(port("afu_id")).text, "f7df405cbd7acf7222f144b0b93acd18\n");
}

TEST_F(FakeFpgaKernel, FirmwareProgramsAnSoc) {
  const fs::path soc = fs::canonical(fpgas.sysfs() / "class/fpga_manager/fpga3");
  ASSERT_EQ(read_file(soc / "name").text, "Xilinx ZynqMP FPGA Manager\n");
  fpgas.hold();
  auto running = std::async(std::launch::async, [&] { return write_file(soc / "firmware", "base.bit.bin\n"); });
  ASSERT_TRUE(eventually([&] { return fpgas.programming() == 1; }));
  EXPECT_EQ(read_file(soc / "state").text, "write\n");
  EXPECT_EQ(write_file(soc / "firmware", "other.bin"), EBUSY);
  fpgas.release();
  EXPECT_EQ(running.get(), 0);
  EXPECT_EQ(read_file(soc / "state").text, "operating\n");
  fpgas.fail_next({EIO, "", "write error"});
  EXPECT_EQ(write_file(soc / "firmware", "bad.bin"), EIO);
  EXPECT_EQ(read_file(soc / "state").text, "write error\n");
  EXPECT_EQ(write_file(soc / "flags", "1"), 0);
  EXPECT_EQ(read_file(soc / "flags").text, "1\n");
  EXPECT_EQ(read_file(soc / "firmware").error, EACCES) << "write-only";
}

}  // namespace
}  // namespace cardcage
