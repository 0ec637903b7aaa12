// The ledger's record of a claim, or of a device that was handed out through the device-plugin API. It is enough to
// repeat the response to the kubelet, to write the CDI file again and to have the modules undo everything, without the
// API server.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/cdi/spec.h"
#include "host/model/claim.h"
#include "host/model/claim_status.h"
#include "host/model/combined_edits.h"
#include "host/model/edits.h"
#include "host/model/module.h"
#include "host/model/served_name.h"

namespace cardcage {

inline std::int64_t to_ms(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

// The numbers are stored. Only in kPrepared the holdings of the modules are certain; in the other phases they may hold
// any part of the claim. In kBinding a module makes devices ready for a pod that is not bound: the kubelet does not
// know of it.
enum class ClaimPhase : std::uint8_t { kPreparing = 1, kPrepared = 2, kUnpreparing = 3, kBinding = 4 };
std::string_view to_string(ClaimPhase phase);

// The driver is part of the key because two drivers of one host may prepare the same claim. A device of a device-plugin
// resource is a claim of its own, with the resource as driver and the device's name as UID.
struct ClaimKey {
  std::string driver, uid;
  ServedName served() const { return served_name_from_stored(driver); }
  friend auto operator<=>(const ClaimKey&, const ClaimKey&) = default;
};

// The container that a device of a resource was handed out to. A device with replicas may have several.
struct Holder {
  std::string id;                          // the kubelet's id
  std::string name_space, pod, container;  // empty until the kubelet tells them
  WallTime since;
  friend bool operator==(const Holder&, const Holder&) = default;
};

struct HeldDevice {
  Allocation allocation;  // without pool and request if rebuilt from a CDI file
  std::string device_id;  // the module's id
  std::string cdi_name;   // unique in the claim
  OptionValues values;
  Edits edits;
  std::vector<Holder> holders;  // empty in a claim
  // The module's statements in the claim's status, with times.
  std::vector<DeviceCondition> conditions;
  std::string status_data;
  std::optional<NetworkData> network;
  friend bool operator==(const HeldDevice&, const HeldDevice&) = default;
};

// The devices of a claim that one module runs, which gets them in one call.
struct ModulePart {
  std::string module;     // as configured; empty if rebuilt from a CDI file
  std::string module_id;  // the build that prepared it; empty until then, and if an older host wrote the record
  std::vector<HeldDevice> devices;
  std::vector<ModuleParams> params;
  Edits edits;  // for every container of the claim
  std::string state;
  std::uint32_t state_version = 0;
  bool state_of_other_boot = false;    // the node was rebooted since the module saved its state
  std::string journal;                 // the bytes that the module wrote last
  std::vector<MetadataFile> metadata;  // files of requests whose first device is in this part
  // Host paths of its edits that the daemon did not see right after the prepare.
  std::vector<std::string> unseen_paths;
  friend bool operator==(const ModulePart&, const ModulePart&) = default;
};

struct ClaimRecord {
  std::string driver;
  ClaimRef ref;  // without namespace and name if rebuilt from a CDI file
  ClaimPhase phase = ClaimPhase::kPreparing;
  std::string boot_id;       // at the last call of a module for it
  WallTime begun, prepared;  // `prepared` is the epoch until the claim is prepared
  std::vector<ModulePart> parts;
  std::string pod_claim_name = {};  // Claim::pod_claim_name, while it is being prepared; not stored
  // The UIDs of pods that it was reserved for when it was prepared, by this daemon; not stored.
  std::vector<std::string> pods = {};

  ClaimKey key() const { return {driver, ref.uid}; }
  bool is(const ClaimKey& other) const { return driver == other.driver && ref.uid == other.uid; }
  ServedName served() const { return served_name_from_stored(driver); }
  friend bool operator==(const ClaimRecord&, const ClaimRecord&) = default;
};

// True if the modules certainly hold the whole claim: it is prepared, and the node was not rebooted since.
bool is_whole(const ClaimRecord& record, std::string_view boot_id);
// True if the claim has its devices or may have them. A reboot resets the hardware, so a claim of an earlier boot has
// none until the kubelet prepares it again. A device of a resource stays promised to its pod: the kubelet hands out the
// module's ids, and does not call again for a pod that it knows.
bool holds_devices(const ClaimRecord& record, std::string_view boot_id);
// The holders of the device of a resource. Empty for a claim, and while the record has no device.
const std::vector<Holder>& holders_of(const ClaimRecord& record);

// "ns/name", or the UID when the name is not known.
std::string claim_label(const ClaimRef& ref);
// "claim ns/name", "device gpu-0 of resource example.com/gpu"
std::string claim_subject(std::string_view driver, const ClaimRef& ref);

ModuleClaim module_claim(const ClaimRecord& record, const ModulePart& part, std::string_view boot_id);
// The edits of all devices of the record, into which they point.
std::vector<DeviceEdits> device_edits(const ClaimRecord& record);
CdiSpec cdi_spec(const ClaimRecord& record);
std::vector<PreparedDevice> prepared_devices(const ClaimRecord& record);
// The modules' statements about the devices. Empty for a resource, which has no claim that could show them.
std::vector<DeviceStatus> device_statuses(const ClaimRecord& record);

// A part without its module and state, for which the ledger has columns of their own, and a complete record. Reading
// ignores unknown members. kDataLoss for text that no host has written.
std::string part_to_json(const ModulePart& part);
Result<ModulePart> part_from_json(std::string_view text);
std::string record_to_json(const ClaimRecord& record);
Result<ClaimRecord> record_from_json(std::string_view text);

}  // namespace cardcage
