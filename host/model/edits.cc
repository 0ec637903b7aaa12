#include "host/model/edits.h"

#include <algorithm>

namespace cardcage {
namespace {

template <class T>
void append_new(std::vector<T>& to, const std::vector<T>& from) {
  for (const T& element : from)
    if (std::ranges::find(to, element) == to.end()) to.push_back(element);
}

}  // namespace

void merge(Edits& to, const Edits& from) {
  append_new(to.env, from.env);
  append_new(to.env_lists, from.env_lists);
  append_new(to.device_nodes, from.device_nodes);
  append_new(to.mounts, from.mounts);
  append_new(to.hooks, from.hooks);
  append_new(to.net_devices, from.net_devices);
  append_new(to.additional_gids, from.additional_gids);
}

}  // namespace cardcage
