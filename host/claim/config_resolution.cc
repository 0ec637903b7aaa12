#include "host/claim/config_resolution.h"

#include <algorithm>
#include <boost/json/parse.hpp>

#include "host/config/params.h"

namespace cardcage {
namespace {

bool applies(const OpaqueConfig& config, const std::string& request) {
  return config.requests.empty() || std::ranges::any_of(config.requests, [&](const std::string& named) {
           return named == request || named == base_request(request);
         });
}

bool applies(const OpaqueConfig& config, const ConfigTarget& target) {
  return std::ranges::any_of(target.devices,
                             [&](const ConfigTarget::Device& device) { return applies(config, device.request); });
}

std::string kind_of(const std::string& parameters) {
  boost::system::error_code error;
  const auto parsed = boost::json::parse(parameters, error);
  const auto* object = error ? nullptr : parsed.if_object();
  const auto* kind = object ? object->if_contains("kind") : nullptr;
  return kind && kind->is_string() ? std::string(kind->get_string()) : std::string();
}

std::string kinds_for(const ModuleIdentity& identity, const std::string& device_kind) {
  std::vector<std::string> kinds;
  for (const ParamsSchema& schema : identity.schemas)
    if (takes(schema, device_kind)) kinds.push_back(schema.kind);
  return kinds.empty() ? "none" : fmt::format("'{}'", fmt::join(kinds, "', '"));
}

// The targets that an entry is meant for. If a module expects exactly its kind, modules that expect another kind are
// left out.
std::vector<std::size_t> meant_targets(const OpaqueConfig& config, const std::vector<ConfigTarget>& targets) {
  std::vector<std::size_t> meant;
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (applies(config, targets[i])) meant.push_back(i);
  if (meant.size() < 2 || config.parameters.size() > kMaxParameterBytes) return meant;
  const std::string kind = kind_of(config.parameters);
  const auto has = [&](std::size_t i, const std::string& wanted) {
    return std::ranges::find(targets[i].identity->schemas, wanted, &ParamsSchema::kind) !=
           targets[i].identity->schemas.end();
  };
  const auto expects = [&](std::size_t i) { return has(i, kind); };
  const auto takes_any = [&](std::size_t i) { return targets[i].identity->schemas.empty() || has(i, ""); };
  if (!kind.empty() && std::ranges::any_of(meant, expects))
    std::erase_if(meant, [&](std::size_t i) { return !expects(i) && !takes_any(i); });
  return meant;
}

ModuleParams module_params(const OpaqueConfig& config, const ConfigTarget& target) {
  ModuleParams params{.source = config.source, .requests = {}, .json = config.parameters};
  if (config.requests.empty()) return params;
  for (const auto& [request, kind] : target.devices)
    if (applies(config, request) && std::ranges::find(params.requests, request) == params.requests.end())
      params.requests.push_back(request);
  return params;
}

std::string describe(const OpaqueConfig& config) {
  const std::string_view source = config.source == ConfigSource::kClass ? "device class" : "claim";
  if (config.requests.empty()) return fmt::format("configuration of the {}", source);
  return fmt::format("configuration of the {} for request '{}'", source, fmt::join(config.requests, "', '"));
}

// Adds the parameters to the layers of the devices that take them.
Status add_layer(const OpaqueConfig& config, const ConfigTarget& target, const DecodedParams& decoded,
                 std::vector<std::vector<DecodedParams>>& layers) {
  for (std::size_t d = 0; d < target.devices.size(); ++d) {
    const auto& [request, kind] = target.devices[d];
    if (!applies(config, request)) continue;
    if (decoded.schema == nullptr || takes(*decoded.schema, kind))
      layers[d].push_back(decoded);
    else if (!config.requests.empty())
      return fail(Code::kInvalidArgument,
                  "{}: the device of request '{}' is of kind '{}', which does not take parameters of kind '{}' but {}",
                  describe(config), request, kind, decoded.schema->kind, kinds_for(*target.identity, kind));
  }
  return {};
}

}  // namespace

Result<std::vector<ResolvedConfig>> resolve_configs(const std::vector<OpaqueConfig>& configs, const std::string& driver,
                                                    const std::vector<ConfigTarget>& targets) {
  std::vector<const OpaqueConfig*> ordered;
  for (const ConfigSource source : {ConfigSource::kClass, ConfigSource::kClaim})
    for (const OpaqueConfig& config : configs)
      if (config.source == source && (config.driver.empty() || config.driver == driver)) ordered.push_back(&config);

  std::vector<ResolvedConfig> resolved(targets.size());
  std::vector<std::vector<std::vector<DecodedParams>>> layers(targets.size());  // by target and device
  for (std::size_t i = 0; i < targets.size(); ++i) layers[i].resize(targets[i].devices.size());
  for (const OpaqueConfig* config : ordered) {
    for (const std::size_t i : meant_targets(*config, targets)) {
      if (config->driver.empty())
        return fail(Code::kInvalidArgument, "{}: this cardcage does not know its type; remove it or upgrade",
                    describe(*config));
      const auto decoded = decode_params(*targets[i].identity, config->source, config->parameters);
      if (!decoded) return within(decoded.error(), "{}", describe(*config));
      resolved[i].params.push_back(module_params(*config, targets[i]));
      if (auto added = add_layer(*config, targets[i], *decoded, layers[i]); !added)
        return std::unexpected(added.error());
    }
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (std::size_t d = 0; d < layers[i].size(); ++d) {
      const auto& [request, kind] = targets[i].devices[d];
      auto values = resolve_params(*targets[i].identity, kind, layers[i][d]);
      if (!values) return within(values.error(), "request '{}'", request);
      resolved[i].values.push_back(std::move(*values));
    }
  }
  return resolved;
}

}  // namespace cardcage
