// Tests the programs fake-fpga and xbutil, which tests in other languages run.
#include "sim/fpga/control.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "sim/fpga/built_files.h"
#include "sim/scratch_folder.h"
#include "tests/sim/fpga/text_of.h"

namespace cardcage::fake_fpga {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Returns the header of an xclbin for the U250 shell.
std::string xclbin(const std::string& vbnv = "xilinx_u250_gen3x16_xdma_shell_4_1") {
  std::string bytes(456, '\0');
  bytes.replace(0, 7, "xclbin2");
  bytes.replace(352, vbnv.size(), vbnv);
  for (int i = 0; i < 16; ++i) bytes[416 + static_cast<std::size_t>(i)] = static_cast<char>(0x10 + i);
  return bytes;
}
constexpr const char* kDesign = "10111213-1415-1617-1819-1a1b1c1d1e1f";

struct Printed {
  int status = -1;
  std::string text;
};
Printed run(const std::string& command) {
  Printed result;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "re");
  for (int byte = std::fgetc(pipe); byte != EOF; byte = std::fgetc(pipe))
    result.text.push_back(static_cast<char>(byte));
  result.status = WEXITSTATUS(::pclose(pipe));
  return result;
}

class FakeFpgaPrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder / "good.xclbin") << xclbin();
    std::ofstream(folder / "other.xclbin") << xclbin("xilinx_u50_gen3x16_xdma_5");
    std::ofstream(folder / "short.xclbin") << "xclbin2";
  }
  Printed program(const std::string& file) {
    return run(fmt::format("{} program -d 0000:65:00.1 -u {}", (folder / "xbutil").native(), (folder / file).native()));
  }
  fs::path design() { return folder / "node" / "sys/bus/pci/devices/0000:65:00.1/xclbinuuid"; }
  const ScratchFolder folder;
};

TEST_F(FakeFpgaPrograms, XbutilActsOnAPlainTree) {
  write_tree(folder / "node", {u250()});
  install_xbutil(folder / "xbutil", folder / "node");
  EXPECT_EQ(program("good.xclbin").status, 0);
  EXPECT_EQ(text_of(design()), std::string(kDesign) + "\n");
  const Printed other = program("other.xclbin");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.text, HasSubstr("does not match shell"));
  EXPECT_EQ(program("short.xclbin").status, 1);
  EXPECT_EQ(program("missing.xclbin").status, 1);
  EXPECT_EQ(text_of(design()), std::string(kDesign) + "\n");
  const std::string tool = (folder / "xbutil").native();
  EXPECT_EQ(run(tool + " reset -d 0000:65:00.1").status, 0);
  EXPECT_EQ(text_of(design()), "00000000-0000-0000-0000-000000000000\n");
  EXPECT_THAT(run(tool + " reset -d 0000:65:00.0").text, HasSubstr("not found")) << "the management function";
  EXPECT_THAT(run(tool + " --version").text, HasSubstr("Version              : 2."));
}

TEST_F(FakeFpgaPrograms, APlainTreeIsWritten) {
  const std::string command = fmt::format("{} write {} ", program_file().native(), (folder / "plain").native());
  EXPECT_EQ(run(command + "n3000@0000:17:00.0").status, 0);
  EXPECT_EQ(text_of(folder / "plain" / "sys/bus/pci/devices/0000:17:00.0/device"), "0x0b30\n");
  EXPECT_THAT(run(command + "n4000").text, HasSubstr("no card is called 'n4000'"));
}

TEST_F(FakeFpgaPrograms, XbutilActsOnServedCards) {
  fs::create_directory(folder / "node");
  FakeFpgas fpgas({u250()}, {.folder = folder / "node"});
  if (!fpgas.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  const ControlSocket control(fpgas);
  install_xbutil(folder / "xbutil", folder / "node");
  fpgas.fail_next({EIO, "CRC", ""});
  const Printed failed = program("good.xclbin");
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.text, HasSubstr("ERROR: Failed to load xclbin: CRC"));
  EXPECT_EQ(text_of(design()), "00000000-0000-0000-0000-000000000000\n");
  EXPECT_EQ(program("good.xclbin").status, 0);
  EXPECT_EQ(text_of(design()), std::string(kDesign) + "\n");
}

