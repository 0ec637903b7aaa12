#include "host/loader/table_0_3.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace cardcage {
namespace {

// The first builds of 0.3 had no causes.
constexpr std::size_t kSmallest03 = offsetof(Table03, causes);

Status check_version(const Table03& table) {
  if (table.abi_minor < kMinor03)
    return fail(
        Code::kFailedPrecondition,
        "it is built for module ABI 0.{}, which was a draft, and this host has {}.{}: rebuild it with the headers "
        "of {}.{}",
        table.abi_minor, CAGE_ABI_MAJOR, CAGE_ABI_MINOR, CAGE_ABI_MAJOR, CAGE_ABI_MINOR);
  if (table.min_host_minor > kMinor03)
    return fail(Code::kFailedPrecondition, "its table says min_host_minor {}, and 0.{} was the last minor of major 0",
                table.min_host_minor, kMinor03);
  if (table.struct_size < kSmallest03)
    return fail(Code::kFailedPrecondition,
                "its table says struct_size {}, and that of module ABI 0.3 has at least {} bytes", table.struct_size,
                kSmallest03);
  return {};
}

// Makes a schema of `params`: a raw one if they have no fields, since the module read them itself. CAGE_OPTION_LIVE had
// no meaning in params.
Status translate_params(const Table03& from, TranslatedTable& to) {
  const bool has_params = from.param_count > 0 || from.params_kind.size > 0 || from.params_api_version.size > 0;
  if (!has_params) return {};
  if (from.schema_count > 0)
    return fail(Code::kInvalidArgument,
                "its table has both params and schemas: make the params one of the schemas [R19]");
  if (from.param_count > 0 && from.params == nullptr)
    return fail(Code::kInvalidArgument, "its table: params has {} entries and no data", from.param_count);
  for (std::uint32_t i = 0; i < from.param_count; ++i) {
    const cage_option* const given = from.params[i];
    if (given == nullptr || given->struct_size < sizeof(cage_option))
      return fail(Code::kInvalidArgument, "its table: entry {} of params is not a cage_option", i);
    to.fields.push_back(*given);
    to.fields.back().struct_size = sizeof(cage_option);
    to.fields.back().flags &= ~std::uint32_t{CAGE_OPTION_LIVE};
  }
  for (const cage_option& field : to.fields) to.field_list.push_back(&field);
  to.schema.struct_size = sizeof to.schema;
  to.schema.field_count = from.param_count;
  to.schema.api_version = from.params_api_version;
  to.schema.kind = from.params_kind;
  to.schema.fields = to.field_list.data();
  to.schema.flags = from.param_count == 0 ? std::uint32_t{CAGE_SCHEMA_RAW} : 0;
  to.table.schemas = to.schema_list;
  to.table.schema_count = 1;
  return {};
}

}  // namespace

Result<std::unique_ptr<TranslatedTable>> translate_table(const Table03* given) {
  if (given == nullptr)
    return fail(Code::kFailedPrecondition,
                "its entry {} returned no table, which means that it does not work with this "
                "host: install a build for module ABI {}.{}",
                kEntry03, CAGE_ABI_MAJOR, CAGE_ABI_MINOR);
  if (given->magic != CAGE_MAGIC)
    return fail(Code::kFailedPrecondition, "its table begins with 0x{:08x} and not with CAGE_MAGIC", given->magic);
  Table03 from{};
  std::memcpy(&from, given, std::min<std::size_t>(given->struct_size, sizeof from));
  if (auto checked = check_version(from); !checked) return std::unexpected(checked.error());
  auto to = std::make_unique<TranslatedTable>();
  cage_module& table = to->table;
  table.magic = from.magic;
  table.struct_size = sizeof table;
  table.flags = from.flags;
  table.state_version = from.state_version;
  table.id = from.id;
  table.version = from.version;
  table.vendor = from.vendor;
  table.options = from.options;
  table.option_count = from.option_count;
  table.schemas = from.schemas;
  table.schema_count = from.schema_count;
  table.causes = from.causes;
  table.cause_count = from.cause_count;
  table.claim_call_limit_s = from.claim_call_limit_s;
  table.create = from.create;
  table.start = from.start;
  table.discover = from.discover;
  table.prepare = from.prepare;
  table.unprepare = from.unprepare;
  table.check = from.check;
  table.quiesce = from.quiesce;
  table.resume = from.resume;
  table.stop = from.stop;
  table.destroy = from.destroy;
  table.extension = from.extension;
  if (auto translated = translate_params(from, *to); !translated) return std::unexpected(translated.error());
  return to;
}

}  // namespace cardcage
