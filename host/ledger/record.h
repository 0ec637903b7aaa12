// What the ledger holds of a claim, or of a device that was handed out through the device-plugin API: enough to answer
// the kubelet again, to write the CDI file again and to have the modules undo everything, all without the API server.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/cdi/spec.h"
#include "host/model/claim.h"
#include "host/model/edits.h"
#include "host/model/module.h"
#include "host/model/served_name.h"

namespace cardcage {

using WallTime = std::chrono::system_clock::time_point;  // kept in milliseconds

// The numbers are stored. Only kPrepared says for certain what the modules hold; the other two mean "perhaps".
enum class ClaimPhase : std::uint8_t { kPreparing = 1, kPrepared = 2, kUnpreparing = 3 };
std::string_view to_string(ClaimPhase phase);

// Two drivers of one host may be asked about the same claim. A device of a device-plugin resource is a claim of its
// own: the driver is the resource then, and the uid the device's name.
struct ClaimKey {
  std::string driver, uid;
  ServedName served() const { return served_name_from_stored(driver); }
  friend auto operator<=>(const ClaimKey&, const ClaimKey&) = default;
};

// Whom a device of a resource was handed out to; several of them have replicas.
struct Holder {
  std::string id;                          // the kubelet's
  std::string name_space, pod, container;  // empty until the kubelet says whom it was for
  WallTime since;
  friend bool operator==(const Holder&, const Holder&) = default;
};

struct HeldDevice {
  Allocation allocation;  // without pool and request if only the CDI file was left to learn from
  std::string device_id;  // the module's
  std::string cdi_name;   // unique in the claim
  OptionValues values;
  Edits edits;
  std::vector<Holder> holders;  // none in a claim
  friend bool operator==(const HeldDevice&, const HeldDevice&) = default;
};

// The devices of a claim that one module runs: what one call of it is about.
struct ModulePart {
  std::string module;  // as configured; empty if only the CDI file was left to learn from
  std::vector<HeldDevice> devices;
  std::vector<ModuleParams> params;
  Edits edits;  // for every container of the claim
  std::string state;
  std::uint32_t state_version = 0;
  friend bool operator==(const ModulePart&, const ModulePart&) = default;
};

struct ClaimRecord {
  std::string driver;
  ClaimRef ref;  // without namespace and name if only the CDI file was left to learn from
  ClaimPhase phase = ClaimPhase::kPreparing;
  std::string boot_id;
  WallTime begun, prepared;  // prepared: epoch until it is
  std::vector<ModulePart> parts;

  ClaimKey key() const { return {driver, ref.uid}; }
  ServedName served() const { return served_name_from_stored(driver); }
  friend bool operator==(const ClaimRecord&, const ClaimRecord&) = default;
};

// The modules hold all of it, for certain: it is prepared, and the node was not booted since.
bool is_whole(const ClaimRecord& record, std::string_view boot_id);
// Whom the device of a resource was handed out to; nobody of a claim, or while the record has no device.
const std::vector<Holder>& holders_of(const ClaimRecord& record);

// "ns/name", or the UID when the name is not known.
std::string claim_label(const ClaimRef& ref);
// "claim ns/name", "device gpu-0 of resource example.com/gpu"
std::string claim_subject(std::string_view driver, const ClaimRef& ref);

ModuleClaim module_claim(const ClaimRecord& record, const ModulePart& part, std::string_view boot_id);
CdiSpec cdi_spec(const ClaimRecord& record);
std::vector<PreparedDevice> prepared_devices(const ClaimRecord& record);

// One part as the ledger stores it, without module and state, and a record with everything. Reading ignores what it
// does not know; kDataLoss for what no host has written.
std::string part_to_json(const ModulePart& part);
Result<ModulePart> part_from_json(std::string_view text);
std::string record_to_json(const ClaimRecord& record);
Result<ClaimRecord> record_from_json(std::string_view text);

}  // namespace cardcage
