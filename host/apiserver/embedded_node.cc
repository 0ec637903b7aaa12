#include "host/apiserver/embedded_node.h"

#include <algorithm>
#include <charconv>

#include "host/apiserver/claim_json.h"
#include "host/apiserver/event_json.h"
#include "host/apiserver/object_name.h"
#include "host/apiserver/slice_json.h"
#include "host/apiserver/yaml.h"
#include "host/core/ascii.h"
#include "host/core/cancellation.h"
#include "host/core/folder_watch.h"
#include "host/core/log.h"
#include "host/core/timestamp.h"
#include "host/core/wakeup.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxFile = std::size_t{4} << 20;
constexpr std::size_t kMaxEvents = 1024;  // events of slices
constexpr std::size_t kMaxNodeEvents = 100;
constexpr std::uint64_t kMaxVersion = std::uint64_t{1} << 62;  // a larger version in a file is a mistake
constexpr std::string_view kNoMachineId = "00000000000000000000000000000000";

// `digits` are the 32 digits of a UUID, as in a machine id.
std::string uid_from(std::string_view digits) {
  return fmt::format("{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4), digits.substr(12, 4),
                     digits.substr(16, 4), digits.substr(20, 12));
}

std::string read_machine_id(const std::filesystem::path& file) {
  auto text = read_file(file, 64).value_or("");
  while (text.ends_with('\n')) text.pop_back();
  const bool valid = text.size() == kNoMachineId.size() && std::ranges::all_of(text, is_lower_hex);
  return valid ? text : std::string(kNoMachineId);
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Deletes the oldest files.
void keep_newest(const std::filesystem::path& folder, std::size_t most) {
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    files.emplace_back(entry.last_write_time(ignored), entry.path());
  std::ranges::sort(files);
  for (std::size_t i = 0; i + most < files.size(); ++i) std::filesystem::remove(files[i].second, ignored);
}

}  // namespace

Result<std::unique_ptr<EmbeddedNode>> EmbeddedNode::make(asio::io_context& core, Clock& clock,
                                                         const std::filesystem::path& folder,
                                                         const std::filesystem::path& machine_id) {
  for (const auto* part : {"claims", "statuses", "slices", "events"}) {
    if (auto made = make_folder(folder / part, 0755); !made) return within(made.error(), "embedded node");
  }
  std::unique_ptr<EmbeddedNode> node(new EmbeddedNode(core, clock, folder, uid_from(read_machine_id(machine_id))));
  node->rescan();
  // A list returns what exists already; a watch reports only later changes.
  node->events_.clear();
  node->oldest_ = node->version_;
  return node;
}

EmbeddedNode::EmbeddedNode(asio::io_context& core, Clock& clock, std::filesystem::path folder, std::string node_uid)
    : core_(core), clock_(clock), contact_(core, 0), folder_(std::move(folder)), node_uid_(std::move(node_uid)) {}

std::filesystem::path EmbeddedNode::slice_file(const std::string& name) const {
  return folder_ / "slices" / (name + ".json");
}

Task<Result<Claim>> EmbeddedNode::get_claim(std::string name_space, std::string name, Instant) {
  if (auto valid = check_namespace(name_space); !valid) co_return std::unexpected(valid.error());
  if (auto valid = check_object_name(name, "ResourceClaim name"); !valid) co_return std::unexpected(valid.error());
  const auto json_file = folder_ / "claims" / fmt::format("{}_{}.json", name_space, name);
  auto file = json_file;
  auto text = read_file(file, kMaxFile);
  if (!text && text.error().code == Code::kNotFound) text = read_file(file.replace_extension(".yaml"), kMaxFile);
  if (!text && text.error().code == Code::kNotFound)
    co_return fail(Code::kNotFound, "ResourceClaim '{}/{}' not found: there is no '{}' (or .yaml)", name_space, name,
                   json_file.native());
  if (!text) co_return std::unexpected(text.error());
  const std::string what = fmt::format("'{}'", file.native());
  const auto value = file.extension() == ".yaml" ? parse_yaml(*text, what) : parse_json(*text, what);
  if (!value) co_return std::unexpected(value.error());
  auto claim = claim_from_json(*value);
  if (!claim) co_return within(claim.error(), "{}", what);
  if (claim->ref.name_space != name_space || claim->ref.name != name)
    co_return fail(Code::kInvalidArgument, "{} holds ResourceClaim '{}/{}', but its name says '{}/{}'", what,
                   claim->ref.name_space, claim->ref.name, name_space, name);
  co_return claim;
}

