// The host's side of the ABI without the code of host/: the test sees exactly the module's calls. Every sink applies
// the limits of Kubernetes, so that a module that passes here is accepted there.
#pragma once

#include <cardcage/module.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/core/unique_fd.h"

namespace cardcage::raw {

// A module of a later version passes larger structs.
template <class T>
void expect_size(const T& given) {
  EXPECT_GE(given.struct_size, sizeof(T));
}

inline std::string_view view(cage_str text) { return {text.data, text.size}; }
inline cage_str str(std::string_view text) { return {text.data(), text.size()}; }
inline std::string owned(cage_str text) { return text.size == 0 ? std::string() : std::string(text.data, text.size); }

// Values of declared options: the defaults, overridden by the test's values.
using Map = std::map<std::string, std::string>;
using Value = std::variant<std::string, std::int64_t, bool, std::vector<std::string>, Map>;
class Values {
 public:
  Values(const cage_option* const* declared, std::uint32_t count, std::map<std::string, Value> given);
  // Parameters of that kind; the claim gives the test's values.
  Values(const cage_params_schema& schema, std::map<std::string, Value> given);
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  const cage_values* get() const { return &values_; }

 private:
  struct Entry {
    Value value;
    std::vector<cage_str> items, keys;  // a list; for a map, the items are its values
    bool given = false;
  };
  static const Entry& find(const cage_values* self, const char* name);
  std::map<std::string, Entry, std::less<>> entries_;
  cage_values values_{};
};

// The value as text: "X1", "64", "true", "version 1.2.3", "[4, 8]". Checks the name and the limits.
std::string attribute_text(const cage_attr& attr);

class Call {
 public:
  explicit Call(std::chrono::nanoseconds time = std::chrono::seconds(30));
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  const cage_call* get() const { return &call_; }
  void cancel();
  std::string explanation, progress;

 private:
  UniqueFd cancel_fd_;
  cage_call call_{};
};

struct ReportedHealth {
  std::uint32_t state = 0;
  std::string reason{}, message{};
  std::uint32_t taint = 0;
  std::string cause{}, taint_key{}, taint_value{};
  std::optional<double> value{};
  friend bool operator==(const ReportedHealth&, const ReportedHealth&) = default;
};
ReportedHealth reported(const cage_health& health);

// Host services; the module may call them from any thread.
class Host {
 public:
  Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  const cage_host* get() const { return &host_; }

  // The module's reports. Read them inside wait_until()'s condition or after the module's threads have ended.
  std::vector<std::string> logs;
  std::vector<std::pair<std::string, ReportedHealth>> healths;
  int rescans = 0;
  std::vector<std::string> programs;  // requested programs: "tool -q | A=b | 1500 ms"
  std::vector<std::string> services;  // "start helper: tool -q | A=b | 0 ms", "stop helper"
  std::vector<std::string> accesses;  // accesses to the hardware: "gpu-0: /sys/reset = 1 within 1500 ms"
  bool with_families = true;
  // True as soon as the condition is, false after 10 s. Calls the condition with the lock held.
  bool wait_until(const std::function<bool()>& condition);

 private:
  template <class Change>
  void record(Change change);
  std::mutex mutex_;
  std::condition_variable changed_;
  cage_host host_{};
};

struct FoundDevice {
  std::string name, kind, parent, pci;
  std::vector<std::int32_t> numa;
  std::map<std::string, std::string> attrs;  // "version 1.2.3" for versions, "[1, 2]" for lists
  std::map<std::string, std::int64_t> capacity;
  ReportedHealth health;
  bool has_health = false, shared = false;
};
class Snapshot {
 public:
  explicit Snapshot(bool with_families = true);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  cage_snapshot* get() { return &snapshot_; }

  std::map<std::string, FoundDevice> devices;
  std::map<std::string, std::map<std::string, std::int64_t>> counter_sets;
  std::map<std::string, std::map<std::string, std::int64_t>> consumes;  // by device; all from one set
  // Policies by device and capacity: "2 of 1 to 4 by 1", "1 of 500e-3, 1".
  std::map<std::string, std::map<std::string, std::string>> policies;
  std::map<std::string, std::string> bindings;     // by device: "Ready, Attached or Failed to node"
  std::map<std::string, std::string> not_offered;  // reasons, by the name of the hardware

 private:
  static cage_status take(cage_snapshot* self, const cage_device* device);
  cage_snapshot snapshot_{};
  bool with_families_;
};

// The statements of bind(): "Ready is true: Loaded", "Attached is unknown: Asked, the fabric has not answered".
class BindSink {
 public:
  BindSink();
  BindSink(const BindSink&) = delete;
  BindSink& operator=(const BindSink&) = delete;
  cage_bind_sink* get() { return &sink_; }

  std::map<std::int32_t, std::vector<std::string>> conditions;  // by index of the allocation

 private:
  cage_bind_sink sink_{};
};

// The edits of containers, one line per edit: "env A=b", "node /dev/x <- /dev/null rw", "mount /a -> /b ro,bind".
class Edits {
 public:
  Edits();
  Edits(const Edits&) = delete;
  Edits& operator=(const Edits&) = delete;
  cage_edits* get() { return &edits_; }

  std::map<std::int32_t, std::vector<std::string>> lines;  // by index of the allocation; -1 = the claim
  std::string state, journal;
  bool with_families = true;  // journal, status and metadata
  int accepted = 0;
  int accept_at_most = 1 << 30;  // further edits are refused
  bool has(std::int32_t alloc, const std::string& line) const;
  cage_status add(std::int32_t alloc, std::string line);

 private:
  static Edits& self(cage_edits* edits) { return *static_cast<Edits*>(edits->host_data); }
  cage_edits edits_{};
};

struct Alloc {
  std::string device;
  std::string request = "main";
  std::uint32_t flags = 0;
  std::string share_id = {};
  std::vector<cage_quantity> consumed = {};
  const Values* values = nullptr;
};
class Claim {
 public:
  Claim(std::string uid, std::vector<Alloc> allocs, std::string state = "", std::uint32_t state_version = 1,
        std::string journal = "");
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  const cage_claim* get() const { return &claim_; }

 private:
  std::string uid_, name_, state_, journal_;
  std::vector<Alloc> allocs_;
  std::vector<cage_alloc> raw_;
  std::vector<const cage_alloc*> pointers_;
  cage_claim claim_{};
};

// Opens the file and calls its entry; the module stays loaded until the process ends.
const cage_module* open_module(const std::filesystem::path& file);
// Opens a module that is built for this test, such as "acme_c".
const cage_module* open_built(const std::string& name);
// The mock module.
const cage_module* mock();

// Creates and starts an instance; stops and destroys it at the end.
class Instance {
 public:
  Instance(const cage_module* module, std::map<std::string, Value> options);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  cage_status created = CAGE_UNKNOWN, started = CAGE_UNKNOWN;
  std::string explanation;  // from create, start or the last call below
  std::unique_ptr<Snapshot> discover(cage_status expected = CAGE_OK);
  cage_status prepare(const Claim& claim, Edits& edits);
  cage_status unprepare(const Claim& claim);
  cage_status check(std::string_view device);
  cage_instance* get() { return instance_; }

  const cage_module* module;
  Host host;

 private:
  cage_instance* instance_ = nullptr;
};

}  // namespace cardcage::raw
