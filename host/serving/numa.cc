// Finds the NUMA nodes near a node, from <sysfs>/devices/system.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "host/core/file.h"
#include "host/serving/topology.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxNodes = 1024;    // CONFIG_NODES_SHIFT is at most 10
constexpr std::size_t kMaxRow = 16 << 10;  // sysfs uses as many pages for a row of distances as it needs
// A device has at most 48 attribute values; its other 31 attributes may take one each.
constexpr std::size_t kMaxNear = 16;

// Removes and returns the number at the front of `text`.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Parses "0-3,8\n" or "10 12 20 20\n"; nothing if it is malformed or has more than kMaxNodes numbers.
std::vector<int> parse_list(std::string_view text) {
  std::vector<int> numbers;
  while (!text.empty() && text.front() != '\n') {
    const auto first = take_number(text);
    auto last = first;
    if (first && text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_number(text);
    }
    if (!first || !last || *last < *first || numbers.size() + static_cast<std::size_t>(*last - *first) >= kMaxNodes)
      return {};
    for (int number = *first; number <= *last; ++number) numbers.push_back(number);
    if (text.starts_with(',') || text.starts_with(' ')) text.remove_prefix(1);
  }
  return numbers;
}

class System {
 public:
  explicit System(const std::filesystem::path& sysfs) : folder_(sysfs / "devices/system") {}

  // Returns pairs by node. The kernel prints a column per online node, and their numbers may have gaps.
  std::vector<std::pair<int, int>> distances(int node) const {
    const std::vector<int> online = parse_list(read(folder_ / "node/online"));
    const std::vector<int> row = parse_list(read(folder_of(node) / "distance"));
    std::vector<std::pair<int, int>> distances;
    if (online.size() != row.size()) return distances;
    for (std::size_t i = 0; i < row.size(); ++i) distances.emplace_back(online[i], row[i]);
    return distances;
  }

  std::optional<int> package(int node) const {
    const std::string list = read(folder_of(node) / "cpulist");
    std::string_view processors = list;
    const auto first = take_number(processors);
    if (!first) return std::nullopt;
    const std::string id = read(folder_ / fmt::format("cpu/cpu{}/topology/physical_package_id", *first));
    std::string_view text = id;
    return take_number(text);
  }

 private:
  std::filesystem::path folder_of(int node) const { return folder_ / fmt::format("node/node{}", node); }
  static std::string read(const std::filesystem::path& file) { return read_file(file, kMaxRow).value_or(""); }

  const std::filesystem::path folder_;
};

}  // namespace

std::vector<std::int64_t> near_nodes(const std::filesystem::path& sysfs, std::int32_t node) {
  const System system(sysfs);
  auto others = system.distances(node);
  std::erase_if(others, [&](const auto& other) { return other.first == node; });
  std::vector<std::int64_t> near{node};
  if (others.empty()) return near;
  const int nearest = std::ranges::min(others, {}, &std::pair<int, int>::second).second;
  const auto package = system.package(node);
  for (const auto& [other, distance] : others) {
    if (distance != nearest || near.size() == kMaxNear) continue;
    const auto its = package ? system.package(other) : std::nullopt;
    if (!its || its == package) near.push_back(other);
  }
  return near;
}

}  // namespace cardcage
