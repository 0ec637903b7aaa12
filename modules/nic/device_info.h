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
  // `folder` is "/var/run/k8s.cni.cncf.io/devinfo". No file is written if its parent is missing: no plugin reads it
  // then.
  DeviceInfo(cage::Host host, hardware::Node node, std::filesystem::path folder)
      : host_(host), node_(std::move(node)), folder_(std::move(folder)) {}

  // Devices without a PCI function have no file. Errors are only logged: the container works without the file.
  void write(std::string_view resource, std::string_view device, const std::vector<std::filesystem::path>& rdma) const;
  void remove(std::string_view resource, std::string_view device) const;

 private:
  // The file is named for the kubelet's device id, which also distinguishes several devices of one function.
  std::filesystem::path file_of(std::string_view resource, std::string_view device) const;

  const cage::Host host_;
  const hardware::Node node_;
  const std::filesystem::path folder_;
};

}  // namespace cardcage::nic
