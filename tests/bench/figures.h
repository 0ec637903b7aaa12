// Durations of a repeated action, and the table that compares figures with budgets.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace cardcage::bench {

class Figures {
 public:
  template <class Action>
  void time(Action&& action) {
    const auto start = std::chrono::steady_clock::now();
    action();
    samples_.push_back(std::chrono::steady_clock::now() - start);
  }
  void add(const Figures& others) { samples_.insert(samples_.end(), others.samples_.begin(), others.samples_.end()); }
  double p50_us() const { return percentile_us(0.50); }
  double p99_us() const { return percentile_us(0.99); }

 private:
  double percentile_us(double fraction) const;
  std::vector<std::chrono::steady_clock::duration> samples_;
};

// Prints each row at once and remembers whether a budget was missed.
class Table {
 public:
  Table();
  void figure(const std::string& what, const Figures& figures);
  void value(const std::string& what, double value, const std::string& unit);
  // Misses the budget if `value` is larger.
  void budget(const std::string& what, double value, double budget, const std::string& unit);
  // Misses the budget if `value` is smaller.
  void at_least(const std::string& what, double value, double least, const std::string& unit);
  bool all_met() const { return missed_ == 0; }

 private:
  void compare(const std::string& what, double value, double budget, const std::string& unit, bool met);

  int missed_ = 0;
};

}  // namespace cardcage::bench
