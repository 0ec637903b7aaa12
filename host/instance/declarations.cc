#include "host/instance/declarations.h"

#include "host/instance/declared_parts.h"
#include "host/instance/offered_family.h"
#include "host/model/naming.h"
#include "host/sinks/borrowed.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxVendor = 128, kMaxNeeds = 32;

template <class T>
Status store(T& member, Result<T> value) {
  if (!value) return std::unexpected(std::move(value.error()));
  member = std::move(*value);
  return {};
}

Status copy_names(const cage_module& table, ModuleIdentity& identity) {
  const auto vendor_rule = [](std::string_view text) { return text.size() <= kMaxVendor && is_line(text); };
  if (auto id = store(identity.id,
                      ruled_text(table.id, is_dns_subdomain, "id", "a lower-case name such as com.example.fpga"));
      !id)
    return id;
  if (auto version =
          store(identity.version, ruled_text(table.version, is_semver, "version", "a semantic version such as 1.4.0"));
      !version)
    return version;
  return store(identity.vendor,
               ruled_text(table.vendor, vendor_rule, "vendor", "one line of UTF-8 of at most 128 bytes"));
}

// Refuses a module that cannot work without a family that only a later host has.
Status check_needs(const cage_module& table) {
  const auto needs = items_of(table.needs, table.need_count, kMaxNeeds, "needs");
  if (!needs) return std::unexpected(needs.error());
  for (const cage_str& need : *needs) {
    const auto id = ruled_text(need, is_line, "entry of needs", "the id of a family, such as " CAGE_HOST_EXEC);
    if (!id) return std::unexpected(id.error());
    if (!is_family(*id))
      return fail(
          Code::kFailedPrecondition,
          "it needs the family {}, which this host with module ABI {}.{} lacks: upgrade Cardcage, or install an "
          "older build of the module [R5]",
          printable(*id, kQuoted), CAGE_ABI_MAJOR, CAGE_ABI_MINOR);
  }
  return {};
}

Status check_families(const LoadedModule& module) {
  Status placed;
  const auto check = [&](std::string_view part, const void* place) {
    if (placed) placed = module.check_place(part, place);
  };
  for_each_family([&](const auto& row) {
    const auto* const family = offered(module.table(), row);
    if (family == nullptr) return;
    check(row.id, family);
    std::apply(
        [&](const auto&... functions) {
          (check(functions.name, reinterpret_cast<const void*>(family->*functions.member)), ...);
        },
        row.functions);
  });
  return placed;
}

}  // namespace

const void* find_extension(const cage_module& table, const char* id) {
  if (table.extension == nullptr) return nullptr;
  try {
    return table.extension(id);
  } catch (...) {
    return nullptr;  // the module breaks [R9]; it still works without its extensions
  }
}

Result<ModuleIdentity> read_identity(const cage_module& table, std::string sha256) {
  ModuleIdentity identity;
  if (auto checked = check_needs(table); !checked) return within(checked.error(), "its table");
  if (auto named = copy_names(table, identity); !named) return within(named.error(), "its table");
  if (auto options = store(identity.options, copy_options(table)); !options)
    return within(options.error(), "its table");
  if (auto schemas = store(identity.schemas, copy_schemas(table)); !schemas)
    return within(schemas.error(), "its table");
  if (auto causes = store(identity.causes, copy_causes(table)); !causes) return within(causes.error(), "its table");
  if (const cage_metrics* const family = family_of<cage_metrics>(table))
    if (auto metrics = store(identity.metrics, copy_metrics(*family)); !metrics)
      return within(metrics.error(), CAGE_EXT_METRICS);
  if (const cage_watch* const family = family_of<cage_watch>(table)) {
    auto watch = copy_watch(*family);
    if (!watch) return within(watch.error(), CAGE_EXT_WATCH);
    identity.watch = std::move(*watch);
  }
  identity.abi = {CAGE_ABI_MAJOR, table.abi_minor};
  identity.state_version = table.state_version;
  identity.process_only = (table.flags & CAGE_MODULE_PROCESS_ONLY) != 0;
  identity.concurrent = (table.flags & CAGE_MODULE_CONCURRENT) != 0;
  identity.no_prepare = (table.flags & CAGE_MODULE_NO_PREPARE) != 0;
  if (table.claim_call_limit_s > kMaxClaimCallLimit.count())
    return fail(Code::kInvalidArgument, "its table: claim_call_limit_s {} is more than an hour",
                table.claim_call_limit_s);
  identity.claim_call_limit = std::chrono::seconds(table.claim_call_limit_s);
  identity.has_check = table.check != nullptr;
  identity.has_quiesce = table.quiesce != nullptr && table.resume != nullptr;
  for_each_family([&](const auto& row) {
    if (offered(table, row) != nullptr) identity.families.add(row.family);
  });
  if (identity.metrics.empty()) identity.families.remove(Family::kMetrics);
  // Without the family the host could not pass a changed option to the instance.
  for (OptionDeclaration& option : identity.options) option.live = option.live && identity.has(Family::kConfigure);
  identity.sha256 = std::move(sha256);
  return identity;
}

Result<IdentifiedModule> load_identified(const std::string& name, StagedModule staged) {
  auto loaded = load(std::move(staged));
  if (!loaded) return within(loaded.error(), "module '{}'", name);
  if (auto placed = check_families(*loaded); !placed)
    return within(placed.error(), "module '{}': module file '{}' is refused", name, loaded->path().native());
  auto identity = read_identity(loaded->table(), loaded->sha256());
  if (!identity)
    return within(identity.error(), "module '{}': module file '{}' is refused", name, loaded->path().native());
  if (loaded->is_of_0_3()) identity->abi = {0, kMinor03};
  return IdentifiedModule{std::move(*loaded), std::move(*identity)};
}

}  // namespace cardcage
