// Gives network devices to containers, and takes them back.
//
// In mode Kernel the interface goes to the pod of a claim. The interface of a device from the device-plugin API stays
// where it is: a CNI plugin moves it.
#pragma once

#include <atomic>
#include <cardcage/sdk.hpp>
#include <string>

#include "modules/common/function_reset.h"
#include "modules/common/node.h"
#include "modules/common/passthrough.h"
#include "modules/nic/container_nodes.h"
#include "modules/nic/device_info.h"
#include "modules/nic/hand_over.h"
#include "modules/nic/held_functions.h"
#include "modules/nic/ipam.h"
#include "modules/nic/journal.h"
#include "modules/nic/lent_interfaces.h"
#include "modules/nic/node_links.h"
#include "modules/nic/udev.h"
#include "modules/nic/vf_change.h"

namespace cardcage::nic {

// The options of the module that concern claims.
struct ClaimPolicy {
  Choice choice;
  std::string vfio_driver;            // the driver that the passthrough binds
  bool resets = true;                 // virtual functions are reset when their claim ends
  std::filesystem::path device_info;  // the folder of the files for CNI plugins
  std::filesystem::path udev;         // folder of udev's database
};

class Claims {
 public:
  Claims(cage::Host host, hardware::Node node, hardware::Passthrough passthrough, ClaimPolicy policy)
      : host_(host),
        node_(std::move(node)),
        passthrough_(std::move(passthrough)),
        policy_(std::move(policy)),
        function_reset_(host_, node_.sysfs),
        udev_(host_, policy_.udev),
        hand_over_(host_, node_, udev_),
        device_info_(host_, node_, policy_.device_info),
        ipam_(host_) {}

  // [any-thread] Calls for different claims may overlap.
  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits);
  void unprepare(const cage::Call& call, const cage::Claim& claim);
  void attach(const cage::Call& call, const cage::Claim& claim, const cage::Pod& pod) const;
  void detach(const cage::Call& call, const cage::Claim& claim, const cage::Pod& pod) const;
  // Called after a start: these claims hold their devices.
  void reconcile(const std::vector<cage::Claim>& live);
  const LentInterfaces& lent() const { return lent_; }

 private:
  std::vector<VfChange> plan_changes(const cage::Claim& claim) const;
  std::vector<std::string> lines_for(const cage::Claim& claim, const std::vector<VfChange>& changes,
                                     const std::vector<KeptInterface>& interfaces) const;
  void hold_functions(const cage::Claim& claim);
  bool is_vfio(const cage::Allocation& allocation, const Settings& settings) const;
  void give_functions(const cage::Call& call, const cage::Claim& claim) const;
  std::vector<KeptInterface> keep_interfaces(const cage::Call& call, const cage::Claim& claim) const;
  KeptInterface keep_interface(const cage::Call& call, const cage::Allocation& allocation,
                               const std::vector<KeptInterface>& known) const;
  void lease_addresses(const cage::Call& call, const cage::Claim& claim, const Journal& before,
                       std::vector<KeptInterface>& interfaces) const;
  void end_lease_in_pod(const cage::Call& call, const cage::Claim& claim, const Lease& lease) const;
  void take_back_interface(const cage::Call& call, const cage::Claim& claim, const KeptInterface& kept) const;
  bool is_reset(const std::string& device) const;
  void reset(const cage::Call& call, const std::string& device, const std::vector<KeptInterface>& interfaces);
  void bind_anew(const cage::Call& call, const std::string& device, const std::vector<KeptInterface>& interfaces) const;
  std::vector<std::filesystem::path> rdma_of(std::string_view device) const;
  void add_edits(const cage::Allocation& allocation, std::string_view resource, cage::Edit edit) const;
  void add_network(const cage::Allocation& allocation, const std::vector<KeptInterface>& interfaces,
                   cage::Edits& edits) const;
  std::vector<ContainerNode> nodes_for(const cage::Allocation& allocation, const Settings& settings,
                                       const std::vector<std::filesystem::path>& rdma) const;

  const cage::Host host_;
  const hardware::Node node_;
  const hardware::Passthrough passthrough_;
  const ClaimPolicy policy_;
  const hardware::FunctionReset function_reset_;
  const Udev udev_;
  const HandOver hand_over_;
  const DeviceInfo device_info_;
  const Ipam ipam_;
  std::atomic<bool> reset_refused_ = false;  // the configuration does not allow resets, which is logged once
  LentInterfaces lent_;
  HeldFunctions held_;
};

}  // namespace cardcage::nic
