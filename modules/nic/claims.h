// What containers get of network devices, and how the devices are taken back.
//
// The interface of a device stays where it is: a CNI plugin moves it to the pod.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>

#include "modules/common/node.h"
#include "modules/common/passthrough.h"

namespace cardcage::nic {

class Claims {
 public:
  // `vfio_driver` is the one that `passthrough` binds.
  Claims(cage::Host host, hardware::Node node, hardware::Passthrough passthrough, std::string vfio_driver)
      : host_(host),
        node_(std::move(node)),
        passthrough_(std::move(passthrough)),
        vfio_driver_(std::move(vfio_driver)) {}

  // [any-thread] Calls for different claims may overlap.
  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) const;
  void unprepare(const cage::Call& call, const cage::Claim& claim) const;

 private:
  void add_edits(const cage::Allocation& allocation, cage::Edit edit) const;

  const cage::Host host_;
  const hardware::Node node_;
  const hardware::Passthrough passthrough_;
  const std::string vfio_driver_;
};

}  // namespace cardcage::nic
