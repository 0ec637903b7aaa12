// A node on a developer's desk: a daemon that serves one module file on an embedded node, in a temporary folder.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cardcage/admin.pb.h"
#include "host/config/config.h"

namespace cardcage {

struct DeskModule {
  std::filesystem::path file;  // absolute
  std::string name, driver;
  std::map<std::string, RawOption> options;
  std::vector<std::filesystem::path> programs;
  std::vector<std::string> writes;
};

// Returns the configuration of the daemon: every device of the module is served, in the pool "desk".
std::string desk_config(const DeskModule& module, const std::filesystem::path& folder);
// Returns a ResourceClaim for the device as the scheduler leaves it.
std::string desk_claim(const admin::v1::Device& device);

// Ends the daemon and removes the folder with the object.
class DeskNode {
 public:
  static Result<DeskNode> make(DeskModule module);
  DeskNode(DeskNode&& other) noexcept;
  DeskNode(const DeskNode&) = delete;
  DeskNode& operator=(const DeskNode&) = delete;
  ~DeskNode();

  std::filesystem::path socket() const { return folder_ / "admin.sock"; }
  std::filesystem::path claim_file() const { return folder_ / "claim.json"; }
  std::filesystem::path kubelet_root() const { return folder_ / "kubelet"; }
  std::filesystem::path cdi_dir() const { return folder_ / "cdi"; }

  // Starts the daemon. Its log goes to stderr, or to a file if `quiet`.
  Status start(bool quiet);
  // Waits for a device of the module that works and writes a claim for it. Fails if the daemon ends before.
  Result<admin::v1::Device> wait_for_device();
  // Runs this program with the daemon's socket, and with stdout and stderr of its own. Returns the exit code.
  Result<int> run_cagectl(std::vector<std::string> arguments) const;
  // Waits until the daemon ends, or a signal asks for the end of both.
  Status wait();
  std::string log() const;

 private:
  DeskNode(DeskModule module, std::filesystem::path folder) : module_(std::move(module)), folder_(std::move(folder)) {}
  bool has_ended();
  // Fails if the module cannot run.
  Status check_module() const;

  const DeskModule module_;
  std::filesystem::path folder_;  // empty if the object was moved from
  pid_t daemon_ = -1;             // -1: not started, or reaped
  int status_ = 0;                // as waitpid(2) reports it
};

}  // namespace cardcage
