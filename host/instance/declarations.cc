#include "host/instance/declarations.h"

#include <algorithm>

#include "host/config/options.h"
#include "host/instance/borrowed.h"
#include "host/model/naming.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxDeclarations = 128, kMaxChoices = 64, kMaxHelp = 256, kMaxVendor = 128;

Result<std::vector<std::string>> copy_choices(const cage_option& option) {
  const auto given = items_of(option.choices, option.choice_count, kMaxChoices, "choices");
  if (!given) return std::unexpected(given.error());
  std::vector<std::string> choices;
  for (const cage_str& choice : *given) {
    auto text = ruled_text(choice, is_line, "choice", "one line of UTF-8");
    if (!text) return std::unexpected(text.error());
    choices.push_back(std::move(*text));
  }
  return choices;
}

// Checks the members of a declaration against each other.
Status check_consistency(const OptionDeclaration& declaration) {
  const bool has_choices = !declaration.choices.empty();
  if (has_choices && declaration.type != OptionType::kString && declaration.type != OptionType::kList)
    return fail(Code::kInvalidArgument, "choices are for strings and lists");
  if (declaration.min > declaration.max)
    return fail(Code::kInvalidArgument, "min {} is above max {}", declaration.min, declaration.max);
  if (declaration.required && !declaration.default_text.empty())
    return fail(Code::kInvalidArgument, "it is required and has a default: drop one of them");
  if (declaration.required || declaration.default_text.empty()) return {};
  if (auto value = default_value(declaration); !value) return within(value.error(), "its default");
  return {};
}

Result<OptionDeclaration> copy_declaration(const cage_option* given) {
  const auto option = adopt(given, "cage_option");
  if (!option) return std::unexpected(option.error());
  OptionDeclaration declaration;
  auto name = ruled_text(option->name, is_option_name, "name",
                         "a letter followed by letters, digits and underscores, 32 at most");
  if (!name) return std::unexpected(name.error());
  declaration.name = std::move(*name);
  if (option->type < CAGE_OPTION_STRING || option->type > CAGE_OPTION_LIST)
    return fail(Code::kInvalidArgument, "'{}' has the unknown type {}", declaration.name, option->type);
  declaration.type = static_cast<OptionType>(option->type);
  declaration.required = (option->flags & CAGE_OPTION_REQUIRED) != 0;
  declaration.secret = (option->flags & CAGE_OPTION_SECRET) != 0;
  declaration.live = (option->flags & CAGE_OPTION_LIVE) != 0;
  declaration.min = option->min;
  declaration.max = option->max;

  const auto one_line = [](std::string_view text) { return text.size() <= kMaxHelp && is_line(text); };
  auto help = ruled_text(option->help, one_line, "help", "one line of UTF-8 of at most 256 bytes");
  auto default_text = ruled_text(option->default_text, is_line, "default_text", "one line of UTF-8");
  auto choices = copy_choices(*option);
  if (!help) return within(help.error(), "'{}'", declaration.name);
  if (!default_text) return within(default_text.error(), "'{}'", declaration.name);
  if (!choices) return within(choices.error(), "'{}'", declaration.name);
  declaration.help = std::move(*help);
  declaration.default_text = std::move(*default_text);
  declaration.choices = std::move(*choices);
  if (auto checked = check_consistency(declaration); !checked) return within(checked.error(), "'{}'", declaration.name);
  return declaration;
}

Result<std::vector<OptionDeclaration>> copy_declarations(const cage_option* const* given, std::uint32_t count,
                                                         std::string_view what) {
  const auto items = items_of(given, count, kMaxDeclarations, what);
  if (!items) return std::unexpected(items.error());
  std::vector<OptionDeclaration> declarations;
  for (const cage_option* item : *items) {
    auto declaration = copy_declaration(item);
    if (!declaration) return within(declaration.error(), "entry {} of {}", declarations.size(), what);
    if (std::ranges::find(declarations, declaration->name, &OptionDeclaration::name) != declarations.end())
      return fail(Code::kInvalidArgument, "{} has '{}' twice", what, declaration->name);
    declarations.push_back(std::move(*declaration));
  }
  return declarations;
}

