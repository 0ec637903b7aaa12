#include "host/plugin/preference.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace cardcage {
namespace {

using Ids = std::unordered_set<std::string_view>;

// Keeps the first of each accepted id.
template <class Accepts>
std::vector<std::string> kept_once(const std::vector<std::string>& ids, Accepts accepts) {
  std::vector<std::string> kept;
  Ids seen;
  for (const std::string& id : ids)
    if (accepts(id) && seen.insert(id).second) kept.push_back(id);
  return kept;
}

}  // namespace

PreferenceQuery sanitize(PreferenceQuery query, const DeviceList& listed) {
  query.available =
      kept_once(query.available, [&](const std::string& id) { return find_device(listed, id) != nullptr; });
  const Ids available(query.available.begin(), query.available.end());
  query.required = kept_once(query.required, [&](const std::string& id) { return available.contains(id); });
  query.wanted = std::min(query.wanted, query.available.size());
  return query;
}

std::vector<std::string> complete(const PreferenceQuery& query, std::span<const std::string> choice) {
  const Ids available(query.available.begin(), query.available.end());
  std::vector<std::string> out;
  Ids chosen;
  const auto take = [&](const std::string& id) {
    if (out.size() >= query.wanted) return;
    if (const auto known = available.find(id); known != available.end() && chosen.insert(*known).second)
      out.push_back(id);
  };
  for (const std::string& id : query.required) take(id);
  for (const std::string& id : choice) take(id);
  for (const std::string& id : query.available) take(id);
  return out;
}

}  // namespace cardcage
