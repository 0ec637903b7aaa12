#include "host/instance/declarations.h"

#include "host/instance/borrowed.h"
#include "host/instance/cause_declarations.h"
#include "host/instance/declared_options.h"
#include "host/instance/metric_declarations.h"
#include "host/instance/watch_declaration.h"
#include "host/model/naming.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxVendor = 128;

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

const void* find_extension(const cage_module& table, const char* id) {
  if (table.extension == nullptr) return nullptr;
  try {
    return table.extension(id);
  } catch (...) {
    return nullptr;  // the module breaks [R9]; it still works without its extensions
  }
}

// `has_functions` tells whether the family has the functions that the host calls.
template <class Family, class HasFunctions>
const Family* family_of(const cage_module& table, const char* id, HasFunctions has_functions) {
  const auto* const family = static_cast<const Family*>(find_extension(table, id));
  return family != nullptr && has_functions(family) ? family : nullptr;
}

Status check_families(const LoadedModule& module) {
  const auto address = [](auto function) { return reinterpret_cast<const void*>(function); };
  std::vector<std::pair<std::string, const void*>> parts;
  if (const auto* family = preferred_of(module.table()))
    parts.insert(parts.end(), {{CAGE_EXT_PREFERRED, family}, {"choose", address(family->choose)}});
  if (const auto* family = pre_start_of(module.table()))
    parts.insert(parts.end(), {{CAGE_EXT_PRE_START, family}, {"pre_start", address(family->pre_start)}});
  if (const auto* family = configure_of(module.table()))
    parts.insert(parts.end(), {{CAGE_EXT_CONFIGURE, family}, {"configure", address(family->configure)}});
  if (const auto* family = quiesce_of(module.table()))
    parts.insert(
        parts.end(),
        {{CAGE_EXT_QUIESCE, family}, {"quiesce", address(family->quiesce)}, {"resume", address(family->resume)}});
  if (const auto* family = reset_of(module.table()))
    parts.insert(parts.end(), {{CAGE_EXT_RESET, family}, {"reset", address(family->reset)}});
  if (const auto* family = bind_of(module.table()))
    parts.insert(parts.end(), {{CAGE_EXT_BIND, family}, {"bind", address(family->bind)}});
  if (const auto* family = sandbox_of(module.table()))
    parts.insert(
        parts.end(),
        {{CAGE_EXT_SANDBOX, family}, {"attach", address(family->attach)}, {"detach", address(family->detach)}});
  if (const auto* family = reconcile_of(module.table()))
    parts.insert(parts.end(), {{CAGE_EXT_RECONCILE, family}, {"keep", address(family->keep)}});
  if (const auto* family = metrics_of(module.table()))
    parts.insert(parts.end(), {{CAGE_EXT_METRICS, family}, {"collect of metrics", address(family->collect)}});
  if (const auto* family = labels_of(module.table()))
    parts.insert(parts.end(), {{CAGE_EXT_LABELS, family}, {"collect of labels", address(family->collect)}});
  if (const auto* family = catalogue_of(module.table()))
    parts.insert(parts.end(), {{CAGE_EXT_CATALOGUE, family}, {"collect of the catalogue", address(family->collect)}});
  if (const auto* family = watch_of(module.table()))
    parts.insert(parts.end(), {{CAGE_EXT_WATCH, family}, {"events", address(family->events)}});
  for (const auto& [part, place] : parts)
    if (auto placed = module.check_place(part, place); !placed) return placed;
  return {};
}

}  // namespace

const cage_preferred* preferred_of(const cage_module& table) {
  return family_of<cage_preferred>(table, CAGE_EXT_PREFERRED,
                                   [](const auto* family) { return CAGE_CAN(family, choose); });
}

const cage_pre_start* pre_start_of(const cage_module& table) {
  return family_of<cage_pre_start>(table, CAGE_EXT_PRE_START,
                                   [](const auto* family) { return CAGE_CAN(family, pre_start); });
}

const cage_configure* configure_of(const cage_module& table) {
  return family_of<cage_configure>(table, CAGE_EXT_CONFIGURE,
                                   [](const auto* family) { return CAGE_CAN(family, configure); });
}

const cage_quiesce* quiesce_of(const cage_module& table) {
  return family_of<cage_quiesce>(table, CAGE_EXT_QUIESCE, [](const auto* family) {
    return CAGE_CAN(family, quiesce) && CAGE_CAN(family, resume);
  });
}