template <class T>
Status store(T& member, Result<T> value) {
  if (!value) return std::unexpected(std::move(value.error()));
  member = std::move(*value);
  return {};
}

Status copy_names(const cage_module& table, ModuleIdentity& identity) {
  const auto vendor_rule = [](std::string_view text) { return text.size() <= kMaxVendor && is_line(text); };
  const auto line = "one line of UTF-8";
  if (auto id = store(identity.id,
                      ruled_text(table.id, is_dns_subdomain, "id", "a lower-case name such as com.example.fpga"));
      !id)
    return id;
  if (auto version =
          store(identity.version, ruled_text(table.version, is_semver, "version", "a semantic version such as 1.4.0"));
      !version)
    return version;
  if (auto vendor = store(identity.vendor,
                          ruled_text(table.vendor, vendor_rule, "vendor", "one line of UTF-8 of at most 128 bytes"));
      !vendor)
    return vendor;
  if (auto api =
          store(identity.params_api_version, ruled_text(table.params_api_version, is_line, "params_api_version", line));
      !api)
    return api;
  return store(identity.params_kind, ruled_text(table.params_kind, is_line, "params_kind", line));
}

const void* find_extension(const cage_module& table, const char* id) {
  if (table.extension == nullptr) return nullptr;
  try {
    return table.extension(id);
  } catch (...) {
    return nullptr;  // the module breaks [R9]; it still works without its extensions
  }
}

}  // namespace

const cage_preferred* preferred_of(const cage_module& table) {
  const auto* family = static_cast<const cage_preferred*>(find_extension(table, CAGE_EXT_PREFERRED));
  return family != nullptr && CAGE_CAN(family, choose) ? family : nullptr;
}

const cage_pre_start* pre_start_of(const cage_module& table) {
  const auto* family = static_cast<const cage_pre_start*>(find_extension(table, CAGE_EXT_PRE_START));
  return family != nullptr && CAGE_CAN(family, pre_start) ? family : nullptr;
}

const cage_reconcile* reconcile_of(const cage_module& table) {
  const auto* family = static_cast<const cage_reconcile*>(find_extension(table, CAGE_EXT_RECONCILE));
  return family != nullptr && CAGE_CAN(family, keep) ? family : nullptr;
}

Result<ModuleIdentity> read_identity(const cage_module& table, std::string sha256) {
  ModuleIdentity identity;
  if (auto named = copy_names(table, identity); !named) return within(named.error(), "its table");
  if (auto options = store(identity.options, copy_declarations(table.options, table.option_count, "options")); !options)
    return within(options.error(), "its table");
  if (auto params = store(identity.params, copy_declarations(table.params, table.param_count, "params")); !params)
    return within(params.error(), "its table");
  identity.abi_minor = table.abi_minor;
  identity.state_version = table.state_version;
  identity.process_only = (table.flags & CAGE_MODULE_PROCESS_ONLY) != 0;
  identity.concurrent = (table.flags & CAGE_MODULE_CONCURRENT) != 0;
  identity.has_check = table.check != nullptr;
  identity.has_quiesce = table.quiesce != nullptr && table.resume != nullptr;
  identity.has_preferred = preferred_of(table) != nullptr;
  identity.has_pre_start = pre_start_of(table) != nullptr;
  identity.has_reconcile = reconcile_of(table) != nullptr;
  identity.sha256 = std::move(sha256);
  return identity;
}

Result<IdentifiedModule> load_identified(const std::string& name, StagedModule staged) {
  auto loaded = load(std::move(staged));
  if (!loaded) return within(loaded.error(), "module '{}'", name);
  auto identity = read_identity(loaded->table(), loaded->sha256());
  if (!identity)
    return within(identity.error(), "module '{}': module file '{}' is refused", name, loaded->path().native());
  return IdentifiedModule{std::move(*loaded), std::move(*identity)};
}

}  // namespace cardcage
