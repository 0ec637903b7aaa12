// Records which modules, and which single devices of modules, an operator has quiesced.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "host/core/result.h"

namespace cardcage {

struct QuiesceMark {
  std::string by, reason;  // for people; one line each
  std::chrono::system_clock::time_point since;
  // The device's id and Kubernetes name; both are empty if the whole module is quiesced.
  std::string device_id = {}, device = {};
};
// Returns "by root since 2027-01-15T08:00:00Z (driver 580)".
std::string to_string(const QuiesceMark& mark);

// [core] A mark takes effect once it is in its file, so that a daemon that is restarted during a driver upgrade does
// not take the hardware back. A reboot of the node ends it; see docs/decisions/0008-quiesced-until-resume-or-reboot.md.
class QuiesceMarks {
 public:
  // Reads `folder`, which is on a tmpfs, has one file per mark and is created with the first mark. Removes the marks of
  // another boot.
  QuiesceMarks(std::filesystem::path folder, std::string boot_id);

  // Returns null if the whole module, or this device of it, is not quiesced.
  const QuiesceMark* find(const std::string& module, const std::string& device_id = "") const;
  // Returns the marks of single devices.
  std::vector<QuiesceMark> of_devices(const std::string& module) const;
  Status set(const std::string& module, QuiesceMark mark);
  // Keeps a mark whose file cannot be removed.
  Status clear(const std::string& module, const std::string& device_id = "");
  // Rewrites mark files that were removed from outside.
  Status restore() const;

 private:
  void read(const std::filesystem::path& file);
  Status write(const std::string& module, const QuiesceMark& mark) const;
  std::filesystem::path file_of(const std::string& module, const QuiesceMark& mark) const;

  const std::filesystem::path folder_;
  const std::string boot_id_;
  std::map<std::string, std::map<std::string, QuiesceMark>> marks_;  // by module and device id
};

}  // namespace cardcage
