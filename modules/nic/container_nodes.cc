#include "modules/nic/container_nodes.h"

#include <map>
#include <string_view>

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"
#include "modules/nic/rdma.h"

namespace cardcage::nic {
namespace {

namespace fs = std::filesystem;
using hardware::names_in;

// Returns "umad" for "/dev/infiniband/umad3".
std::string rdma_name_of(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return std::string(file.substr(0, file.find_first_of("0123456789")));
}

// Writes names and paths of the kernel, which need no escapes.
std::string json_object(const std::map<std::string, std::string>& members) {
  std::string text = "{";
  for (const auto& [name, value] : members) {
    if (text.size() > 1) text += ',';
    text.append("\"").append(name).append("\":").append(value);
  }
  return text + "}";
}

std::string quoted(const std::string& text) { return '"' + text + '"'; }

}  // namespace

std::vector<ContainerNode> rdma_container_nodes(const hardware::Node& node, const std::vector<fs::path>& devices) {
  std::vector<ContainerNode> nodes;
  for (const std::string& path : rdma_nodes_of(node.sysfs, devices, node.devfs))
    nodes.push_back({"rdma", rdma_name_of(path), {.path = path}});
  return nodes;
}

std::vector<ContainerNode> driver_container_nodes(const hardware::Node& node, const std::string& bus_id) {
  std::vector<ContainerNode> nodes;
  const fs::path function = hardware::path_of(node.sysfs, bus_id);
  for (const std::string& entry : names_in(function)) {
    if (entry == "uio")
      for (const std::string& name : names_in(function / entry))
        nodes.push_back({"uio", "mount", {.path = "/dev/" + name}});
    if (entry.starts_with("vdpa"))
      for (const std::string& name : names_in(function / entry))
        if (name.starts_with("vhost-vdpa-")) nodes.push_back({"vdpa", "mount", {.path = "/dev/" + name}});
  }
  return nodes;
}

std::vector<ContainerNode> vhost_container_nodes() {
  return {{"vhost", "net-mount", {.path = "/dev/vhost-net"}}, {"vhost", "tun-mount", {.path = "/dev/net/tun"}}};
}

std::string plugin_info_of(const std::string& bus_id, const std::vector<ContainerNode>& nodes,
                           const std::string& rdma_device) {
  std::map<std::string, std::map<std::string, std::string>> parts;  // sorted like the plugin's
  parts["generic"]["deviceID"] = quoted(bus_id);
  for (const ContainerNode& one : nodes) parts[one.part][one.name] = quoted(one.node.path);
  if (!rdma_device.empty()) parts["rdma"]["rdma_dev"] = quoted(rdma_device);
  std::map<std::string, std::string> objects;
  for (const auto& [part, members] : parts) objects[part] = json_object(members);
  return json_object({{bus_id, json_object(objects)}});
}

}  // namespace cardcage::nic
