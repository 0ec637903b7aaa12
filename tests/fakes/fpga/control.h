// Commands of words to served cards, and the unix socket that takes them from other processes.
#pragma once

#include <filesystem>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "host/core/unique_fd.h"
#include "tests/fakes/fpga/fake_fpgas.h"

namespace cardcage::fake_fpga {

// What the command prints. Throws std::exception with what is wrong with it.
std::string execute(FakeFpgas& fpgas, const std::vector<std::string>& words);
// One line for each command.
std::string usage();

// <root>.sock, beside the mount.
std::filesystem::path socket_of(const std::filesystem::path& root);

// Serves execute() while it lives; a command that takes its time keeps no other waiting.
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
  std::string text;  // what it prints, or what is wrong
};
// Throws std::system_error if nobody serves the root.
Outcome ask(const std::filesystem::path& root, const std::vector<std::string>& words);

// Writes an `xbutil` that acts on the cards below the root: served ones, or a plain tree of write_tree().
void install_xbutil(const std::filesystem::path& file, const std::filesystem::path& root);

}  // namespace cardcage::fake_fpga
