#include "host/model/node_roots.h"

#include <optional>

namespace cardcage {
namespace {

constexpr const char* kDevices = "/dev";

// Moves `path` from below `from` to below `to`; nothing if it is not below `from`.
std::optional<std::string> moved(const std::string& path, const std::filesystem::path& from,
                                 const std::filesystem::path& to) {
  const std::string begin = from == "/" ? "/" : from.native() + "/";
  if (!path.starts_with(begin)) return std::nullopt;
  return (to / path.substr(begin.size())).native();
}

}  // namespace

std::string NodeRoots::driver_path_on_node(const std::string& here) const {
  return driver_on_node.empty() ? here : moved(here, driver, driver_on_node).value_or(here);
}

std::string NodeRoots::on_node(const std::string& here) const {
  return moved(here, devfs, kDevices).value_or(driver_path_on_node(here));
}

std::filesystem::path NodeRoots::seen_here(const std::string& on_node) const {
  if (const auto device = moved(on_node, kDevices, devfs)) return *device;
  return driver_on_node.empty() ? on_node : moved(on_node, driver_on_node, driver).value_or(on_node);
}

}  // namespace cardcage
