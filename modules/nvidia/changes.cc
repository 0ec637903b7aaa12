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
  for (const ComputeMode& one : others.compute_modes)
    if (std::ranges::find(compute_modes, one.bus_id, &ComputeMode::bus_id) == compute_modes.end())
      compute_modes.push_back(one);
  mps = mps || others.mps;
  add_new(functions, others.functions);
  add_new(persistent, others.persistent);
}

std::string encode(const Changes& changes) {
  std::ostringstream text;
  for (const Changes::Partition& one : changes.partitions)
    text << "partition " << one.bus_id << ' ' << one.profile << ' ' << one.start << '\n';
  for (const std::string& uuid : changes.time_slices) text << "time-slice " << uuid << '\n';
  for (const Changes::ComputeMode& one : changes.compute_modes)
    text << "compute-mode " << one.bus_id << ' ' << one.before << '\n';
  if (changes.mps) text << "mps\n";
  for (const std::string& bus_id : changes.functions) text << "function " << bus_id << '\n';
  for (const std::string& bus_id : changes.persistent) text << "persistent " << bus_id << '\n';
  return text.str();
}

Changes decode_changes(std::string_view text) {
  Changes changes;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    const auto read_into = [&](std::vector<std::string>& list) {
      if (std::string word; words >> word) list.push_back(word);
    };
    if (kind == "partition") {
      Changes::Partition one;
      if (words >> one.bus_id >> one.profile >> one.start) changes.partitions.push_back(one);
    } else if (kind == "time-slice") {
      read_into(changes.time_slices);
    } else if (kind == "compute-mode") {
      Changes::ComputeMode one;
      if (words >> one.bus_id >> one.before) changes.compute_modes.push_back(one);
    } else if (kind == "mps") {
      changes.mps = true;
    } else if (kind == "function") {
      read_into(changes.functions);
    } else if (kind == "persistent") {
      read_into(changes.persistent);
    }
  }
  return changes;
}

}  // namespace cardcage::nvidia
