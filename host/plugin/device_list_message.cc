#include "host/plugin/device_list_message.h"

#include <google/protobuf/io/coded_stream.h>

#include <vector>

namespace cardcage {
namespace {

void write_device(const ListedDevice& device, api::device_plugin::Device& out) {
  out.set_id(device.id);
  out.set_health(device.healthy ? "Healthy" : "Unhealthy");  // the kubelet treats every other text as unhealthy
  for (const std::int32_t node : device.numa_nodes)
    if (node >= 0) out.mutable_topology()->add_nodes()->set_id(node);
}

// Returns the size of the device in the list, with the field's tag and length.
std::size_t listed_bytes(const api::device_plugin::Device& device) {
  const std::size_t bytes = device.ByteSizeLong();
  return 1 + google::protobuf::io::CodedOutputStream::VarintSize64(bytes) + bytes;
}

}  // namespace

DeviceListMessage device_list_message(const DeviceList& devices, std::size_t max_bytes) {
  DeviceListMessage made;
  auto& all = *made.message.mutable_devices();
  all.Reserve(static_cast<int>(devices.size()));
  for (const ListedDevice& device : devices) write_device(device, *all.Add());
  if (made.message.ByteSizeLong() <= max_bytes) return made;

  std::vector<bool> fits(devices.size());
  std::size_t total = 0;
  for (const bool healthy : {true, false})
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (devices[i].healthy != healthy) continue;
      const std::size_t bytes = listed_bytes(all[static_cast<int>(i)]);
      fits[i] = total + bytes <= max_bytes;
      if (!fits[i]) max_bytes = total;  // a smaller device further down does not take the place
      if (fits[i]) total += bytes;
    }
  int kept = 0;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (fits[i]) all.SwapElements(kept++, static_cast<int>(i));
  all.DeleteSubrange(kept, all.size() - kept);
  made.left_out = devices.size() - static_cast<std::size_t>(kept);
  return made;
}

}  // namespace cardcage
