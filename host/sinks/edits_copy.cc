#include "host/sinks/edits_copy.h"

#include <algorithm>
#include <array>

#include "host/model/image_library.h"
#include "host/sinks/borrowed.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxEnvValue = 32u << 10, kMaxArguments = 256, kMaxOptions = 64, kMaxProcText = 16u << 10;
constexpr std::string_view kPath = "an absolute path without '.', '..', '//' or an end in '/'";

// The hooks of the OCI runtime specification.
constexpr std::array<std::string_view, 6> kHookNames = {"prestart",       "createRuntime", "createContainer",
                                                        "startContainer", "poststart",     "poststop"};

bool is_permissions(std::string_view text) {
  return text.find_first_not_of("rwm") == std::string_view::npos &&
         std::ranges::all_of(std::string_view("rwm"), [&](char c) { return std::ranges::count(text, c) <= 1; });
}
bool is_node_type(std::string_view text) { return text == "c" || text == "b" || text == "p" || text == "u"; }
bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 256 && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}
bool is_hook_name(std::string_view text) { return std::ranges::find(kHookNames, text) != kHookNames.end(); }
bool is_value(std::string_view text) {
  return text.size() <= kMaxEnvValue && text.find('\0') == std::string_view::npos && is_utf8(text);
}
bool is_assignment(std::string_view text) {
  const std::size_t equals = text.find('=');
  return equals != std::string_view::npos && is_env_name(text.substr(0, equals)) && is_value(text.substr(equals + 1));
}

// -1 means "not given"; anything else must fit.
Status copy_number(std::int64_t given, std::int64_t max, std::string_view what, auto& copy) {
  if (given == -1) return {};
  if (given < 0 || given > max)
    return fail(Code::kInvalidArgument, "{} {} is not in 0 to {}, or -1 for none", what, given, max);
  copy = static_cast<typename std::remove_reference_t<decltype(copy)>::value_type>(given);
  return {};
}

template <class Rule>
Status copy_texts(const cage_str* given, std::uint32_t count, std::size_t max, Rule rule, std::string_view what,
                  std::string_view expected, std::vector<std::string>& copies) {
  const auto items = items_of(given, count, max, what);
  if (!items) return std::unexpected(items.error());
  for (const cage_str& item : *items) {
    auto text = ruled_text(item, rule, what, expected);
    if (!text) return std::unexpected(text.error());
    copies.push_back(std::move(*text));
  }
  return {};
}

// Stores a ruled_text in `copy`.
template <class Rule>
Status store(std::string& copy, cage_str given, Rule rule, std::string_view what, std::string_view expected) {
  auto text = ruled_text(given, rule, what, expected);
  if (!text) return std::unexpected(text.error());
  copy = std::move(*text);
  return {};
}

// Runs the steps up to the first error.
template <class... Steps>
Status all_of(Steps... steps) {
  Status status;
  static_cast<void>(((status = steps()).has_value() && ...));
  return status;
}

}  // namespace

Result<EnvVar> copy_env(cage_str name, cage_str value) {
  EnvVar copy;
  auto named = store(copy.name, name, is_env_name, "environment variable", "a name of letters, digits and \"_-.\"");
  if (!named) return std::unexpected(named.error());
  const auto text = text_of(value, kMaxEnvValue, "value");
  if (!text) return within(text.error(), "environment variable '{}'", copy.name);
  if (!is_value(*text))
    return fail(Code::kInvalidArgument, "environment variable '{}': its value is not UTF-8 without NUL", copy.name);
  copy.value = *text;
  return copy;
}

