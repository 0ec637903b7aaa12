// The versions of structs that a driver branch knows.
//
// Source: NVML API reference, "Change Log".
#pragma once

#include "sim/nvml/library/entry.h"

namespace cardcage::fake_nvml {

template <class T>
inline constexpr unsigned kFirstBranch = 0;
template <>
inline constexpr unsigned kFirstBranch<nvml::GpuInstanceProfileInfo3> = 545;
template <>
inline constexpr unsigned kFirstBranch<nvml::GpuFabricInfo2> = 550;
template <>
inline constexpr unsigned kFirstBranch<nvml::MarginTemperature> = 570;
template <>
inline constexpr unsigned kFirstBranch<nvml::GpuFabricInfo3> = 580;
template <>
inline constexpr unsigned kFirstBranch<nvml::DeviceAddressingMode> = 580;

// Every versioned struct begins with its tag.
inline unsigned tag_at(const void* tagged) { return *static_cast<const unsigned*>(tagged); }

template <class T>
bool has_tag(const void* tagged) {
  return tag_at(tagged) == nvml::tag<T>() && branch() >= kFirstBranch<T>;
}

template <class T>
Return check_tag(const T* tagged) {
  if (tagged == nullptr) return nvml::kInvalidArgument;
  return has_tag<T>(tagged) ? nvml::kSuccess : nvml::kArgumentVersionMismatch;
}

}  // namespace cardcage::fake_nvml
