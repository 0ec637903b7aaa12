// The files by which Multus and CNI plugins learn which function a container got of a resource, as KubeVirt needs it.
//
// Source: Device Information Specification 1.1.0 of the Network Plumbing Working Group.
#pragma once

#include <cardcage/sdk.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "modules/common/node.h"

namespace cardcage::nic {

// [any-thread]
class DeviceInfo {
 public:
  // `folder` is "/var/run/k8s.cni.cncf.io/devinfo". Without its parent, nobody reads such files, and none is written.
  DeviceInfo(cage::Host host, hardware::Node node, std::filesystem::path folder)
      : host_(host), node_(std::move(node)), folder_(std::move(folder)) {}

  // Devices without a PCI function have none. What fails is logged: the container works without it.
  void write(std::string_view resource, std::string_view device, const std::vector<std::filesystem::path>& rdma) const;
  void remove(std::string_view resource, std::string_view device) const;

 private:
  // The kubelet knows the device by its id, also one of several of a function.
  std::filesystem::path file_of(std::string_view resource, std::string_view device) const;

  const cage::Host host_;
  const hardware::Node node_;
  const std::filesystem::path folder_;
};

}  // namespace cardcage::nic
