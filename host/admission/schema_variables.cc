#include "host/admission/schema_variables.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "host/admission/cel.h"
#include "host/admission/value_rule.h"

namespace cardcage {
namespace {

// CEL counts a sum as nested as deep as it has terms, and limits both the depth and the length of an expression.
constexpr std::size_t kMostTerms = 16;
constexpr std::string_view kClassOnly =
    " is for a DeviceClass only; remove it, or ask the administrator of the cluster for a class that has it";

// An object of the kind: the parameters themselves, or one that is nested in them.
struct Node {
  std::string path;                  // prefix of the members: "" or "sharing."
  std::string variable;              // the list of these objects
  std::string outer, name;           // for a nested object: the variable of the object around it, and its name there
  std::vector<std::string> members;  // names, in the order of the declaration
};

bool names_the_kind(std::string_view path) {
  const std::string_view first = path.substr(0, path.find('.'));
  return first == "apiVersion" || first == "kind";
}

// The index of an object that is nested in another; adds it if it is new.
std::size_t nested(std::vector<Node>& nodes, std::size_t outer, const std::string& name) {
  const std::string path = nodes[outer].path + name + ".";
  const auto found = std::ranges::find(nodes, path, &Node::path);
  if (found != nodes.end()) return static_cast<std::size_t>(found - nodes.begin());
  nodes.push_back({path, fmt::format("{}_{}", nodes.front().variable, nodes.size()), nodes[outer].variable, name, {}});
  return nodes.size() - 1;
}

// Every object comes after the one that it is nested in.
std::vector<Node> nodes_of(const std::string& variable, const ParamsSchema& schema) {
  std::vector<Node> nodes{{.path = "", .variable = variable, .outer = "", .name = "", .members = {}}};
  for (const OptionDeclaration& field : schema.fields) {
    if (names_the_kind(field.name)) continue;
    std::size_t node = 0;
    for (std::string_view rest = field.name;;) {
      const std::string member(rest.substr(0, rest.find('.')));
      auto& members = nodes[node].members;
      if (std::ranges::find(members, member) == members.end()) members.push_back(member);
      if (member.size() == rest.size()) break;
      rest.remove_prefix(member.size() + 1);
      node = nested(nodes, node, member);
    }
  }
  return nodes;
}

// `condition` and `text` are CEL, about the object `o`.
std::string problems_where(const Node& node, std::string_view condition, std::string_view text) {
  return fmt::format("variables.{}.map(o, {}, o.path + {})", node.variable, condition, text);
}

std::string wrong_value(const Node& node, const std::string& member, const ValueRule& rule) {
  const std::string quoted = cel_string(member);
  return problems_where(node, fmt::format("{0} in o.value && ![o.value[{0}]].all(v, {1})", quoted, rule.valid),
                        cel_string(fmt::format(".{} must be {}", member, rule.expected)));
}

std::string unknown_members(const Node& node) {
  const bool is_root = node.path.empty();
  std::vector<std::string> known = node.members;
  if (is_root) known.insert(known.end(), {"apiVersion", "kind"});
  const std::string names = cel_strings(known);
  const std::string taken =
      node.members.empty() ? "it takes none" : fmt::format("it takes '{}'", fmt::join(node.members, "', '"));
  return problems_where(
      node, fmt::format("!o.value.all(k, k in {})", names),
      fmt::format("' does not take ' + o.value.filter(k, !(k in {})).map(k, strings.quote(k)).join(', ') + {}", names,
                  cel_string("; " + taken)));
}

std::string in_claim(const Node& node, const std::string& member) {
  return problems_where(node, fmt::format("variables.inClaim && {} in o.value", cel_string(member)),
                        cel_string(fmt::format(".{}{}", member, kClassOnly)));
}

// Checks only the parameters that a class must give: a claim may give any other required parameter.
std::string missing_in_class(const std::string& root, const Node& node, const OptionDeclaration& field,
                             const std::string& member) {
  return fmt::format(
      "(!variables.inClaim && variables.{}.size() > 0 && !variables.{}.exists(o, {} in o.value) ? "
      "[{}] : [])",
      root, node.variable, cel_string(member),
      cel_string(fmt::format("spec.config has no {}, which a DeviceClass must give", field.name)));
}

// Adds the checks of one member, whether it is a parameter or an object with parameters.
void judge(const std::vector<Node>& nodes, const Node& node, const std::string& member, const ParamsSchema& schema,
           std::vector<std::string>& problems) {
  const auto field = std::ranges::find(schema.fields, node.path + member, &OptionDeclaration::name);
  if (field == schema.fields.end())
    return problems.push_back(wrong_value(node, member, {"type(v) == map", "an object"}));
  if (field->class_only) problems.push_back(in_claim(node, member));
  if (field->class_only && field->required)
    problems.push_back(missing_in_class(nodes.front().variable, node, *field, member));
  problems.push_back(wrong_value(node, member, value_rule(*field)));
}

CelVariable nested_objects(const Node& node) {
  const std::string name = cel_string(node.name);
  return {node.variable, fmt::format("variables.{0}.map(o, type(o.value[?{1}].orValue(0)) == map,\n"
                                     "  {{'path': dyn(o.path + {2}), 'value': o.value[{1}]}})",
                                     node.outer, name, cel_string("." + node.name))};
}

// The concatenation of lists as the variable `name`, after variables for parts of it if there are many.
void add_sum(std::vector<CelVariable>& variables, const std::string& name, std::vector<std::string> lists) {
  for (std::size_t parts = 0; lists.size() > kMostTerms;) {
    std::vector<std::string> sums;
    for (auto begin = lists.begin(); begin != lists.end();) {
      const auto end = begin + std::min<std::ptrdiff_t>(kMostTerms, lists.end() - begin);
      variables.push_back({fmt::format("{}{}", name, ++parts), fmt::format("{}", fmt::join(begin, end, " +\n"))});
      sums.push_back("variables." + variables.back().name);
      begin = end;
    }
    lists = std::move(sums);
  }
  variables.push_back({name, fmt::format("{}", fmt::join(lists, " +\n"))});
}

}  // namespace

std::string names_kind(const ParamsSchema& schema) {
  if (schema.is_default) {
    ParamsSchema named = schema;
    named.is_default = false;
    return fmt::format("(!('apiVersion' in o.value) && !('kind' in o.value)) || ({})", names_kind(named));
  }
  const std::string version = fmt::format("o.value.?apiVersion.orValue('') == {}", cel_string(schema.api_version)),
                    kind = fmt::format("o.value.?kind.orValue('') == {}", cel_string(schema.kind));
  if (schema.api_version.empty()) return schema.kind.empty() ? "true" : kind;
  return schema.kind.empty() ? version : version + " && " + kind;
}

std::vector<CelVariable> schema_variables(const std::string& name, const ParamsSchema& schema) {
  std::vector<CelVariable> variables{{name, fmt::format("variables.entries.filter(o, {})", names_kind(schema))}};
  const std::vector<Node> nodes = nodes_of(name, schema);
  std::vector<std::string> problems;
  for (const Node& node : nodes) {
    if (!node.path.empty()) variables.push_back(nested_objects(node));
    problems.push_back(unknown_members(node));
    for (const std::string& member : node.members) judge(nodes, node, member, schema, problems);
  }
  add_sum(variables, name + "_problems", std::move(problems));
  return variables;
}

}  // namespace cardcage
