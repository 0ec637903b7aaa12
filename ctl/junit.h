// A report of `cagectl module check` in the format of JUnit, which CI systems show as tests.
#pragma once

#include <string>

#include "host/conformance/report.h"

namespace cardcage {

std::string junit_xml(const Report& report);

}  // namespace cardcage
