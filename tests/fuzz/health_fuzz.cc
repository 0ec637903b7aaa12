// For any statements, lists and commands in any order, the health of devices never gets stuck, stays bounded, and the
// store knows what counts.
//   build/fuzz/bin/health_fuzz -max_len=1024 CORPUS
#include <cstdint>
#include <cstdlib>

#include "host/core/log.h"
#include "host/health/module_health.h"
#include "tests/fakes/fake_health_store.h"

namespace cardcage {
namespace {

class SteppedClock final : public Clock {
 public:
  Instant now() const override { return Instant{} + std::chrono::hours(1000) + passed; }
  std::chrono::system_clock::time_point wall() const override {
    return std::chrono::system_clock::time_point{} + std::chrono::hours(20'000) + passed;
  }
  Task<void> wait(asio::steady_timer&, Instant) override { co_return; }
  Duration passed{0};
};

// Reads zeros after the end.
class Bytes {
 public:
  Bytes(const std::uint8_t* bytes, std::size_t size) : next_(bytes), end_(bytes + size) {}
  bool empty() const { return next_ == end_; }
  unsigned below(unsigned limit) { return empty() ? 0 : *next_++ % limit; }

 private:
  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

void check(bool holds) {
  if (!holds) std::abort();
}

std::string device_id(Bytes& bytes) { return std::string(1, static_cast<char>('a' + bytes.below(5))); }
std::string cause_name(Bytes& bytes) { return fmt::format("Cause{}", bytes.below(kMaxCauses + 4)); }
std::string reason(Bytes& bytes) { return std::array{"", "A", "B"}.at(bytes.below(3)); }

Health statement(Bytes& bytes) {
  Health health{.state = static_cast<HealthState>(bytes.below(5)), .reason = reason(bytes), .cause = cause_name(bytes)};
  if (bytes.below(4) == 0) health.timeout = std::chrono::seconds(1 + bytes.below(100));
  if (bytes.below(3) == 0) health.value = bytes.below(10);
  health.taint = static_cast<TaintEffect>(bytes.below(4));
  return health;
}

HealthRules rules(Bytes& bytes) {
  std::vector<HealthRuleConfig> written;
  for (unsigned i = bytes.below(4); i > 0; --i) {
    HealthRuleConfig rule{.cause = bytes.below(2) == 0 ? "*" : cause_name(bytes), .reason = reason(bytes)};
    rule.recovery = static_cast<Recovery>(bytes.below(4));
    rule.hold_down = std::chrono::seconds(bytes.below(20));
    rule.recovery_time = std::chrono::seconds(bytes.below(60));
    rule.relapses = bytes.below(4);
    rule.window = std::chrono::seconds(bytes.below(200));
    if (bytes.below(3) == 0) rule.severity = static_cast<HealthState>(bytes.below(5));
    if (bytes.below(4) == 0) rule.taint = TaintRule{.effect = static_cast<TaintEffect>(bytes.below(4))};
    rule.resets_per_day = bytes.below(3);
    written.push_back(std::move(rule));
  }
  return HealthRules::make({}, true, written).value_or(HealthRules());
}

class Run {
 public:
  explicit Run(Bytes bytes) : bytes_(bytes) { restart(); }
  void steps() {
    while (!bytes_.empty()) {
      step();
      look();
    }
    settle();
  }

 private:
  void restart() {
    module_.emplace("m", clock_, store_, [](const HealthEvent&) {});
  }
  void list() {
    Snapshot snapshot;
    for (const char id : {'a', 'b', 'c'})
      if (bytes_.below(4) != 0)
        snapshot.devices.push_back({.id = std::string(1, id), .parent_id = bytes_.below(3) == 0 ? "d" : ""});
    module_->list(snapshot);
  }
  void wait(Duration by) {
    const Duration until = clock_.passed + by;
    const Instant end = clock_.now() + by;
    while (module_->due() <= end) {
      if (module_->due() > clock_.now()) clock_.passed += module_->due() - clock_.now();
      module_->advance();
      check(module_->due() > clock_.now());
    }
    clock_.passed = until;
  }
  void step() {
    switch (bytes_.below(9)) {
      case 0: list(); return;
      case 1: wait(std::chrono::seconds(bytes_.below(200))); return;
      case 2: module_->set_rules(rules(bytes_)); return;
      case 3: restart(); return;
      case 4: {
        const std::string id = device_id(bytes_);
        static_cast<void>(module_->clear(id, cause_name(bytes_), "root", ""));
        return;
      }
      case 5: module_->note_reset(device_id(bytes_), "", "", {}); return;
      default: {
        const std::string id = device_id(bytes_);
        const bool known = module_->knows(id);
        check(!module_->state(id, statement(bytes_)) || known);
      }
    }
  }
  void look() {
    for (const char* id : {"a", "b", "c", "d", "e"}) {
      const DeviceHealth health = module_->health({.id = id});
      check(health.causes.size() <= kMaxCauses);
      check(health.health.message.size() <= kMaxHealthMessage);
      for (const CauseHealth& cause : health.causes) {
        if (cause.health.state == HealthState::kHealthy) continue;
        const auto record = store_.records.find({{"m", id}, cause.health.cause});
        check(record != store_.records.end() && record->second.health.state == cause.health.state &&
              record->second.quarantined == cause.quarantined);
      }
      if (!module_->knows(id)) check(health.causes.empty());
    }
  }
  // Without a bad statement everything ends except what only an operator ends; then the operator ends it.
  void settle() {
    for (const char* id : {"a", "b", "c", "d", "e"}) {
      for (const CauseHealth& cause : module_->health({.id = id}).causes) {
        clock_.passed += std::chrono::milliseconds(1);
        module_->state(id, {.state = HealthState::kHealthy, .cause = cause.health.cause});
      }
    }
    wait(std::chrono::hours(2));
    for (const char* id : {"a", "b", "c", "d", "e"}) {
      for (const CauseHealth& cause : module_->health({.id = id}).causes) {
        check(module_->clear(id, cause.health.cause, "root", "").has_value());
      }
      if (const DeviceHealth health = module_->health({.id = id}); !health.causes.empty())
        check(health.health.state == HealthState::kHealthy);
    }
    wait(std::chrono::hours(2));
    check(store_.records.empty());
  }

  Bytes bytes_;
  SteppedClock clock_;
  FakeHealthStore store_;
  std::optional<ModuleHealth> module_;
};

}  // namespace
}  // namespace cardcage

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace cardcage;
  static const bool quiet = (configure_log(LogLevel::kError, LogFormat::kText), true);
  static_cast<void>(quiet);
  Run(Bytes(bytes, size)).steps();
  return 0;
}
