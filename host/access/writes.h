// The writes to the hardware that a module's instance requests (cage.write).
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/access/driver_switch.h"
#include "host/access/hardware_access.h"
#include "host/core/clock.h"
#include "host/model/module_ask.h"

namespace cardcage {

// [core] Shared by the writes of all modules. It outlives their instances.
struct HardwareWrites {
  HardwareWrites(asio::io_context& on, Clock& time) : core(on), clock(time) {}
  asio::io_context& core;
  Clock& clock;
  std::filesystem::path sysfs = "/sys";
  std::shared_ptr<StuckDevices> stuck = std::make_shared<StuckDevices>();
  std::unique_ptr<DriverRecords> records;  // null = drivers cannot be switched on this node
  std::set<std::string> switching;         // PCI functions whose driver is being switched
  FaultHook fault = {};
};

// [core] The writes of one instance. The owner keeps the object until the tasks have ended.
class Writes {
 public:
  // `allowed` are patterns of matches_path().
  Writes(std::string module, std::vector<std::string> allowed, std::shared_ptr<HardwareWrites> shared)
      : module_(std::move(module)), allowed_(std::move(allowed)), shared_(std::move(shared)) {}

  Task<Result<AskReply>> run(FileWriteAsk ask, Instant deadline);
  Task<Result<AskReply>> run(IoctlAsk ask, Instant deadline);
  Task<Result<AskReply>> run(DriverAsk ask, Instant deadline);
  // Ends with the instance: stops running writes, and refuses all further ones.
  void end();
  // Explains why the device cannot be accessed; nothing if it is not stuck.
  std::optional<std::string> stuck(const std::string& device_id) const {
    return shared_->stuck->find({module_, device_id});
  }

 private:
  Status allow(const std::string& path) const;
  Task<Result<std::string>> access(std::string device_id, std::string what, wire::Access message, Instant deadline);
  Task<Status> switch_driver(DriverAsk ask, Instant deadline);
  Instant earliest(Instant deadline, std::chrono::milliseconds limit) const;

  const std::string module_;
  const std::vector<std::string> allowed_;
  const std::shared_ptr<HardwareWrites> shared_;
  std::vector<std::shared_ptr<RunningAccess>> running_;
  bool ended_ = false;
};

}  // namespace cardcage
