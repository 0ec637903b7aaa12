// The Node Resource Interface between a container runtime and its plugins.
#pragma once

#include "nri/nri.pb.h"

namespace cardcage {

namespace api {
namespace nri = ::nri::pkg::api::v1alpha1;
}  // namespace api

constexpr const char* kNriRuntimeService = "nri.pkg.api.v1alpha1.Runtime";
constexpr const char* kNriPluginService = "nri.pkg.api.v1alpha1.Plugin";

}  // namespace cardcage
