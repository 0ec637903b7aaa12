#include "host/access/edit_rules.h"

#include <grp.h>
#include <pwd.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>

#include "host/access/variables.h"
#include "host/access/write_rules.h"
#include "host/core/glob.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kQuoted = 200;
constexpr std::string_view kWritable = ":rw";
// Options that do not weaken the protection of the node; others, such as dev, suid and rshared, do.
constexpr std::array<std::string_view, 24> kMountOptions = {
    "ro",         "rro",         "rw",      "bind",       "rbind",    "nosuid",     "nodev",       "noexec",
    "rnosuid",    "rnodev",      "rnoexec", "exec",       "private",  "rprivate",   "slave",       "rslave",
    "unbindable", "runbindable", "noatime", "nodiratime", "relatime", "norelatime", "strictatime", "nosymfollow"};

// Makes the error "the module may not mount '/etc'", with the remedy for an operator.
std::unexpected<Error> refuse(std::string_view does, const std::string& path, const std::string& real,
                              std::string_view key, std::string_view suffix = "") {
  const std::string leads = real == path ? "" : fmt::format(", to which '{}' leads", printable(path, kQuoted));
  return fail(Code::kPermissionDenied,
              "the module may not {} '{}'{}: add \"{}{}\", or a pattern, to the key {} of its [[module]]", does,
              printable(real, kQuoted), leads, printable(real, kQuoted), suffix, key);
}

Status check_clean(std::string_view path) {
  if (is_clean_path(path)) return {};
  return fail(Code::kInvalidArgument, "'{}' is not an absolute path without '.', '..' and '//'",
              printable(path, kQuoted));
}

bool matches(const std::vector<std::string>& patterns, const std::string& path) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches_path(pattern, path); });
}

bool may_mount(const std::vector<std::string>& patterns, const std::string& path, bool writable) {
  return std::ranges::any_of(patterns, [&](std::string pattern) {
    const bool grants_writes = pattern.ends_with(kWritable);
    if (grants_writes) pattern.resize(pattern.size() - kWritable.size());
    return (grants_writes || !writable) && matches_path(pattern, path);
  });
}

bool has(const std::vector<std::string>& options, std::string_view option) {
  return std::ranges::find(options, option) != options.end();
}

// A runtime gives containers the device numbers, not the file at the path.
Status check_numbers(const DeviceNode& node, const std::string& path, const struct stat& about) {
  const bool character = S_ISCHR(about.st_mode);
  if (!character && !S_ISBLK(about.st_mode) && !S_ISFIFO(about.st_mode))
    return fail(Code::kInvalidArgument, "'{}' is not a device node", path);
  const std::string_view type = character ? "c" : S_ISBLK(about.st_mode) ? "b" : "p";
  if (!node.type.empty() && node.type != type && !(character && node.type == "u"))
    return fail(Code::kPermissionDenied, "device node '{}' has the type '{}', and the module says '{}'", path, type,
                printable(node.type, kQuoted));
  const auto major = ::major(about.st_rdev), minor = ::minor(about.st_rdev);
  if ((!node.major || *node.major == major) && (!node.minor || *node.minor == minor)) return {};
  return fail(
      Code::kPermissionDenied,
      "device node '{}' has the numbers {}:{}, and the module says {}:{}: it must give those of the path, or none",
      path, major, minor, node.major.value_or(-1), node.minor.value_or(-1));
}

template <class Edit, class Check>
Status check_each(const std::vector<Edit>& edits, Check check) {
  for (const Edit& edit : edits)
    if (auto checked = check(edit); !checked) return checked;
  return {};
}

}  // namespace

EditRules::EditRules(const ModuleConfig& config, NodeRoots roots)
    : allows_(allowed_edits(config)), roots_(std::move(roots)) {
  if (config.process.user.empty()) return;
  std::array<char, 16u << 10> texts;
  passwd entry{}, *found = nullptr;
  ::getpwnam_r(config.process.user.c_str(), &entry, texts.data(), texts.size(), &found);
  if (!found) return;  // the worker cannot start either
  user_ = entry.pw_uid;
  groups_.resize(NGROUPS_MAX);
  int count = NGROUPS_MAX;
  ::getgrouplist(config.process.user.c_str(), entry.pw_gid, groups_.data(), &count);
  groups_.resize(static_cast<std::size_t>(std::max(count, 0)));
}

Status EditRules::check(const PreparedEdits& edits) const {
  if (auto checked = check(edits.claim); !checked) return checked;
  return check_each(edits.allocations, [this](const Edits& its) { return check(its); });
}

Status EditRules::check(const Edits& edits) const {
  const auto one = [this](const auto& edit) { return check(edit); };
  const auto variable = [this](const EnvVar& edit) { return check_variable(edit); };
  for (const Status& checked :
       {check_each(edits.device_nodes, one), check_each(edits.mounts, one), check_each(edits.hooks, one),
        check_each(edits.env, variable), check_each(edits.env_lists, variable)})
    if (!checked) return checked;
  for (const NetDevice& device : edits.net_devices)
    if (allows_.net_devices && std::ranges::none_of(*allows_.net_devices, [&](const std::string& pattern) {
          return matches_glob(pattern, device.host_interface);
        }))
      return refuse("move the interface", device.host_interface, device.host_interface, "net_devices");
  for (const std::uint32_t group : edits.additional_gids)
    if (allows_.groups && std::ranges::find(*allows_.groups, group) == allows_.groups->end())
      return fail(Code::kPermissionDenied,
                  "the module may not give containers the group {}: add it to the key groups of its [[module]]", group);
  return {};
}

