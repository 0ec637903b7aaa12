// A running module, whatever runs it: InProcessModule or RemoteModule.
//
// [core] Every member is called on the core; module threads are behind this interface. Calls may overlap; the
// instance serialises them unless its module is concurrent. A call past its deadline answers
// DEADLINE_EXCEEDED at once, even if the module never returns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/core/task.h"
#include "host/model/claim.h"
#include "host/model/device.h"
#include "host/model/edits.h"
#include "host/model/last_lines.h"

namespace cardcage {

// One declared option or parameter of a module; see cage_option in cardcage/module.h.
enum class OptionType : std::uint32_t { kString = 1, kInteger = 2, kBoolean = 3, kDuration = 4, kList = 5 };
struct OptionDeclaration {
  std::string name;
  OptionType type = OptionType::kString;
  bool required = false, secret = false, live = false;
  std::string default_text;
  std::string help;
  std::vector<std::string> choices;
  std::int64_t min = 0, max = 0;  // both 0 = any; durations in nanoseconds
};

// Durations are held in nanoseconds.
using OptionValue = std::variant<std::string, std::int64_t, bool, std::vector<std::string>>;
// Every declared option by name. `given` says which ones were written down and are not defaults.
struct OptionValues {
  struct Entry {
    OptionValue value;
    bool given = false;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::map<std::string, Entry, std::less<>> entries;
  friend bool operator==(const OptionValues&, const OptionValues&) = default;
};

struct ModuleIdentity {
  std::string id, version, vendor;
  std::uint32_t abi_minor = 0;
  std::uint32_t state_version = 0;
  bool process_only = false, concurrent = false, has_check = false, has_quiesce = false, has_preferred = false,
       has_pre_start = false, has_reconcile = false;
  std::vector<OptionDeclaration> options, params;
  std::string params_api_version, params_kind;  // required in the parameters if not empty
  std::string sha256;                           // of the file, hex
};

// What a module hears of a claim, already resolved to its own devices and configuration.
struct ModuleAllocation {
  std::string device_id, request, share_id;
  bool admin_access = false;
  std::map<std::string, Quantity> consumed_capacity;
  // The declared params as they apply to this device, member by member: default, then class, then claim, later
  // wins. Empty if the module declares none.
  OptionValues values;
  friend bool operator==(const ModuleAllocation&, const ModuleAllocation&) = default;
};
// The raw text, for modules that declare no params.
struct ModuleParams {
  ConfigSource source = ConfigSource::kClass;
  std::vector<std::string> requests;
  std::string json;
  friend bool operator==(const ModuleParams&, const ModuleParams&) = default;
};
// With the device-plugin API each device is a claim of its own: `ref` has a uid and no names [R15].
struct ModuleClaim {
  ClaimRef ref;
  std::vector<ModuleAllocation> allocations;
  std::vector<ModuleParams> params;  // rising precedence
  std::string state;                 // what prepare saved, at most 64 KiB
  std::uint32_t state_version = 0;
  bool other_boot = false;
  friend bool operator==(const ModuleClaim&, const ModuleClaim&) = default;
};

// What prepare produced, already validated.
struct PreparedEdits {
  Edits claim;                     // for every container of the claim
  std::vector<Edits> allocations;  // index = index in ModuleClaim::allocations
  std::string state;
  std::uint32_t state_version = 0;
  friend bool operator==(const PreparedEdits&, const PreparedEdits&) = default;
};

// What a module says unasked. [core]
struct ModuleEvents {
  std::function<void()> rescan;
  std::function<void(std::string device_id, Health)> health;
  // The instance cannot be used any more (stuck or gone): why, for people.
  std::function<void(Error)> lost;
};

// Of what its owner has let go of: why it may still hold the hardware, for people; nothing once it is gone for good.
// Null is nothing, too. [core]
using Leftover = std::function<std::optional<std::string>()>;

class Module {
 public:
  virtual ~Module() = default;

  virtual const ModuleIdentity& identity() const = 0;

  // create and start. Must be the first call and succeed before any other.
  virtual Task<Status> start(ModuleEvents events, Instant deadline) = 0;
  virtual Task<Result<SnapshotPtr>> discover(Instant deadline) = 0;
  virtual Task<Result<PreparedEdits>> prepare(ModuleClaim claim, Instant deadline) = 0;
  virtual Task<Status> unprepare(ModuleClaim claim, Instant deadline) = 0;
  // Frees what no live claim holds; ok if the module has no cage.reconcile.
  virtual Task<Status> reconcile(std::vector<ModuleClaim> live, Instant deadline) = 0;
  // Which of the devices a container that wants `want` in all should get, by id: at most so many, each available,
  // perhaps too few, and perhaps without the required ones. `required` are part of `available`; both name each device
  // once. UNIMPLEMENTED at once if the module has no preference (cage.preferred).
  virtual Task<Result<std::vector<std::string>>> choose(std::vector<std::string> available,
                                                        std::vector<std::string> required, std::size_t want,
                                                        Instant deadline) = 0;
  // Before each start of a container that has the prepared claim's device, with the device-plugin API [R15].
  // UNIMPLEMENTED at once if the module has no cage.pre_start.
  virtual Task<Status> pre_start(ModuleClaim claim, Instant deadline) = 0;
  // Polls one device's health; the answer comes through ModuleEvents::health.
  virtual Task<Status> check(std::string device_id, Instant deadline) = 0;
  // Returns once no call is open; DEADLINE_EXCEEDED says which one still is.
  virtual Task<Status> finish_calls(Instant deadline) = 0;
  virtual Task<Status> quiesce(Instant deadline) = 0;
  virtual Task<Status> resume(Instant deadline) = 0;
  // stop and destroy; no event comes after it. Idempotent.
  virtual Task<Status> stop(Instant deadline) = 0;
  // What it logged and printed last, oldest first.
  virtual std::vector<SaidLine> last_lines() const = 0;
  // After stop(). It holds nothing of the object.
  virtual Leftover leftover() const = 0;
};

}  // namespace cardcage
