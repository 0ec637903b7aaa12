#include "host/admission/policy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "host/admission/cel.h"
#include "host/admission/schema_variables.h"

namespace cardcage {
namespace {

namespace json = boost::json;

constexpr const char* kApiVersion = "admissionregistration.k8s.io/v1";
// Enough for ten problems. The API server drops a message of more than 5 KiB.
constexpr int kLongestMessage = 1000;

// The kinds of parameters that a driver takes.
struct Kinds {
  std::vector<ParamsSchema> known;
  bool others = false;  // a module takes parameters that name none of the kinds
};

bool judges_alike(const ParamsSchema& a, const ParamsSchema& b) {
  return a.raw == b.raw && schema_variables("kind", a) == schema_variables("kind", b);
}

// Modules of one driver may run the same file, and then their declarations are the same.
Status add(Kinds& kinds, const DeclaredParams& module) {
  for (const ParamsSchema& schema : module.schemas) {
    const auto same = std::ranges::find_if(kinds.known, [&](const ParamsSchema& other) {
      return other.api_version == schema.api_version && other.kind == schema.kind;
    });
    if (same == kinds.known.end())
      kinds.known.push_back(schema);
    else if (!judges_alike(*same, schema))
      return fail(Code::kFailedPrecondition,
                  "module '{}' declares {} {} differently from another module of the driver; run one version of them",
                  module.module, schema.api_version, schema.kind);
  }
  return {};
}

// A schema without a kind applies to parameters that name no other kind. Beside other kinds it is dropped: nothing
// tells which module the parameters are meant for.
Result<Kinds> kinds_of(std::span<const DeclaredParams> modules) {
  Kinds kinds;
  for (const DeclaredParams& module : modules) {
    if (auto added = add(kinds, module); !added) return std::unexpected(added.error());
    kinds.others |= module.schemas.empty();
  }
  if (kinds.known.size() > 1)
    kinds.others |= std::erase_if(kinds.known, [](const ParamsSchema& schema) { return schema.kind.empty(); }) > 0;
  return kinds;
}

// The path of the configuration: spec.devices.config in a claim, spec.spec.devices.config in a template, and
// spec.config in a class.
std::string config_of(std::string_view object) {
  return fmt::format(
      "{0}.spec.?spec.?devices.?config\n"
      "  .or({0}.spec.?devices.?config)\n"
      "  .or({0}.spec.?config).orValue([])",
      object);
}

std::string title_of(const ParamsSchema& schema) {
  return schema.kind.empty() ? schema.api_version : schema.api_version + " " + schema.kind;
}

std::string unknown_kinds(const std::string& driver, const Kinds& kinds) {
  std::vector<std::string> conditions, titles;
  for (const ParamsSchema& schema : kinds.known) {
    conditions.push_back(fmt::format("({})", names_kind(schema)));
    titles.push_back(title_of(schema));
  }
  return fmt::format("variables.entries.map(o, !({}), o.path + {})", fmt::join(conditions, " ||\n  "),
                     cel_string(fmt::format(" must have the apiVersion and kind of parameters of driver '{}': {}",
                                            driver, fmt::join(titles, " or "))));
}

std::vector<CelVariable> variables_of(const std::string& driver, const Kinds& kinds) {
  std::vector<CelVariable> variables{
      {"inClaim", "request.resource.resource != 'deviceclasses'"},
      {"path",
       "!variables.inClaim ? 'spec.config' :\n"
       "  request.resource.resource == 'resourceclaims' ? 'spec.devices.config' : 'spec.spec.devices.config'"},
      {"config", config_of("object")},
      {"changed", fmt::format("request.operation == 'CREATE' || variables.config != {}", config_of("oldObject"))},
      {"entries", fmt::format("!variables.changed ? [] : variables.config.transformList(i, c,\n"
                              "  c.?opaque.?driver.orValue('') == {},\n"
                              "  {{'path': dyn(variables.path + '[' + string(i) + '].opaque.parameters'),\n"
                              "   'value': c.opaque.parameters}})",
                              cel_string(driver))}};
  std::vector<std::string> problems;
  if (!kinds.others) {
    variables.push_back({"unknownKinds", unknown_kinds(driver, kinds)});
    problems.emplace_back("variables.unknownKinds");
  }
  int number = 0;
  for (const ParamsSchema& schema : kinds.known) {
    if (schema.raw) continue;
    const std::string name = fmt::format("kind{}", ++number);
    for (CelVariable& variable : schema_variables(name, schema)) variables.push_back(std::move(variable));
    problems.push_back(fmt::format("variables.{}_problems", name));
  }
  variables.push_back({"problems", fmt::format("({}).join('; ')", fmt::join(problems, " + "))});
  return variables;
}

json::object match_rule() {
  return {{"apiGroups", json::array{"resource.k8s.io"}},
          {"apiVersions", json::array{"v1", "v1beta1", "v1beta2"}},
          {"operations", json::array{"CREATE", "UPDATE"}},
          {"resources", json::array{"deviceclasses", "resourceclaims", "resourceclaimtemplates"}}};
}

json::object validation(const std::string& driver) {
  return {{"expression", "variables.problems == ''"},
          {"message", fmt::format("the parameters for driver '{}' are wrong; 'cagectl modules --options' lists what it "
                                  "takes",
                                  driver)},
          {"messageExpression", fmt::format("variables.problems.size() <= {0} ? variables.problems :\n"
                                            "  variables.problems.substring(0, {0}) + ' ...'",
                                            kLongestMessage)}};
}

}  // namespace

Result<AdmissionPolicy> admission_policy(const std::string& driver, std::span<const DeclaredParams> modules) {
  const auto kinds = kinds_of(modules);
  if (!kinds) return within(kinds.error(), "driver '{}'", driver);
  if (kinds->known.empty())
    return fail(Code::kFailedPrecondition,
                "no module of driver '{}' declares parameters that a policy can judge; the modules check them "
                "themselves in prepare",
                driver);
  json::array variables;
  for (const CelVariable& variable : variables_of(driver, *kinds))
    variables.push_back({{"name", variable.name}, {"expression", variable.expression}});
  const json::object metadata{{"name", driver}};
  return AdmissionPolicy{.policy = {{"apiVersion", kApiVersion},
                                    {"kind", "ValidatingAdmissionPolicy"},
                                    {"metadata", metadata},
                                    {"spec",
                                     {{"failurePolicy", "Ignore"},
                                      {"matchConstraints", {{"resourceRules", json::array{match_rule()}}}},
                                      {"variables", std::move(variables)},
                                      {"validations", json::array{validation(driver)}}}}},
                         .binding = {{"apiVersion", kApiVersion},
                                     {"kind", "ValidatingAdmissionPolicyBinding"},
                                     {"metadata", metadata},
                                     {"spec", {{"policyName", driver}, {"validationActions", json::array{"Deny"}}}}}};
}

}  // namespace cardcage