Status EditRules::check(const DeviceNode& node) const {
  if (!allows_.device_nodes) return {};
  constexpr std::string_view kDoes = "give containers the device node", kKey = "device_nodes";
  const std::string& path = node.host_path.empty() ? node.path : node.host_path;
  for (const std::string& one : {node.path, path})
    if (auto clean = check_clean(one); !clean) return clean;
  if (!matches(*allows_.device_nodes, path)) return refuse(kDoes, path, path, kKey);
  const auto found = find(path, [this](const PathStep& step) { return check_replaceable(step); });
  if (!found) return std::unexpected(found.error());
  if (!*found)
    return fail(Code::kFailedPrecondition,
                "device node '{}' cannot be seen from here and therefore not be checked: mount the node's /dev into "
                "the container of cardcage, and set node.devfs_root if it is not /dev there",
                path);
  if (const std::string real = roots_.on_node((*found)->path); !matches(*allows_.device_nodes, real))
    return refuse(kDoes, path, real, kKey);
  return check_numbers(node, path, (*found)->about);
}

Status EditRules::check(const Mount& mount) const {
  if (!allows_.mounts) return {};
  for (const std::string& one : {mount.host_path, mount.container_path})
    if (auto clean = check_clean(one); !clean) return clean;
  if (!mount.type.empty() && mount.type != "bind" && mount.type != "none")
    return fail(Code::kPermissionDenied, "mount '{}' has the type '{}': a module with the key mounts gives bind mounts",
                mount.host_path, printable(mount.type, kQuoted));
  for (const std::string& option : mount.options)
    if (std::ranges::find(kMountOptions, option) == kMountOptions.end())
      return fail(Code::kPermissionDenied,
                  "mount '{}' has the option '{}', which a module with the key mounts may not use", mount.host_path,
                  printable(option, kQuoted));
  const bool writable = has(mount.options, "rw") || !(has(mount.options, "ro") || has(mount.options, "rro"));
  const std::string_view does = writable ? "let containers write to" : "mount", suffix = writable ? kWritable : "";
  if (!may_mount(*allows_.mounts, mount.host_path, writable))
    return refuse(does, mount.host_path, mount.host_path, "mounts", suffix);
  const auto found = find(mount.host_path, [this](const PathStep& step) { return check_replaceable(step); });
  if (!found) return std::unexpected(found.error());
  if (!*found) return {};  // visible to the runtime on the node, maybe not to a daemon in a container
  const std::string real = roots_.on_node((*found)->path);
  return may_mount(*allows_.mounts, real, writable) ? Status{} : refuse(does, mount.host_path, real, "mounts", suffix);
}

Status EditRules::check(const Hook& hook) const {
  if (!allows_.hooks) return {};
  constexpr std::string_view kDoes = "have the container runtime run";
  if (!matches(*allows_.hooks, hook.path)) return refuse(kDoes, hook.path, hook.path, "hooks");
  for (const std::string& variable : hook.env) {
    const std::string name(name_of_variable(variable));
    if (runs_other_code(name) || (allows_.env && !has(*allows_.env, name)))
      return fail(Code::kPermissionDenied, "the module may not set '{}' for the hook '{}'{}", printable(name, kQuoted),
                  hook.path,
                  runs_other_code(name) ? ": it could run any code" : ": add it to the key env of its [[module]]");
  }
  const auto found = find(hook.path, check_step);
  if (!found) return std::unexpected(found.error());
  if (!*found) return {};
  if (const std::string real = roots_.on_node((*found)->path); !matches(*allows_.hooks, real))
    return refuse(kDoes, hook.path, real, "hooks");
  return check_file(**found);
}

// Variables that do not run other code can do no more in a container than its image.
Status EditRules::check_variable(const EnvVar& variable) const {
  if (!allows_.env) return {};
  if (!is_env_name(variable.name))
    return fail(Code::kInvalidArgument, "'{}' is not the name of an environment variable",
                printable(variable.name, kQuoted));
  if (!runs_other_code(variable.name) || has(*allows_.env, variable.name)) return {};
  return fail(
      Code::kPermissionDenied,
      "the module may not set '{}' in containers, since it makes programs run other code: add it to the key env "
      "of its [[module]]",
      printable(variable.name, kQuoted));
}

Result<std::optional<WalkedPath>> EditRules::find(const std::string& path, const PathCheck& check) const {
  auto found = walk(roots_.seen_here(path), check);
  if (found) return std::optional(std::move(*found));
  if (found.error().code == Code::kNotFound) return std::nullopt;
  return std::unexpected(found.error());
}

// Other users of the node are trusted: their sockets are mounted as well.
Status EditRules::check_replaceable(const PathStep& step) const {
  if (!user_) return {};
  const mode_t mode = step.folder.st_mode;
  const bool its_folder = step.folder.st_uid == *user_;
  const bool its_group = (mode & S_IWGRP) != 0 && std::ranges::find(groups_, step.folder.st_gid) != groups_.end();
  const bool stays = (mode & S_ISVTX) != 0 && S_ISDIR(step.part.st_mode) && step.part.st_uid != *user_;
  if (!its_folder && (stays || (!its_group && (mode & S_IWOTH) == 0))) return {};
  return fail(Code::kPermissionDenied,
              "the user of the module may write to the folder '{0}' and could put another file there: chown root {0} "
              "and chmod go-w {0}",
              step.folder_path.native());
}

}  // namespace cardcage
