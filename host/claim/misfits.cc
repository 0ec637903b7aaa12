#include "host/claim/misfits.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <optional>

#include "host/core/detached.h"

namespace cardcage {
namespace {

constexpr Duration kPathCheckLimit = std::chrono::seconds(1);
constexpr Duration kUnseenPause = std::chrono::milliseconds(100);
// Limits the threads that check, which end within microseconds unless a file system does not respond.
constexpr int kMaxChecks = 64;
std::atomic<int> open_checks = 0;

// Other errors tell nothing about the path.
bool is_gone(int error) { return error == ENOENT || error == ENOTDIR || error == ENXIO || error == ENODEV; }

bool is_of_type(const std::string& type, mode_t mode) {
  if (type == "c" || type == "u") return S_ISCHR(mode);
  if (type == "b") return S_ISBLK(mode);
  if (type == "p") return S_ISFIFO(mode);
  return S_ISCHR(mode) || S_ISBLK(mode) || S_ISFIFO(mode);
}

// Empty for a path that fits or cannot be examined. `node` is null unless the path is that of a device node.
std::string misfit_of(const std::string& path, const DeviceNode* node) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return is_gone(errno) ? fmt::format("'{}' is gone", path) : "";
  if (!node) return "";
  if (!is_of_type(node->type, status.st_mode)) return fmt::format("'{}' is another kind of file now", path);
  const std::int64_t now_major = ::major(status.st_rdev), now_minor = ::minor(status.st_rdev);
  const std::int64_t wanted_major = node->major.value_or(now_major), wanted_minor = node->minor.value_or(now_minor);
  if (wanted_major == now_major && wanted_minor == now_minor) return "";
  return fmt::format("'{}' is device {}:{} now, not {}:{}", path, now_major, now_minor, wanted_major, wanted_minor);
}

const std::string& host_path(const DeviceNode& node) { return node.host_path.empty() ? node.path : node.host_path; }

// Calls `visit` with each edit that names a host path, and that path.
template <class Visit>
void each_path(const ModulePart& part, Visit visit) {
  const auto of_edits = [&](const Edits& edits) {
    for (const DeviceNode& node : edits.device_nodes) visit(host_path(node), &node);
    for (const Mount& mount : edits.mounts) visit(mount.host_path, nullptr);
    for (const Hook& hook : edits.hooks) visit(hook.path, nullptr);
  };
  of_edits(part.edits);
  for (const HeldDevice& device : part.devices) of_edits(device.edits);
}

bool is_unseen(const ModulePart& part, const std::string& path) {
  return std::ranges::find(part.unseen_paths, path) != part.unseen_paths.end();
}

Misfits misfits_in(const ClaimRecord& record) {
  Misfits misfits;
  for (const ModulePart& part : record.parts)
    each_path(part, [&](const std::string& path, const DeviceNode* node) {
      if (is_unseen(part, path)) return;
      if (std::string what = misfit_of(path, node); !what.empty()) misfits.push_back({path, std::move(what)});
    });
  return misfits;
}

bool has_paths(const ClaimRecord& record) {
  bool has = false;
  for (const ModulePart& part : record.parts)
    each_path(part, [&](const std::string&, const DeviceNode*) { has = true; });
  return has;
}

void keep_unseen(const Misfits& misfits, ClaimRecord& record) {
  for (ModulePart& part : record.parts) {
    each_path(part, [&](const std::string& path, const DeviceNode*) {
      if (std::ranges::find(misfits, path, &Misfit::path) != misfits.end() && !is_unseen(part, path))
        part.unseen_paths.push_back(path);
    });
  }
}

using Records = std::vector<std::shared_ptr<const ClaimRecord>>;

// Returns one list per record, or none at all if that takes too long.
Task<std::vector<Misfits>> check_paths(asio::io_context& core, Clock& clock, Records records) {
  if (records.empty() || open_checks >= kMaxChecks) co_return std::vector<Misfits>();
  ++open_checks;
  std::function<std::vector<Misfits>()> check = [records = std::move(records)] {
    std::vector<Misfits> misfits;
    for (const auto& record : records) misfits.push_back(misfits_in(*record));
    --open_checks;
    return misfits;
  };
  auto misfits = co_await run_detached(core, clock, std::move(check), clock.now() + kPathCheckLimit);
  co_return misfits ? std::move(*misfits) : std::vector<Misfits>();
}

}  // namespace

Task<Misfits> find_misfits(asio::io_context& core, Clock& clock, std::shared_ptr<const ClaimRecord> record) {
  if (!has_paths(*record)) co_return Misfits();
  Records one{std::move(record)};
  auto found = co_await check_paths(core, clock, std::move(one));
  co_return found.empty() ? Misfits() : std::move(found.front());
}

void UnseenPaths::check_soon(ClaimKey claim) {
  claims_.insert(std::move(claim));
  if (soon_.pending()) return;
  soon_.call_after(kUnseenPause, [this] { spawn(core_, note(weak_from_this(), core_, clock_, ledger_, claims_)); });
}

Task<void> UnseenPaths::note(std::weak_ptr<UnseenPaths> weak, asio::io_context& core, Clock& clock, Ledger& ledger,
                             std::set<ClaimKey> claims) {
  Records prepared;
  if (!weak.expired())
    for (const ClaimKey& claim : claims)
      if (auto record = ledger.find(claim); record && has_paths(*record)) prepared.push_back(std::move(record));
  const auto found = co_await check_paths(core, clock, prepared);
  const auto self = weak.lock();
  if (!self) co_return;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto known = found[i].empty() ? nullptr : ledger.find(prepared[i]->key());
    if (!known || !is_whole(*known, ledger.boot_id())) continue;
    ClaimRecord record = *known;
    keep_unseen(found[i], record);
    ledger.note(std::move(record));
  }
  for (const ClaimKey& claim : claims) self->claims_.erase(claim);
}

}  // namespace cardcage
