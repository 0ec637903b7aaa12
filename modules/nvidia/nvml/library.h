// The NVML library of the node's driver, open and initialised.
#pragma once

#include <cardcage/sdk.hpp>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "modules/nvidia/nvml/functions.h"

namespace cardcage::nvml {

// A call of NVML that failed. The text has subject and cause.
class Failure : public cage::Error {
 public:
  Failure(Return code, const std::string& text);
  Return code() const { return code_; }

 private:
  Return code_;
};

// Frees an event set: nvmlShutdown() does not, and leaves the GPU open until the process ends.
struct FreeEventSet {
  Return (*free)(EventSet) = nullptr;
  void operator()(EventSet set) const { free(set); }
};
// Must not outlive the library.
using OwnedEventSet = std::unique_ptr<EventSetHandle, FreeEventSet>;

class Library {
 public:
  // Opens the file and initialises it. A node without GPUs is not an error, and broken GPUs fail by themselves later.
  // Throws Failure, or cage::Error if the file cannot be opened.
  explicit Library(const std::filesystem::path& file);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  // Closes every GPU. All handles are dead afterwards.
  ~Library();

  // Null for a function that this driver does not have.
  const Functions* operator->() const { return &functions_; }
  // Returns nothing if the driver makes none.
  OwnedEventSet make_event_set() const;
  std::string error_text(Return code) const;
  // Throws Failure: "reading the UUID of GPU 0000:3b:00.0: GPU is lost".
  void must(Return code, const std::string& doing) const;
  // The result of a getter, which is its last parameter; nothing if the GPU has none or the driver lacks the function.
  // Throws Failure for any other error, which says nothing about the hardware.
  template <class Result, class... Parameters, class... Arguments>
  std::optional<Result> find(const std::string& doing, Return (*function)(Parameters...), Arguments... arguments) const;

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  void bind(const std::filesystem::path& file);

  std::unique_ptr<void, Close> handle_;
  Functions functions_;
};

// The text in a buffer of NVML, which may lack the zero at its end.
inline std::string text_in(std::span<const char> buffer) {
  return {buffer.data(), ::strnlen(buffer.data(), buffer.size())};
}

// Codes that mean: this GPU or this driver does not have the feature.
constexpr bool means_absent(Return code) {
  return code == kNotSupported || code == kFunctionNotFound || code == kDeprecated;
}
// Codes that mean: the object does not exist on this GPU.
constexpr bool means_none(Return code) { return code == kNotSupported || code == kNotFound; }
// Codes that mean: the GPU does not respond any more.
constexpr bool means_lost(Return code) { return code == kGpuIsLost || code == kGpuNotFound || code == kUnknown; }

template <class Result, class... Parameters, class... Arguments>
std::optional<Result> Library::find(const std::string& doing, Return (*function)(Parameters...),
                                    Arguments... arguments) const {
  Result result{};
  if (function == nullptr) return std::nullopt;
  const Return code = function(arguments..., &result);
  if (means_none(code)) return std::nullopt;
  must(code, doing);
  return result;
}

// The result of a getter, or nothing if the function is missing or fails: get(nvml->nvmlDeviceGetIndex, device) for
// functions whose last parameter is the result. For figures and attributes that may be left out; Library::find() reads
// the values that the module makes decisions with.
template <class Result, class... Parameters, class... Arguments>
std::optional<Result> get(Return (*function)(Parameters...), Arguments... arguments) {
  Result result{};
  if (function == nullptr || function(arguments..., &result) != kSuccess) return std::nullopt;
  return result;
}
// The same for tagged structs.
template <class Result, class... Parameters, class... Arguments>
std::optional<Result> get_tagged(Return (*function)(Parameters...), Arguments... arguments) {
  Result result{};
  result.version = tag<Result>();
  if (function == nullptr || function(arguments..., &result) != kSuccess) return std::nullopt;
  return result;
}

// The value of a field that is a count, or nothing if the GPU does not have it.
inline std::optional<unsigned long long> count_of(const FieldValue& field) {
  if (field.nvmlReturn != kSuccess) return std::nullopt;
  const bool is_short = field.valueType == kUnsigned || field.valueType == kInt;
  return is_short ? field.value.u : field.value.ull;
}

}  // namespace cardcage::nvml
