// Records the running services, so that the next daemon finds them.
#pragma once

#include <sys/types.h>

#include <compare>
#include <filesystem>
#include <string>
#include <vector>

#include "host/access/program_rules.h"
#include "host/core/result.h"

namespace cardcage {

struct ServiceKey {
  std::string module, claim_uid, name;
  friend auto operator<=>(const ServiceKey&, const ServiceKey&) = default;
  // Returns a stable digest of the key, for file names.
  std::string digest() const;
};

struct ServiceRecord {
  ServiceKey key;
  ProgramCommand command;
  pid_t pid = 0;                // the last process
  std::string begun;            // start time of that process; see begin_of()
  std::filesystem::path group;  // its control group; empty = none
};

// [core] A record takes effect once it is in its file. No process outlives its node, so the records of another boot are
// removed.
class ServiceRecords {
 public:
  // `folder` is on a tmpfs, has one file per service and is created with the first record.
  ServiceRecords(std::filesystem::path folder, std::string boot_id)
      : folder_(std::move(folder)), boot_id_(std::move(boot_id)) {}

  std::vector<ServiceRecord> read() const;
  Status keep(ServiceRecord record) const;
  bool has(const ServiceKey& key) const;
  void forget(const ServiceKey& key) const;

 private:
  std::filesystem::path file_of(const ServiceKey& key) const { return folder_ / (key.digest() + ".json"); }

  const std::filesystem::path folder_;
  const std::string boot_id_;
};

}  // namespace cardcage
