// Checked values as a module reads them: cage_values over OptionValues.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cardcage/module.h"
#include "host/model/module.h"

namespace cardcage {

// [module thread] Borrows `values`, which must outlive it. For an unknown name or another type it returns zero and logs
// a defect of `module`.
class ValuesView {
 public:
  ValuesView(const OptionValues& values, std::string module);
  ValuesView(const ValuesView&) = delete;
  ValuesView& operator=(const ValuesView&) = delete;

  const cage_values* table() const { return &table_; }

 private:
  // Makes the arrays of a list or a map.
  void lend(const std::string& name, const OptionValue& value);
  template <class T>
  const T* find(const char* name, const char* asked_as) const;
  const OptionValues::Entry* find_entry(const char* name, const char* asked_as) const;
  void log_undeclared(std::string_view name, const char* asked_as) const;

  const OptionValues& values_;
  std::string module_;
  struct MapView {
    std::vector<cage_str> keys, values;
  };
  std::map<std::string, std::vector<cage_str>, std::less<>> lists_;  // the items that list() returns
  std::map<std::string, MapView, std::less<>> maps_;
  cage_values table_;
};

}  // namespace cardcage
