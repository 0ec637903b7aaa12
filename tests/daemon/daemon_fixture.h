// The real daemon with the mock module on an embedded node, and a kubelet to play against it.
#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/fakes/daemon_process.h"
#include "tests/fakes/fake_device_manager.h"
#include "tests/fakes/fake_kubelet.h"

namespace cardcage {

inline constexpr const char* kDriver = "gpu.mock.cardcage.dev";

class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest() { configure("devices = [\"gpu:4\"]"); }
  ~DaemonTest() override;

  // [module.options] of the mock module.
  void configure(const std::string& options, const std::string& driver = kDriver,
                 const std::string& isolation = "process", const std::string& sections = "") {
    daemon.configure(daemon.node_section((daemon.folder() / "node").native()) + sections +
                     "[[module]]\nname = \"mock\"\npath = \"libcardcage_mock.so\"\nisolation = \"" + isolation +
                     "\"\n[module.options]\nmount_dir = \"" + hardware().native() + "\"\n" + options +
                     "\n[[module.serve]]\napi = \"dra\"\ndriver = \"" + driver + "\"\n");
  }
  // Where the mock keeps a file per prepared device: its hardware's state.
  std::filesystem::path hardware() const { return daemon.folder() / "hardware"; }

  // Where the mock reads what happens to its hardware, if the options name it, and a line more of that.
  std::filesystem::path script() const { return daemon.folder() / "script"; }
  void play(const std::string& line) const { std::ofstream(script(), std::ios::app) << line << '\n'; }

  // An allocated claim in the embedded node's folder.
  ClaimRef add_claim(const std::string& name, const std::vector<std::string>& devices);
  void start_and_register();

  std::vector<PreparedDevice> prepare(const ClaimRef& claim);
  Status unprepare(const ClaimRef& claim);
  struct Said {
    int code;
    std::string text;  // both streams
  };
  // `words` as a shell reads them.
  Said cagectl(const std::string& words) const;
  std::vector<std::string> files(const std::filesystem::path& folder) const;

  DaemonProcess daemon{CARDCAGE_DAEMON, CARDCAGE_MOCK};
  FakeDeviceManager manager{{.folder = daemon.folder() / "device-plugins"}};
  FakeKubelet kubelet{{.root = daemon.folder() / "kubelet", .devices = &manager}};
};

}  // namespace cardcage
