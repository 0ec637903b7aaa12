#include "modules/common/function_reset.h"

#include <exception>

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"

namespace cardcage::hardware {

bool FunctionReset::can_reset(const std::string& bus_id) const {
  const auto function = path_of(sysfs_, bus_id);
  std::error_code error;
  if (std::filesystem::exists(function / "reset_method", error))
    return text_in(function / "reset_method").starts_with("flr");
  return std::filesystem::exists(function / "reset", error) && !physical_function_of(sysfs_, bus_id).empty();
}

void FunctionReset::reset(const cage::Call& call, std::string_view device, const std::string& bus_id) const {
  host_.bind_driver(call, device, bus_id, "none");
  std::exception_ptr failure;
  try {
    host_.write_file(call, {std::string(device), path_of(sysfs_, bus_id) / "reset", "1"});
  } catch (const cage::Error&) {
    failure = std::current_exception();
  }
  host_.restore_driver(call, device, bus_id);
  if (failure) std::rethrow_exception(failure);
}

void FunctionReset::bind_anew(const cage::Call& call, std::string_view device, const std::string& bus_id) const {
  host_.bind_driver(call, device, bus_id, "none");
  host_.restore_driver(call, device, bus_id);
}

}  // namespace cardcage::hardware
