// Collects the devices that discover() finds: copies and checks each, and leaves out those that Kubernetes would
// refuse.
#pragma once

#include <map>
#include <set>
#include <string>

#include "cardcage/module.h"
#include "host/model/device.h"
#include "host/sinks/sink_guard.h"
#include "host/sinks/stated_causes.h"

namespace cardcage {

constexpr std::size_t kMaxDevices = 10'000;
constexpr std::size_t kMaxCounterSets = 1024;
constexpr std::size_t kMaxCounters = 32;    // per set, and per entry of a device
constexpr std::size_t kMaxCounterUses = 2;  // sets that one device may consume from
constexpr std::size_t kMaxSnapshotText = 32u << 20;

// [module thread] between open() and finish(); its C functions refuse other threads and other times.
class SnapshotSink : public SinkGuard {
 public:
  // `causes` are those that the module declares; `can_bind` says that it has cage.bind.
  explicit SnapshotSink(const std::string& module, const std::vector<CauseDeclaration>& causes = {},
                        bool can_bind = false);

  cage_snapshot* open();
  // The snapshot so far, sorted, with names. Devices whose counters, policies or bindings do not fit are left
  // out.
  Snapshot finish();
  // Drops the collected devices.
  void abandon();

 private:
  Status add(const cage_device* given);
  Status add_counter_set(cage_str name, const cage_quantity* counters, std::uint32_t count);
  Status add_use(cage_str device_id, cage_str set, const cage_quantity* counters, std::uint32_t count);
  Status set_binding(cage_str device_id, const cage_binding* given);
  Status add_policy(cage_str device_id, cage_str capacity, const cage_request_policy* given);
  Status add_not_offered(cage_str name, cage_str reason);
  void resolve_uses();
  void resolve_policies();
  void resolve_bindings();
  void leave_out(const std::string& device_id, const std::string& why);
  void spoil(const std::string& device_id, const std::string& why);
  const void* extension(std::string_view id) const;

  const StatedCauses causes_;
  const bool can_bind_;
  cage_snapshot table_{};
  cage_snapshot_counters counters_{};
  cage_snapshot_policy policy_{};
  cage_snapshot_binding binding_{};
  cage_snapshot_not_offered not_offered_{};
  std::map<std::string, Device> devices_;
  std::set<std::string> names_;  // chosen by the module
  std::map<std::string, std::map<std::string, Quantity>> counter_sets_;
  std::map<std::string, std::vector<CounterUse>> uses_;  // by device id
  std::map<std::string, RequestPolicies> policies_;      // by device id
  std::map<std::string, Binding> bindings_;              // by device id
  // Devices whose offer would be wrong: with a refused use of counters they would be overcommitted, with a refused
  // policy claims would get amounts that the device cannot give, and with a refused binding the device is not ready.
  std::set<std::string> spoiled_;
  std::map<std::string, std::string> left_out_;
  std::map<std::string, std::string> reasons_;  // why the module does not offer hardware, by its name
  std::size_t text_ = 0;
};

}  // namespace cardcage
