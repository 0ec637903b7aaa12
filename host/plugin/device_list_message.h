// A device list as the kubelet reads it: one message of ListAndWatch.
#pragma once

#include "host/kubelet/protocol.h"
#include "host/plugin/device_list.h"

namespace cardcage {

// The kubelet gives up the whole resource when a message has more than 4 MiB.
constexpr std::size_t kMaxListBytes = 3584 * 1024;

struct DeviceListMessage {
  api::device_plugin::ListAndWatchResponse message;
  std::size_t left_out = 0;  // devices for which there was no room
};

// Of devices that do not fit the last ones in the order of the list are left out, and healthy ones only after all
// others. Devices without a NUMA node have no topology at all: kubelets mishandled an empty one (k/k#112234).
DeviceListMessage device_list_message(const DeviceList& devices, std::size_t max_bytes = kMaxListBytes);

}  // namespace cardcage
