// The ports that claims hold as virtual functions. The kernel does not show them then, but their devices stay listed.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cardcage::fpga {

// [any-thread]
class LentPorts {
 public:
  // `device` is the id of a port or of a whole card.
  void add(const std::string& device, std::vector<unsigned> numbers) {
    const std::lock_guard lock(mutex_);
    by_device_[device] = std::move(numbers);
  }
  void remove(const std::string& device) {
    const std::lock_guard lock(mutex_);
    by_device_.erase(device);
  }
  // Returns the numbers of the lent ports of the card.
  std::vector<unsigned> of(std::string_view card) const {
    const std::lock_guard lock(mutex_);
    std::vector<unsigned> all;
    for (const auto& [device, numbers] : by_device_)
      if (std::string_view(device).substr(0, device.find('/')) == card)
        all.insert(all.end(), numbers.begin(), numbers.end());
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<unsigned>> by_device_;
};

}  // namespace cardcage::fpga
