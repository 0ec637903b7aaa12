// Reads and writes edits as containerEdits of the CDI specification (SPEC.md 1.1.0).
#pragma once

#include <utility>

#include "host/core/json_fields.h"
#include "host/model/edits.h"

namespace cardcage {

inline void write_json(std::string& out, const EnvVar& variable) {
  write_json(out, variable.name + "=" + variable.value);
}
inline bool from_json_value(const json::value& json, EnvVar& variable) {
  if (!json.is_string()) return false;
  const std::string text(json.get_string());
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  variable = {text.substr(0, equals), text.substr(equals + 1)};
  return true;
}

template <class Fields>
void describe(Fields& fields, DeviceNode& node) {
  fields("path", node.path);
  fields("hostPath", node.host_path);
  fields("type", node.type);
  fields("major", node.major);
  fields("minor", node.minor);
  fields("fileMode", node.file_mode);
  fields("permissions", node.permissions);
  fields("uid", node.uid);
  fields("gid", node.gid);
}

template <class Fields>
void describe(Fields& fields, NetDevice& device) {
  fields("hostInterfaceName", device.host_interface);
  fields("name", device.name);
}

template <class Fields>
void describe(Fields& fields, Hook& hook) {
  fields("hookName", hook.name);
  fields("path", hook.path);
  fields("args", hook.args);
  fields("env", hook.env);
  fields("timeout", hook.timeout_seconds);
}

template <class Fields>
void describe(Fields& fields, Mount& mount) {
  fields("hostPath", mount.host_path);
  fields("containerPath", mount.container_path);
  fields("options", mount.options);
  fields("type", mount.type);
}

template <class Fields>
void describe(Fields& fields, Edits& edits) {
  fields("env", edits.env);
  fields("envLists", edits.env_lists);  // never in a CDI file
  fields("deviceNodes", edits.device_nodes);
  fields("netDevices", edits.net_devices);
  fields("hooks", edits.hooks);
  fields("mounts", edits.mounts);
  fields("additionalGids", edits.additional_gids);
}

}  // namespace cardcage
