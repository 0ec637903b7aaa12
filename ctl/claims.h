// How a claim looks, live or in the history.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "ctl/print.h"

namespace cardcage {

// "gpu-0, gpu-1"
std::string device_names(const admin::v1::Claim& claim);
boost::json::object claim_json(const admin::v1::Claim& claim);

}  // namespace cardcage
