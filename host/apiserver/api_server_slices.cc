// The ResourceSlices of this node.
#include <algorithm>

#include "host/apiserver/api_parts.h"
#include "host/apiserver/api_server.h"
#include "host/apiserver/object_name.h"
#include "host/apiserver/percent_encode.h"
#include "host/core/log.h"
#include "host/model/resource_version.h"

namespace cardcage {
namespace {

// Slices per page of a list; fewer if these slices are larger than kMaxPage together.
constexpr int kPageSize = 50;
constexpr std::size_t kMaxPage = std::size_t{8} << 20;
constexpr int kMaxPageTimes = 20;  // a list may take this many times as long as a page
constexpr std::size_t kMaxSlices = 10'000;
constexpr std::size_t kMaxTable = std::size_t{16} << 20;  // slices of one driver on all nodes
// Clients in Go ask for 5 to 10 minutes. The times differ so that nodes that lost a server together drift apart.
constexpr int kMinWatchSeconds = 480, kMaxWatchSeconds = 600;
constexpr std::chrono::seconds kWatchGrace{5}, kDiscoverLimit{30};
constexpr std::size_t kMaxWatchBacklog = std::size_t{8} << 20;
constexpr std::string_view kAnyVersion = "0";
constexpr const char* kListSlices = "list ResourceSlices";

std::string slices_path(ResourceApi version) {
  return fmt::format("/apis/resource.k8s.io/{}/resourceslices", to_string(version));
}

Status check_names(std::string_view driver, std::string_view node_name) {
  if (auto valid = check_object_name(driver, "driver name"); !valid) return valid;
  return check_object_name(node_name, "node name");
}

std::string selector(std::string_view driver, std::string_view node_name) {
  return "fieldSelector=" + percent_encode(fmt::format("spec.driver={},spec.nodeName={}", driver, node_name));
}

std::string node_selector(std::string_view node_name) {
  return "fieldSelector=" + percent_encode(fmt::format("spec.nodeName={}", node_name));
}

// The only kInternal of a call: its response exceeds the limit of the call.
bool is_too_large(const Error& error) { return error.code == Code::kInternal; }

// `write` is empty before the first one.
bool includes(std::string_view list, std::string_view write) { return write.empty() || is_known(write, list); }

// Uses the letters that Kubernetes uses for generated names: they spell no words.
std::string random_suffix() {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::random_device random;
  std::uniform_int_distribution<std::size_t> letter(0, kLetters.size() - 1);
  std::string suffix;
  for (int i = 0; i < 8; ++i) suffix += kLetters[letter(random)];
  return suffix;
}

ApiCall list_call(ResourceApi version, std::string_view query) {
  return {.what = kListSlices,
          .request = {.path = fmt::format("{}?{}", slices_path(version), query), .max_body = kMaxPage},
          .spread = kSpreadOfLists,
          .unhurried = true};
}

// Requests the table that kubectl requests, without the objects.
ApiCall table_call(ResourceApi version, const std::string& driver) {
  const std::string selector = percent_encode("spec.driver=" + driver);
  return {.what = "list the pools of ResourceSlices",
          .request = {.path = fmt::format("{}?fieldSelector={}&resourceVersion=0&includeObject=None",
                                          slices_path(version), selector),
                      .accept = "application/json;as=Table;v=v1;g=meta.k8s.io",
                      .max_body = kMaxTable},
          .spread = kSpreadOfLists,
          .unhurried = true};
}

// The cells of a row under the columns "Node" and "Pool".
Result<std::vector<PublishedPool>> pools_from_table(const json::object& table) {
  std::size_t column = 0, node = 0, pool = 0, columns = 0;
  for (const auto& definition : array_at(table, "columnDefinitions")) {
    const std::string_view name = text_at(as_object(definition), "name");
    if (name == "Node") node = column, ++columns;
    if (name == "Pool") pool = column, ++columns;
    ++column;
  }
  if (columns != 2) return fail(Code::kUnimplemented, "the API server shows no table with nodes and pools");
  std::vector<PublishedPool> pools;
  for (const auto& row : array_at(table, "rows")) {
    const auto& cells = array_at(as_object(row), "cells");
    const auto text = [&cells](std::size_t i) {
      const json::value* const cell = i < cells.size() ? &cells[i] : nullptr;
      return cell != nullptr && cell->is_string() ? std::string(cell->get_string()) : std::string();
    };
    pools.push_back({text(node), text(pool)});
  }
  return pools;
}

ApiCall create_call(ResourceApi version, const Slice& slice) {
  return {.what = fmt::format("create ResourceSlice '{}'", slice.name),
          .request = {.method = "POST",
                      .path = slices_path(version),
                      .body = json::serialize(slice_to_json(slice, version)),
                      .max_body = kMaxObject},
          .kind = CallKind::kCreate,
          .unhurried = true};
}

ApiCall update_call(ResourceApi version, const Slice& slice) {
  return {.what = fmt::format("update ResourceSlice '{}'", slice.name),
          .request = {.method = "PUT",
                      .path = slices_path(version) + "/" + slice.name,
                      .body = json::serialize(slice_to_json(slice, version)),
                      .max_body = kMaxObject},
          .kind = CallKind::kUpdate,
          .unhurried = true};
}

ApiCall delete_call(ResourceApi version, const Slice& slice) {
  json::object preconditions;
  if (!slice.uid.empty()) preconditions["uid"] = slice.uid;
  if (!slice.resource_version.empty()) preconditions["resourceVersion"] = slice.resource_version;
  const json::object options{
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", std::move(preconditions)}};
  return {.what = fmt::format("delete ResourceSlice '{}'", slice.name),
          .request = {.method = "DELETE",
                      .path = slices_path(version) + "/" + slice.name,
                      .body = json::serialize(options),
                      .max_body = kMaxObject},
          .kind = CallKind::kDelete,
          .unhurried = true};
}

ApiCall watch_call(ResourceApi version, const std::string& selector, const std::string& since,
                   std::chrono::seconds time) {
  return {"watch ResourceSlices",
          {.path = fmt::format("{}?{}&watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
                               slices_path(version), selector, time.count(), percent_encode(since)),
           .max_body = kMaxWatchBacklog,
           .max_pause = kLongestSilence}};
}

}  // namespace

// Adds a page to the list and returns where the next one begins; empty after the last.
Task<Result<std::string>> ApiServer::list_page(std::string query, SliceList& list, Instant deadline) {
  MakeCall make = [&](ResourceApi version) { return list_call(version, query); };
  const auto body = co_await call(std::move(make), deadline);
  const auto response = parse_response(body);
  if (!response) co_return std::unexpected(response.error());
  const auto& page = as_object(*response);
  const auto items = items_of(page);
  if (!items) co_return std::unexpected(items.error());
  for (const auto& item : **items) {
    auto slice = slice_from_json(item);
    if (!slice) co_return std::unexpected(slice.error());
    list.slices.push_back(std::move(*slice));
  }
  if (list.slices.size() > kMaxSlices)
    co_return fail(Code::kFailedPrecondition, "the API server lists more than {} ResourceSlices of one node",
                   kMaxSlices);
  list.resource_version = text_at(object_at(page, "metadata"), "resourceVersion");
  co_return std::string(text_at(object_at(page, "metadata"), "continue"));
}

// Each page has its time: a list of several must end on a slow server, too.
Task<Result<SliceList>> ApiServer::list_pages(std::string selector, Duration time) {
  const Instant end = clock_.now() + kMaxPageTimes * time;
  SliceList list;
  std::string next;
  for (int size = kPageSize; clock_.now() < end;) {
    std::string query = fmt::format("{}&limit={}", selector, size);
    if (!next.empty()) query += "&continue=" + percent_encode(next);
    auto after = co_await list_page(std::move(query), list, std::min(end, clock_.now() + time));
    if (after && after->empty()) co_return list;
    if (after)
      next = std::move(*after);
    else if (is_too_large(after.error()) && size > 1)
      size = std::max(1, size / 4);
    else
      co_return std::unexpected(after.error());
  }
  co_return fail(Code::kUnavailable, "list ResourceSlices: the time was over between two pages");
}

// Reads the server's cache, which loads neither etcd nor other nodes. The cache ignores page sizes.
Task<Result<ApiServer::ListedNodePtr>> ApiServer::list_cached(std::string node_name, std::string at_least,
                                                              Instant deadline) {
  SliceList list;
  const auto end = co_await list_page(node_selector(node_name) + "&resourceVersion=" + at_least, list, deadline);
  if (!end) co_return std::unexpected(end.error());
  const auto listed = std::make_shared<ListedNode>();
  listed->version = std::move(list.resource_version);
  for (Slice& slice : list.slices) listed->slices[slice.driver].push_back(std::move(slice));
  co_return listed;
}

Task<Result<SliceList>> ApiServer::list_slices(std::string driver, std::string node_name, Instant deadline) {
  if (auto valid = check_names(driver, node_name); !valid) co_return std::unexpected(valid.error());
  const Duration time = deadline - clock_.now();
  const std::string query = selector(driver, node_name);
  if (!listed_.contains(query)) {
    const std::string at_least = newest_write();
    std::shared_ptr<SharedCall<ListedNodePtr>>& first = first_lists_[node_name];
    if (!first) first = std::make_shared<SharedCall<ListedNodePtr>>(core_, clock_, kListSlices, kSharedReads);
    SharedCall<ListedNodePtr>::Call call = [&] { return list_cached(node_name, at_least, deadline); };
    const std::shared_ptr<SharedCall<ListedNodePtr>> shared = first;  // `first` may change during the call
    const auto cached = co_await shared->get(std::move(call), deadline);
    // A server that was restored from a backup does not reach the version for a long time.
    if (cached || cached.error().code == Code::kOutOfRange) listed_.insert(query);
    if (cached && includes((*cached)->version, newest_writes_[driver])) {
      restores_.note_list(query);
      co_return SliceList{std::move((*cached)->slices[driver]), (*cached)->version};
    }
    // Maybe a slice of a foreign driver is unreadable.
    const bool exact_may_help = cached || is_too_large(cached.error()) ||
                                cached.error().code == Code::kInvalidArgument ||
                                cached.error().code == Code::kOutOfRange;
    if (!exact_may_help) co_return std::unexpected(cached.error());
  }
  const std::string known = newest_known(node_name);
  const std::size_t restores_before = restores_.count();
  auto list = co_await list_pages(query, time);
  if (!list && list.error().code == Code::kOutOfRange) list = co_await list_pages(query, time);
  if (!list) co_return list;
  listed_.insert(query);
  const bool is_older = list->resource_version != known && is_known(list->resource_version, known);
  if (is_older && restores_before == restores_.count()) follow_restored(driver, node_name);
  restores_.note_list(query);
  co_return list;
}

// The newest version that the server has told about the node.
std::string ApiServer::newest_known(const std::string& node_name) const {
  const auto feed = feeds_.find(node_name);
  const std::string watched = feed == feeds_.end() ? std::string(kAnyVersion) : feed->second->newest_version();
  const std::string written = newest_write();
  return is_known(watched, written) ? written : watched;
}

// A server whose etcd was restored from a backup reports no event that it once had before: a watch that continues from
// a version of that time is blind until the server has reached it again.
void ApiServer::follow_restored(const std::string& driver, const std::string& node_name) {
  log(LogLevel::kWarn, "the API server has gone back to an earlier state; reading all slices again",
      {{"driver", driver}});
  restores_.note_restore();
  newest_writes_.clear();
  if (const auto feed = feeds_.find(node_name); feed != feeds_.end())
    feed->second->end(fail(Code::kOutOfRange, "the API server has gone back to an earlier state"));
}

Task<Result<std::vector<PublishedPool>>> ApiServer::list_pools(std::string driver, Instant deadline) {
  if (auto valid = check_object_name(driver, "driver name"); !valid) co_return std::unexpected(valid.error());
  MakeCall make = [&driver](ResourceApi version) { return table_call(version, driver); };
  const auto body = co_await call(std::move(make), deadline);
  const auto response = parse_response(body);
  if (!response) co_return std::unexpected(response.error());
  co_return pools_from_table(as_object(*response));
}

Task<Result<Slice>> ApiServer::write_slice(MakeCall make, Instant deadline) {
  const auto body = co_await call(std::move(make), deadline);
  const auto response = parse_response(body);
  if (!response) co_return std::unexpected(response.error());
  auto stored = slice_from_json(*response);
  if (stored) {
    std::string& newest = newest_writes_[stored->driver];
    if (!is_known(stored->resource_version, newest)) newest = stored->resource_version;
  }
  co_return stored;
}

std::string ApiServer::newest_write() const {
  std::string newest(kAnyVersion);
  for (const auto& [driver, version] : newest_writes_)
    if (is_known(newest, version)) newest = version;
  return newest;
}

Task<Result<Slice>> ApiServer::create_slice(Slice slice, Instant deadline) {
  // The server could add the suffix, but libcurl repeats a request if a reused connection breaks. With a name chosen
  // here, the repeated request fails with 409 instead of creating a second slice.
  if (slice.name.empty()) slice.name = slice.generate_name + random_suffix();
  MakeCall make = [&slice](ResourceApi version) { return create_call(version, slice); };
  auto stored = co_await write_slice(std::move(make), deadline);
  co_return stored;
}

Task<Result<Slice>> ApiServer::update_slice(Slice slice, Instant deadline) {
  if (auto valid = check_object_name(slice.name, "ResourceSlice name"); !valid)
    co_return std::unexpected(valid.error());
  MakeCall make = [&slice](ResourceApi version) { return update_call(version, slice); };
  auto stored = co_await write_slice(std::move(make), deadline);
  co_return stored;
}

Task<Status> ApiServer::delete_slice(Slice slice, Instant deadline) {
  if (auto valid = check_object_name(slice.name, "ResourceSlice name"); !valid)
    co_return std::unexpected(valid.error());
  MakeCall make = [&slice](ResourceApi version) { return delete_call(version, slice); };
  const auto body = co_await call(std::move(make), deadline);
  if (!body && body.error().code != Code::kNotFound) co_return std::unexpected(body.error());
  co_return Status{};
}

Task<Status> ApiServer::watch_slices(std::string driver, std::string node_name, std::string& version,
                                     std::function<void(SliceEvent)> on_event) {
  if (auto valid = check_names(driver, node_name); !valid) co_return valid;
  if (restores_.is_outdated(selector(driver, node_name)))
    co_return fail(Code::kOutOfRange, "the API server has gone back to an earlier state");
  std::shared_ptr<SliceFeed>& feed = feeds_[node_name];
  if (!feed) {
    SliceFeed::Watch watch = [this, node_name](std::string since, std::function<Status(std::string_view)> on_line) {
      return watch_node(node_name, std::move(since), std::move(on_line));
    };
    feed = std::make_shared<SliceFeed>(core_, clock_, std::move(watch));
  }
  co_return co_await feed->follow(std::move(driver), version, std::move(on_event));
}

Task<Status> ApiServer::watch_node(std::string node_name, std::string since,
                                   std::function<Status(std::string_view)> on_line) {
  const auto api = co_await discover(clock_.now() + kDiscoverLimit);
  if (!api) co_return std::unexpected(api.error());
  const std::chrono::seconds time(std::uniform_int_distribution(kMinWatchSeconds, kMaxWatchSeconds)(random_));
  ApiCall watch = watch_call(*api, node_selector(node_name), since, time);
  auto ended = co_await session_.stream(std::move(watch), time + kWatchGrace, std::move(on_line));
  if (!ended && ended.error().code == Code::kUnimplemented && version_ == *api) version_.reset();
  // A server that has just started has forgotten the versions of all nodes. One that was restored from a backup is
  // silent until it has reached them again.
  if (!ended && ended.error().code == Code::kOutOfRange) {
    listed_.clear();
    first_lists_.erase(node_name);
  }
  co_return ended;
}

}  // namespace cardcage
