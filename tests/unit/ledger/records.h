// Claim records for tests.
#pragma once

#include <string>

#include "host/cdi/names.h"
#include "host/ledger/record.h"

namespace cardcage {

inline constexpr const char* kDriver = "gpu.example.com";
inline constexpr const char* kBoot = "boot-1";

// A prepared claim, with one device "gpu-<n>" of module "gpus".
inline ClaimRecord a_record(const std::string& uid, int n = 0) {
  ClaimRecord record{.driver = kDriver,
                     .ref = {"team", "claim-" + uid, uid},
                     .phase = ClaimPhase::kPrepared,
                     .boot_id = kBoot,
                     .begun = WallTime(std::chrono::milliseconds(1'800'000'000'001)),
                     .prepared = WallTime(std::chrono::milliseconds(1'800'000'000'002)),
                     .parts = {}};
  ModulePart& part = record.parts.emplace_back();
  part.module = "gpus";
  HeldDevice& device = part.devices.emplace_back();
  device.device_id = fmt::format("GPU-{}", n);
  device.allocation.request = "main/sub";
  device.allocation.driver = kDriver;
  device.allocation.pool = "node";
  device.allocation.device = fmt::format("gpu-{}", n);
  device.cdi_name = cdi_device_name(uid, device.allocation.device, "");
  device.edits.env.push_back({"GPU", std::to_string(n)});
  return record;
}

// The same claim, before its module was called.
inline ClaimRecord an_intent(const std::string& uid, int n = 0) {
  ClaimRecord record = a_record(uid, n);
  record.phase = ClaimPhase::kPreparing;
  record.prepared = {};
  return record;
}

// A claim with every member set.
inline ClaimRecord a_full_record(const std::string& uid) {
  ClaimRecord record = a_record(uid);
  ModulePart& part = record.parts[0];
  part.state = std::string("binary\0state", 12);
  part.state_version = 7;
  part.journal = std::string("note\0", 5);
  part.edits.mounts = {{"/opt/lib", "/usr/lib/gpu", "bind", {"ro"}}};
  part.params = {{ConfigSource::kClaim, {"main/sub"}, R"({"mode":"fast"})"}};
  HeldDevice& device = part.devices[0];
  device.allocation.admin_access = true;
  device.allocation.share_id = "5b2c9f1e-0000-4000-8000-000000000001";
  device.allocation.consumed_capacity["memory"] = Quantity{4, 0, Quantity::Format::kDecimal};
  device.edits.device_nodes = {{"/dev/gpu0", "", "c", "rw", 195, 0, 0666, 0, 44}};
  device.edits.hooks = {{"createContainer", "/usr/bin/hook", {"hook"}, {}, 5}};
  device.conditions = {{"Ready", DeviceCondition::Status::kTrue, "Linked", "at 400 Gbit/s", record.begun}};
  device.status_data = R"({"lanes":16})";
  device.network = NetworkData{"net1", {"10.1.2.3/24"}, "02:00:00:00:00:01"};
  part.metadata = {{"main", "/run/cardcage/metadata/x/main.json", "/var/run/kubernetes.io/x.json", 2, "{}\n{}\n"}};
  device.holders = {{"GPU-1::0", "team", "train", "main", record.begun}};
  device.values.entries["mode"] = {std::string("fast"), true, ConfigSource::kClaim};
  device.values.entries["limits.gpu"] = {TextMap{{"a", "1"}}, true, ConfigSource::kClass};
  device.values.kind = "GpuConfig";
  device.values.entries["limit"] = {std::int64_t{-3}, false};
  device.values.entries["strict"] = {true, true};
  device.values.entries["modes"] = {std::vector<std::string>{"a", "b"}, true};
  ModulePart& second = record.parts.emplace_back();
  second.module = "nics";
  second.devices.push_back(record.parts[0].devices[0]);
  second.devices[0].device_id = "NIC-1";
  return record;
}

}  // namespace cardcage
