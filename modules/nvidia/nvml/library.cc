#include "modules/nvidia/nvml/library.h"

#include <dlfcn.h>

namespace cardcage::nvml {
namespace {

cage_status status_of(Return code) {
  switch (code) {
    case kInvalidArgument:
    case kInsufficientSize:
    case kArgumentVersionMismatch: return CAGE_INTERNAL;
    case kNotSupported:
    case kFunctionNotFound:
    case kDeprecated: return CAGE_UNIMPLEMENTED;
    case kNoPermission: return CAGE_PERMISSION_DENIED;
    case kNotFound:
    case kGpuNotFound: return CAGE_NOT_FOUND;
    case kInsufficientResources:
    case kMemory: return CAGE_RESOURCE_EXHAUSTED;
    case kTimeout: return CAGE_DEADLINE_EXCEEDED;
    case kResetRequired:
    case kLibRmVersionMismatch:
    case kCorruptedInforom: return CAGE_FAILED_PRECONDITION;
    default: return CAGE_UNAVAILABLE;
  }
}

// The remedy for the operator, where NVML's own text does not suggest it.
const char* remedy(Return code) {
  switch (code) {
    case kDriverNotLoaded: return "; load the kernel module nvidia";
    case kLibRmVersionMismatch:
      return "; the library and the loaded kernel module are of different versions: load the kernel module again "
             "(rmmod nvidia, modprobe nvidia) or restart the node";
    case kGpuIsLost: return "; it has fallen off the bus: restart the node, and look at its power and its seating";
    case kResetRequired: return "; reset it: nvidia-smi --gpu-reset";
    case kNoPermission: return "; the worker needs access to its device nodes";
    default: return "";
  }
}

}  // namespace

Failure::Failure(Return code, const std::string& text) : cage::Error(status_of(code), text), code_(code) {}

void Library::Close::operator()(void* handle) const { ::dlclose(handle); }

Library::Library(const std::filesystem::path& file) : handle_(::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
  if (!handle_) throw cage::Error(CAGE_FAILED_PRECONDITION, "NVML library '" + file.string() + "': " + ::dlerror());
  bind(file);
  const Return begun =
      functions_.nvmlInitWithFlags != nullptr ? functions_.nvmlInitWithFlags(kInitNoGpus) : functions_.nvmlInit_v2();
  must(begun, "initialising the NVML library '" + file.string() + "'");
}

Library::~Library() { functions_.nvmlShutdown(); }

void Library::bind(const std::filesystem::path& file) {
  const auto find = [this](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle_.get(), name));
    return function != nullptr;
  };
#define CARDCAGE_NVML_BIND(name, parameters)    \
  if (!find(functions_.name, #name))            \
    throw cage::Error(CAGE_FAILED_PRECONDITION, \
                      "'" + file.string() + "' lacks " #name ": it is not an NVML library, or older than driver 470");
  CARDCAGE_NVML_REQUIRED(CARDCAGE_NVML_BIND)
#undef CARDCAGE_NVML_BIND
#define CARDCAGE_NVML_BIND(name, parameters) find(functions_.name, #name);
  CARDCAGE_NVML_OPTIONAL(CARDCAGE_NVML_BIND)
#undef CARDCAGE_NVML_BIND
  find(functions_.nvmlErrorString, "nvmlErrorString");
}

OwnedEventSet Library::make_event_set() const {
  EventSet set = nullptr;
  const bool can_make = functions_.nvmlEventSetCreate != nullptr && functions_.nvmlEventSetFree != nullptr;
  if (!can_make || functions_.nvmlEventSetCreate(&set) != kSuccess) set = nullptr;
  return OwnedEventSet(set, {functions_.nvmlEventSetFree});
}

std::string Library::error_text(Return code) const {
  const char* text = functions_.nvmlErrorString != nullptr ? functions_.nvmlErrorString(code) : nullptr;
  return text != nullptr ? std::string(text) : "NVML error";
}

void Library::must(Return code, const std::string& doing) const {
  if (code == kSuccess) return;
  throw Failure(code, doing + ": " + error_text(code) + " (NVML code " + std::to_string(code) + ")" + remedy(code));
}

}  // namespace cardcage::nvml
