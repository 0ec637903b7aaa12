#include "tests/bench/figures.h"

#include <fmt/core.h>

#include <algorithm>

namespace cardcage::bench {

double Figures::percentile_us(double fraction) const {
  if (samples_.empty()) return 0;
  auto sorted = samples_;
  const auto place = sorted.begin() + static_cast<std::ptrdiff_t>(fraction * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), place, sorted.end());
  return std::chrono::duration<double, std::micro>(*place).count();
}

Table::Table() { fmt::print("{:<58} {:>12} {:>12}  {}\n", "", "p50 or value", "p99 or max", "unit"); }

void Table::figure(const std::string& what, const Figures& figures) {
  fmt::print("{:<58} {:>12.1f} {:>12.1f}  us\n", what, figures.p50_us(), figures.p99_us());
}

void Table::value(const std::string& what, double value, const std::string& unit) {
  fmt::print("{:<58} {:>12.2f} {:>12}  {}\n", what, value, "", unit);
}

void Table::budget(const std::string& what, double value, double budget, const std::string& unit) {
  compare(what, value, budget, unit, value <= budget);
}

void Table::at_least(const std::string& what, double value, double least, const std::string& unit) {
  compare(what, value, least, unit, value >= least);
}

void Table::compare(const std::string& what, double value, double budget, const std::string& unit, bool met) {
  missed_ += met ? 0 : 1;
  fmt::print("{:<58} {:>12.2f} {:>12.2f}  {:<5} {}\n", what, value, budget, unit, met ? "ok" : "MISSED");
}

}  // namespace cardcage::bench
