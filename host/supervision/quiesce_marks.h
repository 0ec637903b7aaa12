// Records on disk which modules an operator has quiesced.
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
// "by root since 2027-01-15T08:00:00Z (driver 580)"
std::string to_string(const QuiesceMark& mark);

// [core] A mark is on disk before it counts, so that a daemon that is restarted during a driver upgrade does not take
// the hardware back. A reboot of the node ends it; see docs/decisions/0008-quiesced-until-resume-or-reboot.md.
class QuiesceMarks {
 public:
  // Reads `folder`, which has one file per mark and is made with the first. Removes the marks of another boot.
  QuiesceMarks(std::filesystem::path folder, std::string boot_id);

  // Null if the module is not quiesced.
  const QuiesceMark* find(const std::string& module) const;
  Status set(const std::string& module, QuiesceMark mark);
  // A mark that cannot be removed from the disk stays.
  Status clear(const std::string& module);

 private:
  void read(const std::filesystem::path& file);

  const std::filesystem::path folder_;
  const std::string boot_id_;
  std::map<std::string, QuiesceMark> marks_;
};

}  // namespace cardcage
