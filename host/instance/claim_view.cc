#include "host/instance/claim_view.h"

#include <algorithm>

#include "host/sinks/lent.h"

namespace cardcage {
namespace {

std::uint32_t count(const auto& list) { return static_cast<std::uint32_t>(list.size()); }

// The API server's "10Gi" arrives as a multiple of a power of ten, but binary quantities of the ABI have no exponent.
// Modules that look at the value alone are right for all whole amounts.
cage_quantity raw(const Quantity& quantity) {
  const auto whole = quantity.in_units(0);
  const bool binary = whole && quantity.format == Quantity::Format::kBinary;
  return {{},
          whole.value_or(quantity.value),
          whole ? 0 : quantity.exp10,
          static_cast<std::uint32_t>(binary ? CAGE_QTY_BINARY : CAGE_QTY_DECIMAL)};
}

}  // namespace

ClaimView::ClaimView(const ModuleClaim& claim, const std::vector<ParamsSchema>* schemas, const std::string& module)
    : table_{} {
  // A claim from the time of an older file may have no values. A module whose devices all take parameters need not
  // expect that.
  const bool always = schemas != nullptr && std::ranges::any_of(*schemas, [](const ParamsSchema& schema) {
                        return schema.device_kinds.empty() && !schema.raw;
                      });
  for (const ModuleAllocation& allocation : claim.allocations)
    add_allocation(allocation, always || (schemas != nullptr && !allocation.values.empty()), module);
  for (const ModuleParams& params : claim.params) add_params(params);
  table_.struct_size = sizeof table_;
  table_.state_version = claim.state_version;
  table_.uid = lent(claim.ref.uid);
  table_.name_space = lent(claim.ref.name_space);
  table_.name = lent(claim.ref.name);
  table_.allocs = allocations_.data();
  table_.alloc_count = count(allocations_);
  table_.flags = claim.other_boot ? static_cast<std::uint32_t>(CAGE_CLAIM_OTHER_BOOT) : 0;
  table_.params = params_.data();
  table_.params_count = count(params_);
  table_.state = {claim.state.data(), claim.state.size()};
  table_.journal = {claim.journal.data(), claim.journal.size()};
  table_.resource = lent(claim.resource);
}

void ClaimView::add_allocation(const ModuleAllocation& allocation, bool with_values, const std::string& module) {
  AllocationView& view = allocation_views_.emplace_back();
  for (const auto& [name, quantity] : allocation.consumed_capacity) {
    view.consumed.push_back(raw(quantity));
    view.consumed.back().name = lent(name);
  }
  view.table = {};
  view.table.struct_size = sizeof view.table;
  view.table.flags = allocation.admin_access ? static_cast<std::uint32_t>(CAGE_ALLOC_ADMIN) : 0;
  view.table.device_id = lent(allocation.device_id);
  view.table.request = lent(allocation.request);
  view.table.share_id = lent(allocation.share_id);
  view.table.consumed = view.consumed.data();
  view.table.consumed_count = count(view.consumed);
  if (with_values) view.table.values = values_.emplace_back(allocation.values, module).table();
  allocations_.push_back(&view.table);
}

void ClaimView::add_params(const ModuleParams& params) {
  ParamsView& view = params_views_.emplace_back();
  for (const std::string& request : params.requests) view.requests.push_back(lent(request));
  view.table = {};
  view.table.struct_size = sizeof view.table;
  view.table.source = params.source == ConfigSource::kClass ? CAGE_PARAMS_CLASS : CAGE_PARAMS_CLAIM;
  view.table.json = lent(params.json);
  view.table.requests = view.requests.data();
  view.table.request_count = count(view.requests);
  params_.push_back(&view.table);
}

}  // namespace cardcage
