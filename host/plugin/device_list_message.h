// A device list as one message of ListAndWatch.
#pragma once

#include "host/kubelet/protocol.h"
#include "host/plugin/device_list.h"

namespace cardcage {

// The kubelet drops the whole resource if a message has more than 4 MiB.
constexpr std::size_t kMaxListBytes = 3584u << 10;

struct DeviceListMessage {
  api::device_plugin::ListAndWatchResponse message;
  std::size_t left_out = 0;  // devices that did not fit
};

// If the devices do not all fit, leaves out the last unhealthy ones, then the last healthy ones. A device without a
// NUMA node has no topology at all, because kubelets mishandled an empty one (kubernetes#112234).
DeviceListMessage device_list_message(const DeviceList& devices, std::size_t max_bytes = kMaxListBytes);

}  // namespace cardcage
