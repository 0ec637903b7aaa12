// Requests of a module to the host during one of its calls. The module's thread waits for the reply.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/core/result.h"

namespace cardcage {

// cage.edits.journal: keeps the bytes with the claim.
struct JournalAsk {
  static constexpr std::string_view kName = "write the journal";
  std::string bytes;
};

// cage.exec: runs a program of the node.
struct ExecAsk {
  static constexpr std::string_view kName = "run a program";
  std::string program;                              // must be one that the module's configuration allows
  std::vector<std::string> arguments, environment;  // without the program's name; "NAME=value"
  std::chrono::milliseconds limit{0};               // 0 = the deadline of the call
  std::string input = {};                           // the program's standard input
};
struct ExecResult {
  int exit_status = -1, signal = 0;     // -1 if a signal ended it
  bool timed_out = false, cut = false;  // cut: the output was longer
  std::string out, err;
};

// cage.write: writes to a kernel file.
struct FileWriteAsk {
  static constexpr std::string_view kName = "write a file";
  std::string device_id, path, data;
  std::chrono::milliseconds limit{0};  // 0 = the deadline of the call
};
// cage.write: makes an ioctl(2) on a device node.
struct IoctlAsk {
  static constexpr std::string_view kName = "make an ioctl";
  std::string device_id, path;
  std::uint64_t request = 0;
  std::string argument, data_path;  // a file to map, empty = none
  std::uint32_t data_offset = 0;    // offset of the data's address in the argument
  std::chrono::milliseconds limit{0};
  std::string data_sha256;       // lower-case hex; empty = the file is not checked
  std::uint64_t data_start = 0;  // offset of the first byte in the file
  std::uint32_t flags = 0;       // CAGE_IOCTL_*
};
struct IoctlResult {
  std::string argument;
};
// cage.write: binds a PCI function to a driver.
struct DriverAsk {
  static constexpr std::string_view kName = "switch a driver";
  std::string device_id, pci_bus_id, driver;  // an empty driver restores the function's original one
};

// cage.service: keeps a program running for the claim of the call.
struct ServiceStartAsk {
  static constexpr std::string_view kName = "start a service";
  std::string name;
  ExecAsk command;  // its limit is ignored
};
struct ServiceStopAsk {
  static constexpr std::string_view kName = "stop a service";
  std::string name;
};

using ModuleAsk = std::variant<JournalAsk, ExecAsk, FileWriteAsk, IoctlAsk, DriverAsk, ServiceStartAsk, ServiceStopAsk>;
// An ExecResult for an ExecAsk, an IoctlResult for an IoctlAsk, else monostate.
using AskReply = std::variant<std::monostate, ExecResult, IoctlResult>;

inline std::string_view name_of(const ModuleAsk& ask) {
  return std::visit([](const auto& one) { return one.kName; }, ask);
}

// Keeps the journal of a claim that a module is preparing; see Module::prepare. [core]
using JournalWriter = std::function<Status(std::string bytes)>;

}  // namespace cardcage
