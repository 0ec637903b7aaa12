// Executes commands on served cards, and takes them from other processes through a unix socket.
#pragma once

#include <filesystem>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "host/core/unique_fd.h"
#include "sim/fpga/fake_fpgas.h"

namespace cardcage::fake_fpga {

// Runs the command, and returns its output. Throws std::exception with its fault.
std::string execute(FakeFpgas& fpgas, const std::vector<std::string>& words);
// Returns one line for each command.
std::string usage();

// Returns <root>.sock, beside the mount.
std::filesystem::path socket_of(const std::filesystem::path& root);

// Serves execute() during its lifetime; a slow command does not block others.
class ControlSocket {
 public:
  explicit ControlSocket(FakeFpgas& fpgas);
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;
  ~ControlSocket();

 private:
  void serve();
  void respond(UniqueFd connection);
  FakeFpgas& fpgas_;
  const std::filesystem::path path_;
  UniqueFd listener_, stop_;
  std::list<std::thread> connections_;
  std::thread server_;
};

struct Outcome {
  bool ok = false;
  std::string text;  // the output, or the error
};
// Sends a command to the server of the root. Throws std::system_error if there is none.
Outcome ask(const std::filesystem::path& root, const std::vector<std::string>& words);

// Writes an `xbutil` that acts on the cards below the root: served ones, or a plain tree of write_tree().
void install_xbutil(const std::filesystem::path& file, const std::filesystem::path& root);

}  // namespace cardcage::fake_fpga
