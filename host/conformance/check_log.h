// The log of the host during a check.
#pragma once

#include <initializer_list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/log.h"

namespace cardcage {

// A line with the field `rule` says that the module breaks this rule. [any-thread]
class CheckLog {
 public:
  // Takes the lines of this process from now on. A thread that is stuck in the disk may outlive the check and its log.
  static std::shared_ptr<CheckLog> divert();
  void add(std::string_view message, std::initializer_list<LogField> fields);
  // Returns the last lines, without duplicates.
  std::vector<std::string> lines();
  // Returns each breach once, with its rule, except breaches of the rules in `known`.
  std::vector<std::string> breaches(const std::set<std::string_view>& known);

 private:
  struct Breach {
    std::string rule, text;
    friend bool operator==(const Breach&, const Breach&) = default;
  };
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<Breach> breaches_;
};

}  // namespace cardcage
