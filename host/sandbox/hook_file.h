// The hook's program as a file of the node: the daemon may run in a container, and the runtime does not.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <vector>

#include "host/core/clock.h"
#include "host/core/file.h"
#include "host/core/result.h"
#include "host/core/task.h"
#include "host/model/edits.h"

namespace cardcage {

// [core] A thread of its own reads and writes the file, so that no call waits for the disk.
class HookFile {
 public:
  struct Places {
    std::filesystem::path program;  // beside the daemon
    std::filesystem::path folder;   // gets a copy; its path is the same in the daemon's container and on the node
    std::filesystem::path run_dir;  // where the hook finds the daemon
  };
  HookFile(asio::io_context& core, Clock& clock, Places places)
      : core_(core), clock_(clock), places_(std::move(places)) {}

  // Installs the program unless the file in the folder has the same content. Does not wait for that. Containers that
  // run have the path in their CDI files, so every version of the program has the same.
  void look();
  // Returns once the program is in place, or why it is not. Looks again after a failure.
  Task<Status> ready(Instant deadline);
  // The result of the last look; good while the first one is under way.
  Status state() const { return state_.value_or(Status()); }

  Hook sandbox_hook(const std::string& driver, const std::string& claim_uid) const;
  // Makes hooks of what CDI has no word for.
  void make_hooks(Edits& edits) const;
  const std::filesystem::path& folder() const { return places_.folder; }

 private:
  // The files whose contents were equal.
  struct Compared {
    FileStamp program, copy;
    friend bool operator==(const Compared&, const Compared&) = default;
  };
  static Result<Compared> place(const Places& places, const Compared& equal);
  Task<void> place_once();
  Hook hook_with(std::string name, std::vector<std::string> arguments) const;

  asio::io_context& core_;
  Clock& clock_;
  const Places places_;
  Compared equal_;
  std::optional<Status> state_;  // empty until the first look has ended
  bool looking_ = false;
  std::vector<OneShot<bool>> waiting_;  // for the end of the look
  asio::thread_pool disk_{1};
};

}  // namespace cardcage
