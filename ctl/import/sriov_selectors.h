// Converts selectors of the SR-IOV network device plugin to a `select`.
#pragma once

#include <string>

#include "ctl/import/settings.h"

namespace cardcage {

// Returns the tables for one object of selectors. Returns none if Cardcage cannot express it: the record has the
// reason.
Select import_selectors(SettingMap selectors);

// Formats the value of `select`: a table, or a list with one table per line.
std::string toml_select(const Select& select);

}  // namespace cardcage
