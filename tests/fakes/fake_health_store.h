// A store of health in memory: the records of the daemon's disk, in the order of their changes.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/model/health_record.h"

namespace cardcage {

class FakeHealthStore final : public HealthStore {
 public:
  std::vector<CauseRecord> causes(const std::string& module) const override {
    std::vector<CauseRecord> found;
    for (const auto& [key, record] : records)
      if (key.first.module == module) found.push_back(record);
    return found;
  }
  std::vector<CordonRecord> cordons(const std::string& module) const override {
    std::vector<CordonRecord> found;
    for (const auto& [key, record] : cordoned)
      if (key.module == module) found.push_back(record);
    return found;
  }
  std::vector<ResetRecord> resets(const std::string& module) const override {
    std::vector<ResetRecord> found;
    for (const ResetRecord& record : attempts)
      if (record.device.module == module) found.push_back(record);
    return found;
  }
  void keep(CauseRecord record) override {
    ++writes;
    const std::pair key(record.device, record.health.cause);
    records.insert_or_assign(key, std::move(record));
  }
  void forget(const DeviceKey& device, const std::string& cause) override {
    ++writes;
    records.erase({device, cause});
  }
  Task<Status> keep(CordonRecord record) override {
    if (!disk) co_return disk;
    const DeviceKey key = record.device;
    cordoned.insert_or_assign(key, std::move(record));
    co_return Status();
  }
  Task<Status> forget_cordon(DeviceKey device) override {
    if (disk) cordoned.erase(device);
    co_return disk;
  }
  Task<Status> keep(ResetRecord record) override {
    if (disk) attempts.push_back(std::move(record));
    co_return disk;
  }
  void note(HealthEvent event) override { events.push_back(std::move(event)); }
  Task<Result<std::vector<HealthEvent>>> health_history(HealthQuery query) override {
    std::vector<HealthEvent> found;
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
      if (static_cast<std::int64_t>(found.size()) >= query.limit) break;
      if (!query.device.empty() && query.device != event->device.id && query.device != event->name) continue;
      if (!query.module.empty() && query.module != event->device.module) continue;
      if (event->time >= query.since) found.push_back(*event);
    }
    co_return found;
  }

  std::map<std::pair<DeviceKey, std::string>, CauseRecord> records;
  std::map<DeviceKey, CordonRecord> cordoned;
  std::vector<ResetRecord> attempts;
  std::vector<HealthEvent> events;
  int writes = 0;
  Status disk;  // the result of cordons and resets
};

}  // namespace cardcage
