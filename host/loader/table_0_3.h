// Modules of ABI 0.3, which load until December 2027 (abi/STABILITY.md): their table becomes one of 1.0, and all their
// other structs are those of 1.0. Only this file and table.cc know that the older table exists.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cardcage/module.h"
#include "host/core/result.h"

namespace cardcage {

constexpr const char* kEntry03 = "cage_module_v0";
// The minor by which such modules know the host.
constexpr std::uint32_t kMinor03 = 3;

// The table of 0.3.
struct Table03 {
  std::uint32_t magic, struct_size, abi_minor, min_host_minor, flags, state_version;
  cage_str id, version, vendor;
  const cage_option* const* options;
  std::uint32_t option_count, param_count;
  const cage_option* const* params;
  cage_str params_api_version, params_kind;
  decltype(cage_module::create) create;
  decltype(cage_module::start) start;
  decltype(cage_module::discover) discover;
  decltype(cage_module::prepare) prepare;
  decltype(cage_module::unprepare) unprepare;
  decltype(cage_module::check) check;
  decltype(cage_module::quiesce) quiesce;
  decltype(cage_module::resume) resume;
  decltype(cage_module::stop) stop;
  decltype(cage_module::destroy) destroy;
  decltype(cage_module::extension) extension;
  const cage_params_schema* const* schemas;
  std::uint32_t schema_count, claim_call_limit_s;
  const cage_cause* const* causes;
  std::uint32_t cause_count, reserved;
};

// The table of 1.0 made from one of 0.3, with the schema that stands for `params`. `table` points into the other
// members, so the object stays where it is.
struct TranslatedTable {
  cage_module table{};
  std::vector<cage_option> fields;
  std::vector<const cage_option*> field_list;
  cage_params_schema schema{};
  const cage_params_schema* schema_list[1] = {&schema};
};

// Checks magic, size, minor and flags, and refuses modules of 0.1 and 0.2.
Result<std::unique_ptr<TranslatedTable>> translate_table(const Table03* given);

}  // namespace cardcage
