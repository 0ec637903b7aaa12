// The NVIDIA module with the kernel's drivers nvidia and vfio-pci, and the right to bind GPUs to them.
#pragma once

#include "tests/fakes/fake_sysfs.h"
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {

class NvidiaPassthroughFixture : public NvidiaFixture {
 protected:
  void SetUp() override {
    if (!sysfs.mounted()) GTEST_SKIP() << "no file system can be mounted here";
    writes->sysfs = sysfs.path();
    writes->records = std::make_unique<DriverRecords>(folder / "drivers", "boot-1");
    for (const char* driver : {"nvidia", "vfio-pci"}) sysfs.add_driver(driver);
    writes_allowed = {sysfs.path() / "bus/pci/devices/*/driver_override",
                      folder / "node/proc/driver/nvidia/gpus/*/unbindLock"};
  }
  std::string driver(int gpu = 0) const { return sysfs.look(gpus->bus_id(gpu)).driver; }

  FakeSysfs sysfs;
};

}  // namespace cardcage
