#include "host/pods/device_checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/string.hpp>
#include <cerrno>
#include <vector>

#include "host/core/unique_fd.h"

namespace cardcage {
namespace {

namespace json = boost::json;
using boost::system::error_code;

// The places of the file that matter. Everything that a newer kubelet adds is kElsewhere.
enum class Place { kOutside, kFile, kData, kEntries, kEntry, kNodes, kIds, kElsewhere };

// boost::json::basic_parser calls the on_*() functions; false stops it.
class CheckpointHandler {
 public:
  static constexpr std::size_t max_object_size = json::string::max_size();
  static constexpr std::size_t max_array_size = json::string::max_size();
  static constexpr std::size_t max_key_size = json::string::max_size();
  static constexpr std::size_t max_string_size = json::string::max_size();

  explicit CheckpointHandler(const std::set<ResourceDevice>& wanted) : wanted_(wanted) {
    for (const ResourceDevice& device : wanted) wanted_ids_.insert(device.id);
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    const Place outer = place();
    Place inner = Place::kElsewhere;
    if (outer == Place::kOutside) inner = Place::kFile;
    if (outer == Place::kFile && key_ == "Data") inner = Place::kData;
    if (outer == Place::kEntries) inner = Place::kEntry;
    if (outer == Place::kEntry && key_ == "DeviceIDs") inner = Place::kNodes;
    if (inner == Place::kElsewhere) note_unexpected();
    if (inner == Place::kEntry) entry_ = {};
    places_.push_back(inner);
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    if (place() == Place::kEntry) take_entry();
    places_.pop_back();
    return true;
  }
  bool on_array_begin(error_code&) {
    const Place outer = place();
    Place inner = Place::kElsewhere;
    if (outer == Place::kData && key_ == "PodDeviceEntries") inner = Place::kEntries;
    if (outer == Place::kNodes || (outer == Place::kEntry && key_ == "DeviceIDs")) inner = Place::kIds;
    if (inner == Place::kElsewhere) note_unexpected();
    complete_ = complete_ || inner == Place::kEntries;
    places_.push_back(inner);
    return true;
  }
  bool on_array_end(std::size_t, error_code&) {
    places_.pop_back();
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    gather(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code&) {
    gather(part);
    key_ = std::exchange(text_, {});
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) {
    gather(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, error_code&) {
    gather(part);
    take_text(std::exchange(text_, {}));
    return true;
  }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, error_code&) { return unexpected(); }
  bool on_uint64(std::uint64_t, json::string_view, error_code&) { return unexpected(); }
  bool on_double(double, json::string_view, error_code&) { return unexpected(); }
  bool on_bool(bool, error_code&) { return unexpected(); }
  // Go may write an empty list as null.
  bool on_null(error_code& error) {
    if (place() == Place::kNodes || (place() == Place::kEntry && key_ == "DeviceIDs")) return true;
    if (place() != Place::kData || key_ != "PodDeviceEntries") return on_bool(false, error);
    complete_ = true;
    return true;
  }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

  bool understood() const { return complete_ && !unexpected_; }
  CheckpointHolders holders;

 private:
  // Longer than any name. The file also has responses to Allocate, which may be larger.
  static constexpr std::size_t kMaxText = 1024;
  static constexpr std::size_t kMaxPods = 1000;  // per device
  struct Entry {
    std::string pod, resource;
    std::set<std::string> ids;
  };

  Place place() const { return places_.empty() ? Place::kOutside : places_.back(); }
  bool unexpected() {
    note_unexpected();
    return true;
  }
  // Called for a value of a type that is not expected at its place.
  void note_unexpected() {
    const bool known_key = key_ == "PodUID" || key_ == "ResourceName" || key_ == "DeviceIDs";
    unexpected_ = unexpected_ || place() == Place::kOutside || place() == Place::kEntries || place() == Place::kNodes ||
                  place() == Place::kIds || (place() == Place::kEntry && known_key) ||
                  (place() == Place::kData && key_ == "PodDeviceEntries") ||
                  (place() == Place::kFile && key_ == "Data");
  }
  void gather(json::string_view part) { text_.append(part.data(), std::min(part.size(), kMaxText + 1 - text_.size())); }
  void take_text(std::string text) {
    if (place() == Place::kIds) {
      if (wanted_ids_.contains(text)) entry_.ids.insert(std::move(text));
    } else if (place() == Place::kEntry && key_ == "PodUID") {
      entry_.pod = std::move(text);
    } else if (place() == Place::kEntry && key_ == "ResourceName") {
      entry_.resource = std::move(text);
    } else {
      note_unexpected();
    }
  }
  void take_entry() {
    unexpected_ = unexpected_ || entry_.pod.empty() || entry_.pod.size() > kMaxText || entry_.resource.empty();
    for (const std::string& id : entry_.ids) {
      const ResourceDevice device{entry_.resource, id};
      if (!wanted_.contains(device)) continue;
      auto& pods = holders[device];
      pods.insert(entry_.pod);
      unexpected_ = unexpected_ || pods.size() > kMaxPods;
    }
  }

  const std::set<ResourceDevice> wanted_;
  std::set<std::string> wanted_ids_;
  std::vector<Place> places_;
  std::string key_, text_;
  Entry entry_;
  bool complete_ = false, unexpected_ = false;
};

}  // namespace

struct CheckpointParser::Json {
  explicit Json(const std::set<ResourceDevice>& wanted) : parser(json::parse_options(), wanted) {}
  json::basic_parser<CheckpointHandler> parser;
};

CheckpointParser::CheckpointParser(const std::set<ResourceDevice>& wanted) : json_(std::make_unique<Json>(wanted)) {}
CheckpointParser::~CheckpointParser() = default;

Status CheckpointParser::feed(std::string_view piece) {
  error_code failed;
  const std::size_t used = json_->parser.write_some(true, piece.data(), piece.size(), failed);
  if (failed) return fail(Code::kDataLoss, "not JSON: {}", failed.message());
  if (used < piece.size()) return fail(Code::kDataLoss, "not JSON: something follows it");
  return {};
}

Result<CheckpointHolders> CheckpointParser::finish() {
  error_code failed;
  json_->parser.write_some(false, "", 0, failed);
  if (failed) return fail(Code::kDataLoss, "not JSON: {}", failed.message());
  if (!json_->parser.handler().understood()) return fail(Code::kDataLoss, "its form is not known");
  return std::move(json_->parser.handler().holders);
}

Task<Result<CheckpointHolders>> read_device_checkpoint(std::filesystem::path file, std::set<ResourceDevice> wanted) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!fd) co_return fail_errno(errno, fmt::format("cannot open '{}'", file.native()));
  struct stat about{};
  if (::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode))
    co_return fail(Code::kDataLoss, "'{}' is not a regular file", file.native());

  CheckpointParser parser(wanted);
  std::vector<char> piece(64u << 10);
  for (std::size_t total = 0; total <= kMaxCheckpointBytes;) {
    const ssize_t size = ::read(fd.get(), piece.data(), piece.size());
    if (size < 0) co_return fail_errno(errno, fmt::format("cannot read '{}'", file.native()));
    if (size == 0) {
      auto holders = parser.finish();
      if (!holders) co_return within(holders.error(), "'{}'", file.native());
      co_return holders;
    }
    total += static_cast<std::size_t>(size);
    const Status fed = parser.feed({piece.data(), static_cast<std::size_t>(size)});
    if (!fed) co_return within(fed.error(), "'{}'", file.native());
    co_await asio::post(asio::use_awaitable);
  }
  co_return fail(Code::kOutOfRange, "'{}' is larger than {} bytes", file.native(), kMaxCheckpointBytes);
}

}  // namespace cardcage
