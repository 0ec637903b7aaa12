// Counts the changes of what the daemon reports, so that a watcher knows when to read it again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <utility>

namespace cardcage {

// The reports of the admin API. kHealth: the events of devices, and the rules that judge them.
enum class Section : std::uint8_t { kStatus, kModules, kDevices, kClaims, kHistory, kHealth, kConfiguration };
constexpr std::size_t kSections = 7;

// [core] Costs an increment while there is no watcher.
class ChangeCounters {
 public:
  using Counts = std::array<std::uint32_t, kSections>;

  template <class Sections = std::initializer_list<Section>>
  void note(const Sections& sections) {
    for (const Section section : sections) ++counts_[static_cast<std::size_t>(section)];
    if (watcher_) watcher_();
  }
  const Counts& counts() const { return counts_; }
  std::uint32_t count(Section section) const { return counts_[static_cast<std::size_t>(section)]; }
  // Calls `watcher` after every change; none if it is empty.
  void watch(std::function<void()> watcher) { watcher_ = std::move(watcher); }
  bool watched() const { return watcher_ != nullptr; }

 private:
  Counts counts_{};
  std::function<void()> watcher_;
};

}  // namespace cardcage