// A running `fake-fpga serve`.
class ServedByAProgram : public FakeFpgaPrograms {
 protected:
  void SetUp() override {
    if (!start()) GTEST_SKIP() << "no file system can be mounted here";
  }
  bool start() {
    const std::string command = fmt::format("exec {} serve {} --node-number 1:3 n3000 four-ports@0000:17:00.0 u250",
                                            program_file().native(), root.native());
    int ends[2];
    if (::pipe(ends) != 0) return false;
    server = ::fork();
    if (server == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    char said[6] = {};
    const ssize_t size = ::read(ends[0], said, sizeof said);
    ::close(ends[0]);
    return size == sizeof said;
  }
  void TearDown() override {
    ::kill(server, SIGTERM);
    int status = 0;
    ::waitpid(server, &status, 0);
    EXPECT_FALSE(fs::exists(root / "sys")) << "unmounted";
    EXPECT_FALSE(fs::exists(socket_of(root)));
  }
  Printed control(const std::string& words) {
    return run(fmt::format("{} {} {}", program_file().native(), root.native(), words));
  }
  const fs::path root = folder / "served";
  pid_t server = -1;
};

TEST_F(ServedByAProgram, CardsAreChangedFromOutside) {
  const fs::path port = root / "sys/bus/platform/devices/dfl-port.0";
  EXPECT_EQ(text_of(port / "dev"), "1:3\n");
  EXPECT_EQ(control("set-error 0000:3b:00.0 0 0x4").status, 0);
  EXPECT_EQ(text_of(port / "errors/errors"), "0x4\n");
  EXPECT_EQ(control("afu 0000:3b:00.0 0 ffffffffffffffffffffffffffffffff").status, 0);
  EXPECT_EQ(text_of(port / "afu_id"), "ffffffffffffffffffffffffffffffff\n");
  EXPECT_EQ(control("sensor 0000:3b:00.0 dfl_fme_thermal temp1_max_alarm 1").status, 0);
  EXPECT_EQ(control("shell-gone 0000:17:00.0 on").status, 0);
  EXPECT_FALSE(fs::exists(root / "sys/bus/pci/devices/0000:17:00.0/fpga_region"));
  EXPECT_EQ(control("xrt 0000:65:00.0 firewall 5").status, 0);
  EXPECT_EQ(text_of(root / "sys/bus/pci/devices/0000:65:00.0/firewall.m.25856/level"), "5\n");
  std::ofstream(root / "sys/bus/pci/devices/0000:3b:00.0/driver_override") << "vfio-pci\n";
  EXPECT_THAT(control("log").text, HasSubstr("driver_override: vfio-pci\n"));
  EXPECT_THAT(control("show").text, HasSubstr("dfl-port.0 id 0 afu ffffffffffffffffffffffffffffffff errors 0x4"));
  EXPECT_EQ(control("programming").text, "0\n");
}

TEST_F(ServedByAProgram, OneThatWasKilledIsStartedAgain) {
  ::kill(server, SIGKILL);
  int status = 0;
  ::waitpid(server, &status, 0);
  EXPECT_THAT(control("show").text, HasSubstr("Connection refused"));
  ASSERT_TRUE(start());
  EXPECT_EQ(control("show").status, 0);
}

TEST_F(ServedByAProgram, ABadCommandIsExplained) {
  const Printed unknown = control("explode");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.text, HasSubstr("explode: no such command"));
  EXPECT_THAT(control("afu 0000:3b:00.0").text, HasSubstr("too few words"));
  EXPECT_THAT(control("afu 0000:00:00.0 0 x").text, HasSubstr("no card at 0000:00:00.0"));
  EXPECT_THAT(control("interface 0000:65:00.0 x").status, 1) << "not a DFL card";
  EXPECT_EQ(run(program_file().native() + " serve /nowhere/else n4000").status, 1);
  EXPECT_EQ(run(program_file().native()).status, 2);
}

}  // namespace
}  // namespace cardcage::fake_fpga
