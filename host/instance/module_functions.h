// Enters the functions of one module: what they return or throw becomes a Status.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "host/instance/call_context.h"
#include "host/instance/offered_family.h"
#include "host/loader/loader.h"

namespace cardcage {

// The end of the error for a call that fails without an explanation [R4].
constexpr std::string_view kUnexplained = "the module does not explain it";

// Used like the Instance that has it.
class ModuleFunctions {
 public:
  ModuleFunctions(std::string name, LoadedModule module) : name_(std::move(name)), module_(std::move(module)) {}

  const LoadedModule& module() const { return module_; }
  const cage_module& table() const { return module_.table(); }
  // Returns the created instance; null if there is none.
  cage_instance* self() const { return self_; }
  void set_self(cage_instance* created) { self_ = created; }
  void destroy();

  // Calls one function of the module. No exception leaves it [R9], and any number it returns becomes a Status.
  template <class Function>
  Status call(const CallContext& context, Function function) const;
  // Like call(), for functions that need a created instance.
  template <class Function>
  Status call_running(const CallContext& context, Function function) const;
  // Like call_running(), for a function of an optional family; fails with kUnimplemented if the module lacks it.
  template <class T, class Function, class... Argument>
  Status call_family(const CallContext& context, Function T::* function, const Argument&... arguments) const;
  std::unexpected<Error> failure(const CallContext& context, Code code, std::string_view why) const;
  Status to_status(const CallContext& context, cage_status status) const;

 private:
  std::unexpected<Error> exception(const CallContext& context, const char* what) const;

  const std::string name_;
  const LoadedModule module_;
  cage_instance* self_ = nullptr;
};

template <class Function>
Status ModuleFunctions::call(const CallContext& context, Function function) const {
  try {
    return to_status(context, function());
  } catch (const std::exception& error) {
    return exception(context, error.what());
  } catch (...) {
    return exception(context, nullptr);
  }
}

template <class Function>
Status ModuleFunctions::call_running(const CallContext& context, Function function) const {
  if (self_ == nullptr) return failure(context, Code::kFailedPrecondition, "it did not start");
  return call(context, function);
}

template <class T, class Function, class... Argument>
Status ModuleFunctions::call_family(const CallContext& context, Function T::* function,
                                    const Argument&... arguments) const {
  const T* const family = family_of<T>(module_.table());
  if (family == nullptr) return to_status(context, CAGE_UNIMPLEMENTED);
  return call_running(context, [&] { return (family->*function)(self_, context.table(), arguments...); });
}

}  // namespace cardcage
