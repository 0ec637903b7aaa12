// The optional families of functions that a module offers and the host calls (abi/cardcage/ext).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <tuple>

#include "cardcage/module.h"

namespace cardcage {

enum class Family : std::uint8_t {
  kPreferred,
  kPreStart,
  kConfigure,
  kQuiesce,  // devices one by one
  kReset,
  kBind,
  kSandbox,
  kReconcile,
  kMetrics,
  kLabels,
  kCatalogue,
  kWatch
};

template <class T, class Function>
struct FamilyFunction {
  const char* name;
  Function T::* member;
};
// `id` is the name by which a module offers the family. The host ignores a family that lacks one of the functions [R5].
template <class T, class... Function>
struct FamilyRow {
  using Table = T;
  constexpr FamilyRow(Family of, const char* name, FamilyFunction<T, Function>... its)
      : family(of), id(name), functions(its...) {}
  Family family;
  const char* id;
  std::tuple<FamilyFunction<T, Function>...> functions;
};

// The table of all families: one row for each enumerator.
constexpr std::tuple kFamilies{
    FamilyRow(Family::kPreferred, CAGE_EXT_PREFERRED, FamilyFunction{"choose", &cage_preferred::choose}),
    FamilyRow(Family::kPreStart, CAGE_EXT_PRE_START, FamilyFunction{"pre_start", &cage_pre_start::pre_start}),
    FamilyRow(Family::kConfigure, CAGE_EXT_CONFIGURE, FamilyFunction{"configure", &cage_configure::configure}),
    FamilyRow(Family::kQuiesce, CAGE_EXT_QUIESCE, FamilyFunction{"quiesce", &cage_quiesce::quiesce},
              FamilyFunction{"resume", &cage_quiesce::resume}),
    FamilyRow(Family::kReset, CAGE_EXT_RESET, FamilyFunction{"reset", &cage_reset::reset}),
    FamilyRow(Family::kBind, CAGE_EXT_BIND, FamilyFunction{"bind", &cage_bind::bind}),
    FamilyRow(Family::kSandbox, CAGE_EXT_SANDBOX, FamilyFunction{"attach", &cage_sandbox::attach},
              FamilyFunction{"detach", &cage_sandbox::detach}),
    FamilyRow(Family::kReconcile, CAGE_EXT_RECONCILE, FamilyFunction{"keep", &cage_reconcile::keep}),
    FamilyRow(Family::kMetrics, CAGE_EXT_METRICS, FamilyFunction{"collect of metrics", &cage_metrics::collect}),
    FamilyRow(Family::kLabels, CAGE_EXT_LABELS, FamilyFunction{"collect of labels", &cage_labels::collect}),
    FamilyRow(Family::kCatalogue, CAGE_EXT_CATALOGUE,
              FamilyFunction{"collect of the catalogue", &cage_catalogue::collect}),
    FamilyRow(Family::kWatch, CAGE_EXT_WATCH, FamilyFunction{"events", &cage_watch::events})};

static_assert(std::tuple_size_v<decltype(kFamilies)> == static_cast<std::size_t>(Family::kWatch) + 1);

// Calls the function with each row of the table.
template <class Function>
constexpr void for_each_family(Function function) {
  std::apply([&](const auto&... rows) { (function(rows), ...); }, kFamilies);
}

// The families that the host offers and a module calls.
constexpr std::string_view kHostFamilies[] = {
    CAGE_HOST_EXEC,         CAGE_HOST_POLL,       CAGE_HOST_SERVICE,     CAGE_HOST_WRITE,
    CAGE_SNAPSHOT_COUNTERS, CAGE_SNAPSHOT_POLICY, CAGE_SNAPSHOT_BINDING, CAGE_SNAPSHOT_NOT_OFFERED,
    CAGE_EDITS_JOURNAL,     CAGE_EDITS_STATUS,    CAGE_EDITS_METADATA};

// Families outside the promise of abi/STABILITY.md.
constexpr std::string_view kDraftFamilies[] = {CAGE_EXT_BIND, CAGE_SNAPSHOT_BINDING, CAGE_EXT_SANDBOX};

// Returns whether this host has the family, on either side.
constexpr bool is_family(std::string_view id) {
  bool found = std::ranges::find(kHostFamilies, id) != std::end(kHostFamilies);
  for_each_family([&](const auto& row) { found = found || row.id == id; });
  return found;
}

constexpr bool is_draft(std::string_view id) {
  return std::ranges::find(kDraftFamilies, id) != std::end(kDraftFamilies);
}

constexpr const char* id_of(Family family) {
  const char* id = nullptr;
  for_each_family([&](const auto& row) {
    if (row.family == family) id = row.id;
  });
  return id;
}

class FamilySet {
 public:
  constexpr FamilySet() = default;
  // Takes the value of bits().
  explicit constexpr FamilySet(std::uint32_t bits) : bits_(bits) {}

  constexpr bool has(Family family) const { return (bits_ & bit(family)) != 0; }
  constexpr void add(Family family) { bits_ |= bit(family); }
  constexpr void remove(Family family) { bits_ &= ~bit(family); }
  constexpr std::uint32_t bits() const { return bits_; }

 private:
  static constexpr std::uint32_t bit(Family family) { return std::uint32_t{1} << static_cast<unsigned>(family); }

  std::uint32_t bits_ = 0;
};

}  // namespace cardcage
