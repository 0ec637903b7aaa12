// Which GPUs are close to each other: linked by NVLink, or below the same PCIe switch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "modules/nvidia/driver.h"

namespace cardcage::nvidia {

// The numbers of the GPU's NVLinks that are up. Throws nvml::Failure for a GPU that is lost.
std::vector<unsigned> active_nvlinks(const nvml::Library& nvml, nvml::Device device);

// How well each pair of GPUs works together. All pairs are equal if the driver cannot tell.
class Closeness {
 public:
  // Reads the links of the GPUs that respond.
  static Closeness read(Driver& driver);
  // Starts without any score; the caller sets the scores.
  explicit Closeness(std::vector<std::string> uuids)
      : uuids_(std::move(uuids)), scores_(uuids_.size() * uuids_.size()) {}
  void add(std::size_t one, std::size_t other, int score);

  // Chooses `count` of the available devices, including the required ones, whose pairs have a high score in total.
  // `gpu_of` has the GPU of each device. The order of `available` decides between equals.
  std::vector<std::string> choose(const std::vector<std::string_view>& available,
                                  const std::vector<std::string>& gpu_of, const std::vector<std::string_view>& required,
                                  std::size_t count) const;

 private:
  int score(const std::string& one, const std::string& other) const;
  std::size_t index_of(const std::string& uuid) const;

  std::vector<std::string> uuids_;
  std::vector<int> scores_;
};

}  // namespace cardcage::nvidia