Result<DeviceNode> copy_device_node(const cage_device_node& given) {
  DeviceNode copy;
  if (auto path = store(copy.path, given.path, is_clean_path, "device node path", kPath); !path)
    return std::unexpected(path.error());
  const auto checked = all_of(
      [&] { return store(copy.host_path, given.host_path, or_empty(is_clean_path), "host_path", kPath); },
      [&] { return store(copy.type, given.type, or_empty(is_node_type), "type", "'c', 'b', 'p', 'u' or empty"); },
      [&] { return store(copy.permissions, given.permissions, is_permissions, "permissions", "of 'r', 'w', 'm'"); },
      [&] { return copy_number(given.major, 4095, "major", copy.major); },
      [&] { return copy_number(given.minor, 1'048'575, "minor", copy.minor); },
      [&] { return copy_number(given.uid, 4'294'967'294, "uid", copy.uid); },
      [&] { return copy_number(given.gid, 4'294'967'294, "gid", copy.gid); });
  if (!checked) return within(checked.error(), "device node '{}'", copy.path);
  if (copy.major.has_value() != copy.minor.has_value())
    return fail(Code::kInvalidArgument, "device node '{}': set both of major and minor, or none", copy.path);
  if (given.mode > 07777)
    return fail(Code::kInvalidArgument, "device node '{}': mode 0{:o} has more than permission bits", copy.path,
                given.mode);
  if (given.mode != 0) copy.file_mode = static_cast<mode_t>(given.mode);
  return copy;
}

Result<Mount> copy_mount(const cage_mount& given) {
  Mount copy;
  if (auto path = store(copy.container_path, given.container_path, is_clean_path, "mount container_path", kPath); !path)
    return std::unexpected(path.error());
  const auto checked = all_of([&] { return store(copy.host_path, given.host_path, is_clean_path, "host_path", kPath); },
                              [&] { return store(copy.type, given.type, or_empty(is_word), "type", "one word"); },
                              [&] {
                                return copy_texts(given.options, given.option_count, kMaxOptions, is_word, "option",
                                                  "one word", copy.options);
                              });
  if (!checked) return within(checked.error(), "mount '{}'", copy.container_path);
  return copy;
}

Result<Hook> copy_hook(const cage_hook& given) {
  Hook copy;
  if (auto name = store(copy.name, given.name, is_hook_name, "hook", "a hook of the OCI runtime specification"); !name)
    return std::unexpected(name.error());
  const auto checked = all_of([&] { return store(copy.path, given.path, is_clean_path, "path", kPath); },
                              [&] {
                                return copy_texts(given.args, given.arg_count, kMaxArguments, is_value, "argument",
                                                  "UTF-8 without NUL", copy.args);
                              },
                              [&] {
                                return copy_texts(given.env, given.env_count, kMaxArguments, is_assignment, "env",
                                                  "NAME=value", copy.env);
                              });
  if (!checked) return within(checked.error(), "hook '{}'", copy.name);
  if (given.timeout_s < 0) return fail(Code::kInvalidArgument, "hook '{}': timeout_s is negative", copy.name);
  if (given.timeout_s > 0) copy.timeout_seconds = given.timeout_s;
  return copy;
}

Result<LdPath> copy_ld_path(cage_str folder, cage_str newer_than) {
  LdPath copy;
  if (auto path = store(copy.path, folder, is_clean_path, "folder of libraries", kPath); !path)
    return std::unexpected(path.error());
  const auto library = text_of(newer_than, kMaxEnvValue, "newer_than");
  if (!library) return std::unexpected(library.error());
  copy.newer_than = *library;
  if (copy.newer_than.empty()) return copy;
  if (const auto named = image_library_from(copy.newer_than); !named) return within(named.error(), "newer_than");
  return copy;
}

Result<ProcText> copy_proc_text(cage_str path, cage_str text) {
  const auto is_in_proc = [](std::string_view given) { return is_clean_path(given) && given.starts_with("/proc/"); };
  ProcText copy;
  const auto checked = all_of([&] { return store(copy.path, path, is_in_proc, "path", "a clean path below /proc"); },
                              [&] {
                                const auto given = text_of(text, kMaxProcText, "text");
                                if (given) copy.text = *given;
                                return given ? Status() : Status(std::unexpected(given.error()));
                              });
  if (!checked) return within(checked.error(), "text below /proc");
  if (!is_value(copy.text)) return fail(Code::kInvalidArgument, "the text of '{}' is not UTF-8 without NUL", copy.path);
  return copy;
}

Result<NetDevice> copy_net_device(const cage_net_device& given) {
  static constexpr std::string_view kInterface = "a network interface name of 1 to 15 characters";
  NetDevice copy;
  const auto checked = all_of(
      [&] { return store(copy.host_interface, given.host_interface, is_interface_name, "host_interface", kInterface); },
      [&] { return store(copy.name, given.name, is_interface_name, "name", kInterface); });
  if (!checked) return within(checked.error(), "network device");
  return copy;
}

}  // namespace cardcage
