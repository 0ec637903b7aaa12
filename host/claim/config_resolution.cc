#include "host/claim/config_resolution.h"

#include <algorithm>
#include <boost/json/parse.hpp>

#include "host/config/options.h"

namespace cardcage {
namespace {

bool applies(const OpaqueConfig& config, const std::string& request) {
  return config.requests.empty() || std::ranges::any_of(config.requests, [&](const std::string& named) {
           return named == request || named == base_request(request);
         });
}

bool applies(const OpaqueConfig& config, const ConfigTarget& target) {
  return std::ranges::any_of(target.requests, [&](const std::string& request) { return applies(config, request); });
}

std::string kind_of(const std::string& parameters) {
  boost::system::error_code error;
  const auto parsed = boost::json::parse(parameters, error);
  const auto* object = error ? nullptr : parsed.if_object();
  const auto* kind = object ? object->if_contains("kind") : nullptr;
  return kind && kind->is_string() ? std::string(kind->get_string()) : std::string();
}

// The targets that an entry is meant for. If a module expects exactly its kind, modules that expect another kind are
// left out.
std::vector<std::size_t> meant_targets(const OpaqueConfig& config, const std::vector<ConfigTarget>& targets) {
  std::vector<std::size_t> meant;
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (applies(config, targets[i])) meant.push_back(i);
  if (meant.size() < 2 || config.parameters.size() > kMaxParameterBytes) return meant;
  const std::string kind = kind_of(config.parameters);
  const auto expects = [&](std::size_t i) { return targets[i].identity->params_kind == kind; };
  if (!kind.empty() && std::ranges::any_of(meant, expects))
    std::erase_if(meant, [&](std::size_t i) { return !expects(i) && !targets[i].identity->params_kind.empty(); });
  return meant;
}

ModuleParams module_params(const OpaqueConfig& config, const ConfigTarget& target) {
  ModuleParams params{.source = config.source, .requests = {}, .json = config.parameters};
  if (config.requests.empty()) return params;
  for (const std::string& request : target.requests)
    if (applies(config, request) && std::ranges::find(params.requests, request) == params.requests.end())
      params.requests.push_back(request);
  return params;
}

std::string describe(const OpaqueConfig& config) {
  const std::string_view source = config.source == ConfigSource::kClass ? "device class" : "claim";
  if (config.requests.empty()) return fmt::format("configuration of the {}", source);
  return fmt::format("configuration of the {} for request '{}'", source, fmt::join(config.requests, "', '"));
}

}  // namespace

Result<std::vector<ResolvedConfig>> resolve_configs(const std::vector<OpaqueConfig>& configs, const std::string& driver,
                                                    const std::vector<ConfigTarget>& targets) {
  std::vector<const OpaqueConfig*> ordered;
  for (const ConfigSource source : {ConfigSource::kClass, ConfigSource::kClaim})
    for (const OpaqueConfig& config : configs)
      if (config.source == source && (config.driver.empty() || config.driver == driver)) ordered.push_back(&config);

  std::vector<ResolvedConfig> resolved(targets.size());
  std::vector<std::vector<std::vector<OptionValues>>> layers(targets.size());  // by target and device
  for (std::size_t i = 0; i < targets.size(); ++i) layers[i].resize(targets[i].requests.size());
  for (const OpaqueConfig* config : ordered) {
    for (const std::size_t i : meant_targets(*config, targets)) {
      if (config->driver.empty())
        return fail(Code::kInvalidArgument, "{}: this cardcage does not know its type; remove it or upgrade",
                    describe(*config));
      const auto decoded = decode_params(*targets[i].identity, config->parameters);
      if (!decoded) return within(decoded.error(), "{}", describe(*config));
      resolved[i].params.push_back(module_params(*config, targets[i]));
      for (std::size_t d = 0; d < layers[i].size(); ++d)
        if (applies(*config, targets[i].requests[d])) layers[i][d].push_back(*decoded);
    }
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (std::size_t d = 0; d < layers[i].size(); ++d) {
      auto values = resolve_params(*targets[i].identity, layers[i][d]);
      if (!values) return within(values.error(), "request '{}'", targets[i].requests[d]);
      resolved[i].values.push_back(std::move(*values));
    }
  }
  return resolved;
}

}  // namespace cardcage
