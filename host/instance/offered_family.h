// The optional families of a loaded module.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "cardcage/module.h"
#include "host/model/family.h"

namespace cardcage {

// [any-thread] Calls the module's extension function; returns null without one.
const void* find_extension(const cage_module& table, const char* id);

// [any-thread] Returns the family of the row, or null if the module does not offer it with all its functions [R5].
template <class T, class... Function>
const T* offered(const cage_module& table, const FamilyRow<T, Function...>& row) {
  const auto* const family = static_cast<const T*>(find_extension(table, row.id));
  if (family == nullptr) return nullptr;
  const auto can = [family](const auto& function) {
    const auto* const place = &(family->*function.member);
    const auto end = reinterpret_cast<const char*>(place + 1) - reinterpret_cast<const char*>(family);
    return static_cast<std::size_t>(end) <= family->struct_size && *place != nullptr;
  };
  return std::apply([&](const auto&... functions) { return (can(functions) && ...); }, row.functions) ? family
                                                                                                      : nullptr;
}

// Does the same for the family of this type.
template <class T>
const T* family_of(const cage_module& table) {
  const T* family = nullptr;
  for_each_family([&](const auto& row) {
    if constexpr (std::is_same_v<typename std::remove_cvref_t<decltype(row)>::Table, T>) family = offered(table, row);
  });
  return family;
}

}  // namespace cardcage