Task<Status> EmbeddedNode::follow_claims(std::function<void(ClaimEvent)>) {
  Wakeup never(core_);
  co_await never.wait();
  co_return Status{};
}

Task<Result<PodClaims>> EmbeddedNode::get_pod_claims(std::string name_space, std::string pod, Instant) {
  co_return fail(Code::kNotFound, "Pod '{}/{}' not found: an embedded node has no pods", name_space, pod);
}

Task<Result<ClusterNode>> EmbeddedNode::get_node(std::string, Instant) {
  co_return ClusterNode{.uid = node_uid_, .declared_features = {}};
}

void EmbeddedNode::record(bool deleted, Slice slice) {
  slice.resource_version = std::to_string(++version_);
  events_.push_back({version_, {deleted, std::move(slice)}});
  if (events_.size() <= kMaxEvents) return;
  oldest_ = events_.front().version;
  events_.pop_front();
}

void EmbeddedNode::rescan_file(const std::filesystem::path& file, std::map<std::string, Stored>& found) {
  const std::string name = file.stem();
  const FileStamp stamp = stamp_of(file);
  if (file.extension() != ".json" || stamp == FileStamp{}) return;
  const auto known = stored_.find(name);
  if (known != stored_.end() && known->second.file == stamp) {
    found.insert(stored_.extract(known));
    return;
  }
  const auto text = read_file(file, kMaxFile);
  const auto value = text ? parse_json(*text, fmt::format("'{}'", file.native())) : std::unexpected(text.error());
  auto slice = value ? slice_from_json(*value) : std::unexpected(value.error());
  if (slice && slice->name != name)
    slice = fail(Code::kInvalidArgument, "'{}' holds ResourceSlice '{}'", file.native(), slice->name);
  if (!slice) {
    log_limited(LogLevel::kWarn, "embedded-slice", "ignoring a slice file that cannot be read",
                {{"file", file.native()}, {"error", slice.error().message}});
    return;
  }
  if (const auto written = number(slice->resource_version); written < kMaxVersion)
    version_ = std::max(version_, written);
  record(false, *std::move(slice));
  found.emplace(name, Stored{events_.back().event.slice, stamp});
}

void EmbeddedNode::rescan() {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "slices", ignored))
    files.push_back(entry.path());
  std::ranges::sort(files);
  std::map<std::string, Stored> found;
  for (const auto& file : files) rescan_file(file, found);
  for (auto& [name, stored] : stored_) {
    if (!found.contains(name)) record(true, std::move(stored.slice));
  }
  stored_ = std::move(found);
}

const EmbeddedNode::Stored* EmbeddedNode::find(const std::string& name) const {
  const auto stored = stored_.find(name);
  return stored != stored_.end() ? &stored->second : nullptr;
}

Task<Result<SliceList>> EmbeddedNode::list_slices(std::string driver, std::string node_name, Instant) {
  rescan();
  SliceList list;
  for (const auto& [name, stored] : stored_) {
    if (stored.slice.driver == driver && stored.slice.node_name == node_name) list.slices.push_back(stored.slice);
  }
  list.resource_version = std::to_string(version_);
  co_return list;
}

Task<Result<std::vector<PublishedPool>>> EmbeddedNode::list_pools(std::string driver, Instant) {
  rescan();
  std::vector<PublishedPool> pools;
  for (const auto& [name, stored] : stored_)
    if (stored.slice.driver == driver) pools.push_back({stored.slice.node_name, stored.slice.pool.name});
  co_return pools;
}

// Adds what the API server adds: a version, and the time of each new taint.
Result<Slice> EmbeddedNode::write(Slice slice) {
  for (auto& device : slice.devices) {
    for (auto& taint : device.taints) {
      if (taint.time_added.empty()) taint.time_added = timestamp(clock_.wall());
    }
  }
  slice.resource_version = std::to_string(version_);
  const std::string text = json::serialize(slice_to_json(slice, ResourceApi::kV1)) + "\n";
  const std::string name = slice.name;
  const auto written = write_file_atomically(slice_file(name), text, 0644, false);
  if (!written) return within(written.error(), "ResourceSlice '{}'", name);
  record(false, std::move(slice));
  const Slice& stored = events_.back().event.slice;
  stored_[name] = {stored, stamp_of(slice_file(name))};
  return stored;
}

