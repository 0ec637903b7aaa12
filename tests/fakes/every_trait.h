// Traits of a device of which none has its default value; tests/unit/model/device_traits_test.cc counts them.
#pragma once

#include "host/model/device.h"

namespace cardcage {

inline DeviceTraits every_trait() {
  const auto gi = [](std::int64_t count) { return Quantity{count << 30, 0, Quantity::Format::kBinary}; };
  return {.attributes = {{"cores", std::int64_t{64}},
                         {"dual", true},
                         {"firmware", SemVer{"2.3.0"}},
                         {"model", std::string("A1")},
                         {"lanes", std::vector<std::int64_t>{4, 8}},
                         {"modes", std::vector<std::string>{"fast", "safe"}},
                         {"parts", std::vector<bool>{true, false}},
                         {"resource.kubernetes.io/pciBusID", std::string("0000:3b:00.0")},
                         {"versions", std::vector<SemVer>{{"1.0.0"}, {"2.0.0"}}}},
          .capacity = {{"cores", {2}}, {"memory", gi(32)}},
          .policies = {{"cores", {.default_amount = Quantity{1}, .values = {Quantity{500, -3}, Quantity{1}}}},
                       {"memory", {.default_amount = gi(4), .min = gi(4), .max = gi(16), .step = gi(4)}}},
          .consumes = {{"npu-0", {{"memory", gi(32)}}}},
          .binding = {{"Ready", "npu.acme.dev/Attached"}, {"Failed"}, true},
          .shared = true};
}

}  // namespace cardcage
