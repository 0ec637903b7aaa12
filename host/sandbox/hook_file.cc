#include "host/sandbox/hook_file.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "host/core/log.h"
#include "host/core/trusted_path.h"
#include "host/hook/hook_request.h"
#include "host/hook/root_changes.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxProgram = 64u << 20;  // bytes, with sanitizers and symbols

Status check_executable(const std::filesystem::path& folder) {
  struct statvfs about{};
  if (::statvfs(folder.c_str(), &about) != 0)
    return fail_errno(errno, fmt::format("cannot examine the file system of {}", folder.native()));
  if ((about.f_flag & ST_NOEXEC) == 0) return {};
  return fail(Code::kFailedPrecondition,
              "the file system of {} is mounted noexec, and the container runtime cannot start programs there; set "
              "[node] hooks_dir to a folder of another file system",
              folder.native());
}

// The container runtime runs the file as root, so only root may be able to replace it.
Status check_folder(const std::filesystem::path& file) {
  const auto walked = walk(std::filesystem::absolute(file), check_step);
  if (walked || walked.error().code == Code::kNotFound) return {};
  return within(walked.error(), "the container runtime would run {} as root", file.native());
}

}  // namespace

void HookFile::check() {
  if (!std::exchange(checking_, true)) spawn(core_, place_once(shared_from_this()));
}

Task<Status> HookFile::ready(Instant deadline) {
  if (state_ && *state_) co_return Status();
  check();
  const OneShot<bool> ended(core_);
  waiting_.push_back(ended);
  if (co_await ended.wait_until(clock_, deadline)) co_return *state_;
  co_return fail(Code::kDeadlineExceeded,
                 "the program of the container hook is still being written to {}; check the disk of this folder",
                 places_.folder.native());
}

Task<void> HookFile::place_once(std::shared_ptr<HookFile> self) {
  const OneShot<Result<Compared>> done(self->core_);
  asio::post(self->disk_, [done, places = self->places_, equal = self->equal_] { done.set(place(places, equal)); });
  const Result<Compared> placed = co_await done.wait();
  self->note(placed);
}

void HookFile::note(const Result<Compared>& placed) {
  Status now;
  if (placed)
    equal_ = *placed;
  else
    now = within(placed.error(), "containers that need the container hook cannot start");
  if (!now && state_ != now) log(LogLevel::kError, now.error().message);
  state_ = std::move(now);
  checking_ = false;
  for (const OneShot<bool>& waiter : std::exchange(waiting_, {})) waiter.set(true);
}

// Not synced: a file that a power failure has damaged is found at the next start.
Result<HookFile::Compared> HookFile::place(const Places& places, const Compared& equal) {
  const std::filesystem::path copy = places.folder / places.program.filename();
  if (auto made = make_folder(places.folder, 0755); !made) return std::unexpected(made.error());
  if (auto executable = check_executable(places.folder); !executable) return std::unexpected(executable.error());
  if (auto trusted = check_folder(copy); !trusted) return std::unexpected(trusted.error());
  const Compared now{.program = stamp_of(places.program), .copy = stamp_of(copy)};
  if (now == equal && ::access(copy.c_str(), X_OK) == 0) return now;
  const auto ours = read_file(places.program, kMaxProgram);
  if (!ours) return within(ours.error(), "install cardcage-hook beside cardcage");
  const auto theirs = read_file(copy, kMaxProgram);
  if (!theirs || *theirs != *ours || ::access(copy.c_str(), X_OK) != 0)
    if (auto written = write_file_atomically(copy, *ours, 0755, false); !written)
      return std::unexpected(written.error());
  return Compared{.program = now.program, .copy = stamp_of(copy)};
}

// This hook and the memory hook act on the node's side of a container, so they run in the runtime's namespaces.
Hook HookFile::sandbox_hook(const std::string& driver, const std::string& claim_uid) const {
  return hook_with("createRuntime", {places_.run_dir, driver, claim_uid});
}

void HookFile::make_hooks(Edits& edits) const {
  for (const std::uint64_t bytes : std::exchange(edits.locked_memory, {}))
    edits.hooks.push_back(hook_with("createRuntime", {std::string(kLockMemory), std::to_string(bytes)}));
  const RootChanges changes{.ld_paths = std::exchange(edits.ld_paths, {}),
                            .proc_texts = std::exchange(edits.proc_texts, {})};
  if (changes.empty()) return;
  std::vector<std::string> arguments = to_arguments(changes);
  arguments.insert(arguments.begin(), std::string(kChangeRoot));
  edits.hooks.push_back(hook_with("createContainer", std::move(arguments)));
  edits.hooks.back().timeout_seconds = static_cast<std::int32_t>(kHookLimit.count());  // overrides the image's value
}

Hook HookFile::hook_with(std::string name, std::vector<std::string> arguments) const {
  const std::string program = places_.folder / places_.program.filename();
  arguments.insert(arguments.begin(), program);
  return {.name = std::move(name), .path = program, .args = std::move(arguments), .env = {}, .timeout_seconds = {}};
}

}  // namespace cardcage
