// Selectors of the SR-IOV network device plugin as a `select` of Cardcage.
#pragma once

#include <string>

#include "ctl/import_settings.h"

namespace cardcage {

// The tables that select what one object of selectors does. None if Cardcage cannot say it: the record tells what is
// wrong.
Select import_selectors(SettingMap selectors);

// The value of `select`: a table, or a list with one table in each line.
std::string toml_select(const Select& select);

}  // namespace cardcage
