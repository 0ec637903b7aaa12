#include "modules/nvidia/changes.h"

#include <algorithm>
#include <sstream>

namespace cardcage::nvidia {
namespace {

template <class T>
void add_new(std::vector<T>& to, const std::vector<T>& others) {
  for (const T& one : others)
    if (std::ranges::find(to, one) == to.end()) to.push_back(one);
}

}  // namespace

void Changes::add(const Changes& others) {
  add_new(partitions, others.partitions);
  add_new(time_slices, others.time_slices);
}

std::string encode(const Changes& changes) {
  std::ostringstream text;
  for (const Changes::Partition& one : changes.partitions)
    text << "partition " << one.bus_id << ' ' << one.profile << ' ' << one.start << ' ' << one.switched_mode << '\n';
  for (const std::string& uuid : changes.time_slices) text << "time-slice " << uuid << '\n';
  return text.str();
}

Changes decode_changes(std::string_view text) {
  Changes changes;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "partition") {
      Changes::Partition one;
      if (words >> one.bus_id >> one.profile >> one.start >> one.switched_mode) changes.partitions.push_back(one);
    } else if (kind == "time-slice") {
      std::string uuid;
      if (words >> uuid) changes.time_slices.push_back(uuid);
    }
  }
  return changes;
}

}  // namespace cardcage::nvidia
