// An upgrade without a gap: the kubelet gets the drivers of the next daemon before the previous one withdraws its own.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "host/config/config.h"
#include "host/serving/driver_front.h"

namespace cardcage {

// [core] The drivers of a daemon that waits for the previous one to exit.
class Standby {
 public:
  // `config` outlives it.
  Standby(asio::io_context& core, Clock& clock, const Config& config) : core_(core), clock_(clock), config_(config) {}

  // Opens the configured drivers that the previous daemon serves, once. Their sockets have other names.
  void open();
  // Returns true once the kubelet has registered all of them.
  bool registered() const;
  // Returns the front of a driver, open if open() has opened it.
  std::unique_ptr<DriverFront> take(const std::string& driver);
  // Withdraws the fronts that were not taken.
  Task<void> close();

 private:
  void open(const std::string& driver, const DriverSockets& of_previous);

  asio::io_context& core_;
  Clock& clock_;
  const Config& config_;
  std::map<std::string, std::unique_ptr<DriverFront>> fronts_;
};

}  // namespace cardcage
