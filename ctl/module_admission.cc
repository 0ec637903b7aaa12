// cagectl module admission MODULE: makes an API server policy from the module's declared parameters.
#include <algorithm>
#include <set>

#include "ctl/admin.h"
#include "ctl/module_options.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "ctl/yaml_output.h"
#include "host/admission/policy.h"
#include "host/conformance/check_file.h"
#include "host/core/nearest.h"

namespace cardcage {
namespace {

namespace json = boost::json;

constexpr const char* kAdmissionFooter =
    "Apply it with 'cagectl module admission MODULE | kubectl apply -f -'. From then on the API server refuses wrong\n"
    "parameters in a ResourceClaim, ResourceClaimTemplate or DeviceClass. Print it again when the module is updated.";

struct AdmissionOptions {
  std::string module;
  std::filesystem::path file;
  std::vector<std::string> drivers, options;
};

OptionDeclaration declaration_of(const admin::v1::Option& option) {
  OptionDeclaration declaration;
  declaration.name = option.name();
  declaration.type = static_cast<OptionType>(option.type());  // both enums have the numbers of the module ABI
  declaration.required = option.required();
  declaration.class_only = option.class_only();
  declaration.quantity = option.quantity();
  declaration.objects = option.objects();
  declaration.choices.assign(option.choices().begin(), option.choices().end());
  declaration.min = to_integer(option.min());
  declaration.max = to_integer(option.max());
  return declaration;
}

DeclaredParams declared_by(const admin::v1::Module& module) {
  DeclaredParams declared{module.name(), {}};
  for (const admin::v1::ParamsSchema& params : module.params()) {
    ParamsSchema& schema = declared.schemas.emplace_back();
    schema.api_version = params.api_version();
    schema.kind = params.kind();
    schema.raw = params.raw();
    schema.is_default = params.is_default();
    for (const admin::v1::Option& field : params.fields()) schema.fields.push_back(declaration_of(field));
  }
  return declared;
}

// Returns the parameters of the module and of the others that serve the driver.
Result<std::vector<DeclaredParams>> declared_for(const std::string& driver, const std::string& name,
                                                 const admin::v1::ListModulesResponse& list) {
  std::vector<DeclaredParams> declared;
  for (const admin::v1::Module& module : list.modules()) {
    const bool serves = std::ranges::find(module.drivers(), driver) != module.drivers().end();
    if (module.name() != name && !serves) continue;
    if (module.id().empty())
      return fail(Code::kFailedPrecondition,
                  "module '{}' has not been loaded yet, so its parameters are unknown; it is {}", module.name(),
                  to_text(module.state()));
    declared.push_back(declared_by(module));
  }
  return declared;
}

Result<std::vector<AdmissionPolicy>> policies_of_daemon(const Session& session, const AdmissionOptions& options) {
  const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListModules);
  if (!list) return std::unexpected(list.error());
  std::vector<std::string> names;
  for (const admin::v1::Module& module : list->modules()) names.push_back(module.name());
  const auto module = std::ranges::find(list->modules(), options.module, &admin::v1::Module::name);
  if (module == list->modules().end())
    return fail(Code::kNotFound, "no module '{}'{}", options.module, nearest_hint(options.module, names));
  std::vector<std::string> drivers = options.drivers;
  if (drivers.empty()) drivers.assign(module->drivers().begin(), module->drivers().end());
  if (drivers.empty())
    return fail(Code::kFailedPrecondition, "module '{}' serves no DRA driver; name one with --driver", options.module);
  std::vector<AdmissionPolicy> policies;
  for (const std::string& driver : drivers) {
    const auto declared = declared_for(driver, options.module, *list);
    if (!declared) return std::unexpected(declared.error());
    auto policy = admission_policy(driver, *declared);
    if (!policy) return std::unexpected(policy.error());
    policies.push_back(std::move(*policy));
  }
  return policies;
}

Result<std::vector<AdmissionPolicy>> policies_of_file(const AdmissionOptions& options) {
  const auto identity = read_declarations({.file = options.file, .options = module_options(options.options)});
  if (!identity) return std::unexpected(identity.error());
  const DeclaredParams declared[] = {{identity->id, identity->schemas}};
  std::vector<AdmissionPolicy> policies;
  for (const std::string& driver : options.drivers) {
    auto policy = admission_policy(driver, declared);
    if (!policy) return std::unexpected(policy.error());
    policies.push_back(std::move(*policy));
  }
  return policies;
}

Status print_policies(const Session& session, const AdmissionOptions& options) {
  const auto policies = options.file.empty() ? policies_of_daemon(session, options) : policies_of_file(options);
  if (!policies) return std::unexpected(policies.error());
  json::array objects;
  for (const AdmissionPolicy& made : *policies) objects.insert(objects.end(), {made.policy, made.binding});
  if (session.json) {
    print_json({{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(objects)}});
    return {};
  }
  for (const json::value& object : objects)
    fmt::print("{}{}", &object == objects.begin() ? "" : "---\n", to_yaml(object));
  return {};
}

}  // namespace

void add_module_admission(CLI::App& module, Session& session) {
  auto* command = module.add_subcommand("admission", "print a policy by which the API server refuses wrong parameters");
  command->footer(kAdmissionFooter);
  auto options = std::make_shared<AdmissionOptions>();
  auto* name = command->add_option("MODULE", options->module, "its name in the configuration");
  auto* driver = command->add_option("--driver", options->drivers, "for this driver, by default for all that it serves")
                     ->type_name("DRIVER")
                     ->allow_extra_args(false)
                     ->check(check_driver);
  auto* file = command->add_option("--file", options->file, "a module file instead, without a daemon")
                   ->type_name("FILE")
                   ->needs(driver)
                   ->excludes(name);
  add_module_options(*command, options->options);
  command->get_option("--option")->needs(file);
  command->callback([&session, name, file, options] {
    if (name->count() + file->count() == 0) throw CLI::RequiredError("MODULE or --file");
    session.outcome = print_policies(session, *options);
  });
}

}  // namespace cardcage
