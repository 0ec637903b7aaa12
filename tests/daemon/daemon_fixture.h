// The real daemon with the mock module on an embedded node, and a fake kubelet that uses it.
#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fakes/built_files.h"
#include "tests/fakes/daemon_process.h"
#include "tests/fakes/fake_device_manager.h"
#include "tests/fakes/fake_kubelet.h"

namespace cardcage {

inline constexpr const char* kDriver = "gpu.mock.cardcage.dev";
inline constexpr const char* kFpga = "mock.cardcage.dev/fpga";

// For tests that run with each value of module.isolation.
inline std::string name_of_isolation(const ::testing::TestParamInfo<const char*>& about) {
  return about.param == std::string_view("process") ? "Process" : "InProcess";
}

class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest() { configure("devices = [\"gpu:4\"]"); }
  ~DaemonTest() override;

  // Writes the configuration of the mock module; `options` are its [module.options], `keys` are other keys.
  void configure(const std::string& options, const std::string& driver = kDriver,
                 const std::string& isolation = "process", const std::string& sections = "",
                 const std::string& keys = "") {
    daemon.configure(daemon.node_section((daemon.folder() / "node").native()) + sections +
                     "[[module]]\nname = \"mock\"\npath = \"libcardcage_mock.so\"\nisolation = \"" + isolation +
                     "\"\n" + keys + "[module.options]\nmount_dir = \"" + hardware().native() + "\"\n" + options +
                     "\n[[module.serve]]\napi = \"dra\"\ndriver = \"" + driver + "\"\n");
  }
  // The state of the mock's hardware: one file per prepared device.
  std::filesystem::path hardware() const { return daemon.folder() / "hardware"; }

  // The mock reads events of its hardware from this file if the options name it.
  std::filesystem::path script() const { return daemon.folder() / "script"; }
  // Appends an event.
  void play(const std::string& line) const { std::ofstream(script(), std::ios::app) << line << '\n'; }

  // Adds an allocated claim to the embedded node.
  ClaimRef add_claim(const std::string& name, const std::vector<std::string>& devices);
  void start_and_register();

  std::vector<PreparedDevice> prepare(const ClaimRef& claim);
  Status unprepare(const ClaimRef& claim);
  struct Output {
    int code;
    std::string text;  // stdout and stderr
  };
  // Runs cagectl with `arguments`, as a shell splits them.
  Output cagectl(const std::string& arguments) const;
  // Names of the files in the folder and below, sorted.
  std::vector<std::string> files(const std::filesystem::path& folder) const;
  // The mock as another build: bytes after the last section of an ELF file have no meaning.
  std::string another_build(const std::string& trailer = "another build") const;
  // Renames a file with this content over the installed module.
  void install_module(const std::string& content) const;

  // Wait until the log or the output of cagectl contains the text.
  bool logged(const std::string& text, std::chrono::milliseconds limit = std::chrono::seconds(30));
  bool shows(const std::string& command, const std::string& text,
             std::chrono::milliseconds limit = std::chrono::seconds(30));

  DaemonProcess daemon{built_program(CARDCAGE_DAEMON), built_module("mock")};
  FakeDeviceManager manager{{.folder = daemon.folder() / "device-plugins"}};
  FakeKubelet kubelet{{.root = daemon.folder() / "kubelet", .devices = &manager}};
};

}  // namespace cardcage
