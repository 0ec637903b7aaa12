// The hook's program as a file of the node: the daemon may run in a container, and the runtime does not.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <memory>
#include <vector>

#include "host/core/clock.h"
#include "host/core/file.h"
#include "host/core/result.h"
#include "host/core/task.h"
#include "host/model/edits.h"

namespace cardcage {

// [core] A thread of its own reads and writes the file, so that no call waits for the disk. A check that is in progress
// shares the object with its owner.
class HookFile : public std::enable_shared_from_this<HookFile> {
 public:
  struct Places {
    std::filesystem::path program;  // source beside the daemon
    std::filesystem::path folder;  // folder of the copy; its path is the same in the daemon's container and on the node
    std::filesystem::path run_dir;  // folder in which the hook finds the daemon
  };
  HookFile(asio::io_context& core, Clock& clock, Places places)
      : core_(core), clock_(clock), places_(std::move(places)) {}

  // Installs the program unless the file in the folder has the same content; does not wait for that. Running containers
  // have the path in their CDI files, so every version of the program has the same path.
  void check();
  // Returns once the program is in place, or the error. Retries after a failure.
  Task<Status> ready(Instant deadline);
  // Returns the result of the last check; ok while the first one is in progress.
  Status state() const { return state_.value_or(Status()); }

  Hook sandbox_hook(const std::string& driver, const std::string& claim_uid) const;
  // Converts edits that CDI cannot express into hooks.
  void make_hooks(Edits& edits) const;
  const std::filesystem::path& folder() const { return places_.folder; }

 private:
  // Files whose contents were equal.
  struct Compared {
    FileStamp program, copy;
    friend bool operator==(const Compared&, const Compared&) = default;
  };
  static Result<Compared> place(const Places& places, const Compared& equal);
  static Task<void> place_once(std::shared_ptr<HookFile> self);
  void note(const Result<Compared>& placed);
  Hook hook_with(std::string name, std::vector<std::string> arguments) const;

  asio::io_context& core_;
  Clock& clock_;
  const Places places_;
  Compared equal_;
  std::optional<Status> state_;  // empty until the first check has ended
  bool checking_ = false;
  std::vector<OneShot<bool>> waiting_;  // callers that wait for the end of the check
  asio::thread_pool disk_{1};
};

}  // namespace cardcage
