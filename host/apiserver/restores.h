// Lists whose versions are void, because etcd was restored from a backup after them.
#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace cardcage {

class Restores {
 public:
  // `list` names what was listed; its version is valid from now on.
  void note_list(const std::string& list) {
    known_.insert(list);
    outdated_.erase(list);
  }
  void note_restore() {
    ++count_;
    outdated_ = known_;
  }
  bool is_outdated(const std::string& list) const { return outdated_.contains(list); }
  std::size_t count() const { return count_; }

 private:
  std::set<std::string> known_, outdated_;
  std::size_t count_ = 0;
};

}  // namespace cardcage
