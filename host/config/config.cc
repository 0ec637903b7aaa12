#include "host/config/config.h"

#include <algorithm>
#include <cstdlib>

#include "host/config/document.h"
#include "host/config/reader.h"
#include "host/config/sections.h"
#include "host/core/digest.h"
#include "host/core/file.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxFileBytes = 1u << 20;

Config read_document(const toml::table& document, const std::string& file, Reading& reading) {
  TableReader root(reading, &document, "", {file, 1, 1});
  Config config;
  read_sections(root, config);
  root.refuse_unknown_keys();
  check_across_modules(config.modules, reading);
  return config;
}

std::string count(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace

std::string SourcePosition::to_string() const { return line == 0 ? file : fmt::format("{}:{}:{}", file, line, column); }

std::string ConfigErrors::to_string() const {
  std::string text;
  for (const Entry& entry : entries) text += fmt::format("{}: {}\n", entry.position.to_string(), entry.message);
  return text;
}

Error ConfigErrors::to_error() const {
  std::string lines = to_string();
  while (lines.ends_with('\n')) lines.pop_back();
  return {Code::kInvalidArgument, std::move(lines)};
}

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): this process never calls setenv
  if (!value) return std::nullopt;
  return value;
}

std::expected<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file,
                                                 const Environment& environment) {
  auto document = parse_document(text, file);
  Reading reading(file, environment);
  if (!document) {
    reading.note(std::move(document.error()));
    return std::unexpected(reading.take_errors());
  }
  Config config = read_document(*document, file, reading);
  if (reading.failed()) return std::unexpected(reading.take_errors());
  config.sha256 = sha256_hex(text);
  return config;
}

Result<std::string> read_config(const std::filesystem::path& file) { return read_file(file, kMaxFileBytes); }

ConfigErrors unreadable_file(const std::filesystem::path& file, const Error& cause) {
  return {{{{file.native()}, cause.message}}};
}

std::expected<Config, ConfigErrors> load_config(const std::filesystem::path& file, const Environment& environment) {
  const auto text = read_config(file);
  if (!text) return std::unexpected(unreadable_file(file, text.error()));
  return parse_config(*text, file.native(), environment);
}

std::vector<std::string> known_config_keys() {
  const auto document = parse_document("[[module]]\n[[module.health]]\n[[module.attribute]]\n[[module.serve]]\n", "");
  const Environment nothing = [](const std::string&) { return std::nullopt; };
  Reading reading("", nothing);
  if (document) read_document(*document, "", reading);
  return {reading.known_keys().begin(), reading.known_keys().end()};
}

int check_config(const std::filesystem::path& file, std::FILE* out,
                 const std::function<std::vector<Error>(const Config&)>& check_modules) {
  const auto config = load_config(file);
  if (!config) {
    fmt::print(out, "{}{}: {}\n", config.error().to_string(), file.native(),
               count(config.error().entries.size(), "error"));
    return 1;
  }
  const std::vector<Error> problems = check_modules(*config);
  for (const Error& problem : problems) fmt::print(out, "{}\n", problem.message);
  // A problem of a module may be several errors, each with its line.
  std::size_t errors = problems.size();
  for (const Error& problem : problems) errors += static_cast<std::size_t>(std::ranges::count(problem.message, '\n'));
  if (errors > 0) return fmt::print(out, "{}: {}\n", file.native(), count(errors, "error")), 1;
  std::size_t drivers = 0, resources = 0;
  for (const ModuleConfig& module : config->modules)
    for (const ServeConfig& rule : module.serve) ++(rule.api == Api::kDra ? drivers : resources);
  fmt::print(out, "{}: ok, {}, {}, {}\n", file.native(), count(config->modules.size(), "module"),
             count(drivers, "driver"), count(resources, "resource"));
  return 0;
}

}  // namespace cardcage