Task<Result<Slice>> EmbeddedNode::create_slice(Slice slice, Instant) {
  co_await let_others_run();
  rescan();
  if (slice.name.empty()) slice.name = fmt::format("{}{:05x}", slice.generate_name, version_ + ++made_);
  if (auto valid = check_object_name(slice.name, "ResourceSlice name"); !valid)
    co_return std::unexpected(valid.error());
  if (find(slice.name) != nullptr)
    co_return fail(Code::kAlreadyExists, "ResourceSlice '{}' already exists", slice.name);
  const auto digits = fmt::format("{:016x}{:016x}", clock_.wall().time_since_epoch().count(), ++made_);
  slice.uid = uid_from(digits);
  co_return write(std::move(slice));
}

Task<Result<Slice>> EmbeddedNode::update_slice(Slice slice, Instant) {
  co_await let_others_run();
  rescan();
  const auto* stored = find(slice.name);
  if (stored == nullptr) co_return fail(Code::kNotFound, "ResourceSlice '{}' not found", slice.name);
  if (stored->slice.resource_version != slice.resource_version)
    co_return fail(Code::kAborted, "ResourceSlice '{}' has been changed: it is at version {}, not {}", slice.name,
                   stored->slice.resource_version, slice.resource_version);
  slice.uid = stored->slice.uid;
  co_return write(std::move(slice));
}

Task<Status> EmbeddedNode::delete_slice(Slice slice, Instant) {
  co_await let_others_run();
  rescan();
  const auto* stored = find(slice.name);
  if (stored == nullptr) co_return Status{};
  if (stored->slice.uid != slice.uid || stored->slice.resource_version != slice.resource_version)
    co_return fail(Code::kAborted, "ResourceSlice '{}' has been changed", slice.name);
  std::error_code failure;
  std::filesystem::remove(slice_file(slice.name), failure);
  if (failure)
    co_return fail_errno(failure.value(), fmt::format("cannot delete '{}'", slice_file(slice.name).native()));
  rescan();
  co_return Status{};
}

Task<Status> EmbeddedNode::watch_slices(std::string driver, std::string node_name, std::string& version,
                                        std::function<void(SliceEvent)> on_event) {
  Wakeup changed(core_);
  FolderWatch folder_watch(core_, [&changed] { changed.wake(); });
  const Status watching = folder_watch.watch(folder_ / "slices", FolderWatch::Events::kWritesToo);
  if (!watching) co_return watching;
  for (;;) {
    rescan();
    std::uint64_t seen = number(version);
    if (seen < oldest_ || seen > version_)
      co_return fail(Code::kOutOfRange, "the changes since version {} are no longer known", version);
    // Finds each event by its version, since `on_event` may change slices and so invalidate iterators.
    while (seen < version_) {
      const auto next = std::ranges::upper_bound(events_, seen, {}, &Event::version);
      if (next == events_.end()) break;
      seen = next->version;
      const SliceEvent event = next->event;
      version = std::to_string(seen);
      if (event.slice.driver == driver && event.slice.node_name == node_name) on_event(event);
    }
    if (is_cancelled(co_await asio::this_coro::cancellation_state))
      co_return fail(Code::kCancelled, "the watch was cancelled");
    if (!std::filesystem::exists(folder_ / "slices")) co_return Status{};
    co_await changed.wait();
    if (is_cancelled(co_await asio::this_coro::cancellation_state))
      co_return fail(Code::kCancelled, "the watch was cancelled");
  }
}

Task<Status> EmbeddedNode::write_event(NodeEvent event, Instant) {
  if (auto valid = check_event(event); !valid) co_return valid;
  const std::string text = json::serialize(event_to_json(event)) + "\n";
  const auto written = write_file_atomically(folder_ / "events" / (event.name + ".json"), text, 0644, false);
  if (!written) co_return within(written.error(), "Event '{}'", event.name);
  keep_newest(folder_ / "events", kMaxNodeEvents);
  co_return Status{};
}

}  // namespace cardcage