const cage_reset* reset_of(const cage_module& table) {
  return family_of<cage_reset>(table, CAGE_EXT_RESET, [](const auto* family) { return CAGE_CAN(family, reset); });
}

const cage_bind* bind_of(const cage_module& table) {
  return family_of<cage_bind>(table, CAGE_EXT_BIND, [](const auto* family) { return CAGE_CAN(family, bind); });
}

const cage_sandbox* sandbox_of(const cage_module& table) {
  return family_of<cage_sandbox>(
      table, CAGE_EXT_SANDBOX, [](const auto* family) { return CAGE_CAN(family, attach) && CAGE_CAN(family, detach); });
}

const cage_reconcile* reconcile_of(const cage_module& table) {
  return family_of<cage_reconcile>(table, CAGE_EXT_RECONCILE,
                                   [](const auto* family) { return CAGE_CAN(family, keep); });
}

const cage_metrics* metrics_of(const cage_module& table) {
  return family_of<cage_metrics>(table, CAGE_EXT_METRICS, [](const auto* family) { return CAGE_CAN(family, collect); });
}

const cage_labels* labels_of(const cage_module& table) {
  return family_of<cage_labels>(table, CAGE_EXT_LABELS, [](const auto* family) { return CAGE_CAN(family, collect); });
}

const cage_catalogue* catalogue_of(const cage_module& table) {
  return family_of<cage_catalogue>(table, CAGE_EXT_CATALOGUE,
                                   [](const auto* family) { return CAGE_CAN(family, collect); });
}

const cage_watch* watch_of(const cage_module& table) {
  const auto* family = static_cast<const cage_watch*>(find_extension(table, CAGE_EXT_WATCH));
  return family != nullptr && CAGE_CAN(family, events) ? family : nullptr;
}

Result<ModuleIdentity> read_identity(const cage_module& table, std::string sha256) {
  ModuleIdentity identity;
  if (auto named = copy_names(table, identity); !named) return within(named.error(), "its table");
  if (auto options = store(identity.options, copy_options(table)); !options)
    return within(options.error(), "its table");
  if (auto schemas = store(identity.schemas, copy_schemas(table)); !schemas)
    return within(schemas.error(), "its table");
  if (auto causes = store(identity.causes, copy_causes(table)); !causes) return within(causes.error(), "its table");
  if (const cage_metrics* const family = metrics_of(table))
    if (auto metrics = store(identity.metrics, copy_metrics(*family)); !metrics)
      return within(metrics.error(), CAGE_EXT_METRICS);
  if (const cage_watch* const family = watch_of(table)) {
    auto watch = copy_watch(*family);
    if (!watch) return within(watch.error(), CAGE_EXT_WATCH);
    identity.watch = std::move(*watch);
  }
  identity.abi_minor = table.abi_minor;
  identity.state_version = table.state_version;
  identity.process_only = (table.flags & CAGE_MODULE_PROCESS_ONLY) != 0;
  // Modules of earlier minors set the flag for prepare and unprepare alone, when it had no effect.
  identity.concurrent = (table.flags & CAGE_MODULE_CONCURRENT) != 0 && table.abi_minor >= 3;
  identity.no_prepare = (table.flags & CAGE_MODULE_NO_PREPARE) != 0;
  if (table.claim_call_limit_s > kMaxClaimCallLimit.count())
    return fail(Code::kInvalidArgument, "its table: claim_call_limit_s {} is more than an hour",
                table.claim_call_limit_s);
  identity.claim_call_limit = std::chrono::seconds(table.claim_call_limit_s);
  identity.has_check = table.check != nullptr;
  identity.has_quiesce = table.quiesce != nullptr && table.resume != nullptr;
  identity.has_preferred = preferred_of(table) != nullptr;
  identity.has_pre_start = pre_start_of(table) != nullptr;
  identity.has_configure = configure_of(table) != nullptr;
  identity.has_reset = reset_of(table) != nullptr;
  identity.has_bind = bind_of(table) != nullptr;
  identity.has_sandbox = sandbox_of(table) != nullptr;
  identity.has_quiesce_device = quiesce_of(table) != nullptr;
  // Without the family the host could not pass a changed option to the instance.
  for (OptionDeclaration& option : identity.options) option.live = option.live && identity.has_configure;
  identity.has_reconcile = reconcile_of(table) != nullptr;
  identity.has_labels = labels_of(table) != nullptr;
  identity.has_catalogue = catalogue_of(table) != nullptr;
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
  return IdentifiedModule{std::move(*loaded), std::move(*identity)};
}

}  // namespace cardcage
