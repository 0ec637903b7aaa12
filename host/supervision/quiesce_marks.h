// Which modules an operator has told to let go of their hardware.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "host/core/result.h"

namespace cardcage {

struct QuiesceMark {
  std::string by, reason;  // for people; one line each
  std::chrono::system_clock::time_point since;
};
// "quiesced by root since 2027-01-15T08:00:00Z (driver 580)"
std::string to_string(const QuiesceMark& mark);

// [core] A mark is on disk before it counts: a daemon that is restarted in the middle of a driver's upgrade does not
// take the hardware back. It ends with the boot of the node: nothing holds the hardware then, and nobody remembers.
class QuiesceMarks {
 public:
  // One file for each in `folder`, which is made with the first. Those of another boot are removed.
  QuiesceMarks(std::filesystem::path folder, std::string boot_id);

  // Null if the module is not quiesced.
  const QuiesceMark* find(const std::string& module) const;
  Status set(const std::string& module, QuiesceMark mark);
  // One that cannot be removed from the disk stays.
  Status clear(const std::string& module);

 private:
  void read(const std::filesystem::path& file);

  const std::filesystem::path folder_;
  const std::string boot_id_;
  std::map<std::string, QuiesceMark> marks_;
};

}  // namespace cardcage
