// A module for hardware on a fake node, called as the daemon does it, in either isolation.
#pragma once

#include "host/config/params.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {

class HardwareFixture : public ScenarioFixture {
 protected:
  // `api_version` is that of the module's parameters.
  explicit HardwareFixture(std::string api_version) : api_version_(std::move(api_version)) {}

  // Starts the module of `wanted` on the node at `roots`.
  Status start_module(const ModuleConfig& wanted, std::shared_ptr<Services> services = nullptr) {
    auto loaded = run(load_file(core, clock, wanted, modules_dir, soon(), nullptr, {&groups, writes, services, roots}));
    if (!loaded) return std::unexpected(loaded.error());
    module = *loaded;
    timers.clear();  // drops those of an earlier instance
    ModuleEvents told = events();
    told.descriptor = [this](std::int32_t descriptor) { timers.push_back(descriptor); };
    return run(module->start(std::move(told), soon()));
  }
  SnapshotPtr discover() {
    auto found = run(module->call(DiscoverCall{}, soon()));
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : std::make_shared<Snapshot>();
  }
  // The names that Kubernetes sees, sorted.
  std::vector<std::string> names() {
    const SnapshotPtr snapshot = discover();
    std::vector<std::string> all;
    for (const Device& device : snapshot->devices) all.push_back(device.name);
    std::ranges::sort(all);
    return all;
  }
  Device device(const std::string& name) {
    const SnapshotPtr snapshot = discover();
    const auto found = std::ranges::find(snapshot->devices, name, &Device::name);
    EXPECT_NE(found, snapshot->devices.end()) << "no device " << name;
    return found == snapshot->devices.end() ? Device{} : *found;
  }
  // Makes the claim `uid` for the devices with these names. `params` are the members of its parameters, if not empty.
  ModuleClaim claim_of(const std::string& uid, const std::vector<std::string>& wanted, const std::string& params,
                       const std::string& kind, ConfigSource source = ConfigSource::kClaim) {
    ModuleClaim made = claim(uid, {});
    for (const std::string& name : wanted) {
      const Device found = device(name);
      auto& allocation = made.allocations.emplace_back();
      allocation.device_id = found.id;
      allocation.request = "main";
      std::vector<DecodedParams> decoded;
      if (!params.empty()) decoded.push_back(read_params(params, kind, source));
      auto values = resolve_params(module->identity(), found.kind, decoded);
      EXPECT_TRUE(values) << values.error().message;
      if (values) allocation.values = *values;
    }
    return made;
  }
  DecodedParams read_params(const std::string& members, const std::string& kind,
                            ConfigSource source = ConfigSource::kClaim) {
    const auto read =
        decode_params(module->identity(), source,
                      fmt::format(R"({{"apiVersion":"{}","kind":"{}",{}}})", api_version_, kind, members));
    EXPECT_TRUE(read) << read.error().message;
    return read.value_or(DecodedParams{});
  }
  // Prepares as the daemon does: the saved state and the journal are passed to the next call.
  Result<PreparedEdits> prepare(ModuleClaim& wanted) { return kept(run(preparing(wanted, soon())), wanted); }
  // The prepare of `wanted`, which must outlive the task.
  Task<Result<PreparedEdits>> preparing(ModuleClaim& wanted, Instant deadline) {
    return module->call(PrepareCall{wanted}, deadline, [&wanted](std::string bytes) {
      wanted.journal = std::move(bytes);
      return Status();
    });
  }
  static Result<PreparedEdits> kept(Result<PreparedEdits> prepared, ModuleClaim& wanted) {
    if (prepared) wanted.state = prepared->state, wanted.state_version = prepared->state_version;
    return prepared;
  }
  Status unprepare(const ModuleClaim& wanted) { return run(module->call(UnprepareCall{wanted}, soon())); }

  // Lets the timer of the module expire `ticks` times, as the daemon does.
  void pass_ticks(int ticks) {
    for (int tick = 0; tick < ticks; ++tick) {
      ASSERT_TRUE(eventually([this] {
        let_news_pass();
        return !timers.empty();
      }));
      const std::int32_t timer = timers.front();
      timers.clear();
      ASSERT_TRUE(run(module->call(
          EventsCall{{.events = {{.type = EventType::kDescriptor, .time = {}, .text = {}, .descriptor = timer}}}},
          soon())));
    }
    settle();
  }
  // Waits until the module may report news again: inside the daemon, there is a pause between two reports. A worker
  // needs none, and would seem to hang if the clock ran ahead of it.
  void let_news_pass() {
    if (isolation == Isolation::kInProcess) clock.advance(std::chrono::milliseconds(10));
  }

  std::vector<std::string> writes_allowed;
  std::vector<std::int32_t> timers;  // expired timers

 private:
  const std::string api_version_;
};

// Texts such as "brand=Nvidia"; versions as "version 1.2.3".
inline std::vector<std::string> attributes_of(const Device& device) {
  const auto text = []<class Value>(const Value& value) -> std::string {
    if constexpr (std::is_same_v<Value, std::string>) return value;
    if constexpr (std::is_same_v<Value, SemVer>) return "version " + value.text;
    if constexpr (std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, bool>) return fmt::format("{}", value);
    return "something else";
  };
  std::vector<std::string> lines;
  for (const auto& [name, value] : device.attributes) lines.push_back(name + "=" + std::visit(text, value));
  return lines;
}
// Texts such as "memory=80Gi".
template <class Quantities>
std::vector<std::string> amounts_of(const Quantities& quantities) {
  std::vector<std::string> lines;
  for (const auto& [name, quantity] : quantities) lines.push_back(name + "=" + quantity.to_string());
  return lines;
}
// Texts such as "c 195:0 /dev/nvidia0".
inline std::vector<std::string> nodes_of(const Edits& edits) {
  std::vector<std::string> lines;
  for (const DeviceNode& node : edits.device_nodes)
    lines.push_back(fmt::format("{} {}:{} {}", node.type, node.major.value_or(-1), node.minor.value_or(-1), node.path));
  return lines;
}

}  // namespace cardcage
