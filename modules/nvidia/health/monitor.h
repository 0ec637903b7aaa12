// Watches GPUs: errors that the driver reports, and readings of counters and sensors. States each cause at each look;
// the host decides which statements count, and from when on.
#pragma once

#include <cardcage/sdk.hpp>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "modules/common/health_statements.h"
#include "modules/nvidia/devices.h"
#include "modules/nvidia/driver.h"
#include "modules/nvidia/health/readings.h"
#include "modules/nvidia/health/xid.h"

namespace cardcage::nvidia {

class Monitor {
 public:
  // `interval` is the time between two calls of tick().
  Monitor(Driver& driver, cage::Host host, const Offer& offer, std::chrono::nanoseconds interval)
      : driver_(driver), host_(host), offer_(offer), interval_(interval), statements_(host) {
    driver_.before_close([this] { watched_.clear(); });
  }

  // Takes the errors that have arrived, and looks at the GPUs every tenth time.
  void tick();
  // Takes a message of the kernel such as "NVRM: Xid (PCI:0000:3b:00): 79, ...". It counts if NVML may not report the
  // error.
  void take_kernel_message(std::string_view text);
  // Forgets its statements about devices that are not listed any more, as the host does.
  void keep_statements(const Inventory& listed);
  // Looks at a GPU that was reset since the last look of the driver, and states all of its causes. Throws cage::Error
  // if the GPU does not respond.
  void start_anew(const std::string& bus_id);

  // The last XID of the GPU or one of its instances since the start, 0 if there was none; nothing if its errors are not
  // watched.
  std::optional<unsigned long long> last_xid(const std::string& gpu_uuid) const;

 private:
  struct Watched {
    nvml::Device device = nullptr;
    nvml::OwnedEventSet events = {};  // one per GPU: a set with a lost GPU reports no other
    std::optional<unsigned> replays;  // the counter at the last look
    unsigned most_nvlinks = 0;        // the most that were up at a time
  };
  // An XID that makes a device unusable. Its number is 0 after a start, when earlier XIDs are unknown.
  struct Fault {
    unsigned long long xid = 0;
    int well = 0;  // consecutive looks at which the driver asked for no action
  };

  // The best state of a PCIe link since the first look.
  struct PcieLink {
    unsigned lanes = 0, generation = 0;
  };

  // The origin of an XID, a GPU or one of its instances: UUID, gpuInstanceId, XID.
  using Origin = std::tuple<std::string, unsigned, unsigned long long>;

  // The library that the watched handles belong to. Throws cage::Error if it is closed.
  const nvml::Library& library() const;
  void look_at_faulty(const SeenGpu& seen);
  void watch(const SeenGpu& seen);
  void take_events(const SeenGpu& seen, Watched& watched);
  const SeenGpu& gpu_of(const nvml::EventData& event, const SeenGpu& seen, const Watched& watched) const;
  void take_xid(const SeenGpu& seen, const nvml::EventData& event);
  void note_harmless(const SeenGpu& seen, const nvml::EventData& event, XidClass what);
  void look(const SeenGpu& seen, Watched& watched);
  void look_for_recovery(const SeenGpu& seen, const Readings& now);
  std::vector<std::string> devices_of(const SeenGpu& seen, const nvml::EventData& event) const;
  // The devices that may have a fault: the GPU, its sibling for virtual machines, and its partitions.
  std::set<std::string> all_ids(const SeenGpu& seen) const;

  Driver& driver_;
  cage::Host host_;
  const Offer offer_;
  const std::chrono::nanoseconds interval_;
  unsigned ticks_ = 0;
  std::map<std::string, Watched> watched_;               // by UUID of the GPU; empty while the driver is closed
  std::map<std::string, Fault> faults_;                  // by device id
  std::map<std::string, unsigned long long> last_xids_;  // by UUID
  std::map<std::string, PcieLink> pcie_links_;           // by UUID; a replaced driver changes no slot
  std::set<std::string> uncontained_;                    // UUIDs of GPUs with uncontained memory errors since a reset
  std::map<Origin, cage::Call::Clock::time_point> harmless_;  // the last statement, within a second
  hardware::HealthStatements statements_;
};

}  // namespace cardcage::nvidia
