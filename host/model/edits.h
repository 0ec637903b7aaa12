// Container edits, in the terms of containerEdits in the CDI specification.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cardcage {

struct EnvVar {
  std::string name, value;
  friend bool operator==(const EnvVar&, const EnvVar&) = default;
};

struct DeviceNode {
  std::string path;         // in the container
  std::string host_path;    // empty = path
  std::string type;         // "c", "b", "p", "u" or empty
  std::string permissions;  // characters from "rwm"; empty = the runtime's default
  std::optional<std::int64_t> major, minor;
  std::optional<mode_t> file_mode;
  std::optional<std::uint32_t> uid, gid;
  friend bool operator==(const DeviceNode&, const DeviceNode&) = default;
};

struct Mount {
  std::string host_path, container_path;
  std::string type;  // empty = the runtime's default
  std::vector<std::string> options;
  friend bool operator==(const Mount&, const Mount&) = default;
};

struct Hook {
  std::string name;  // "createRuntime", "createContainer", ...
  std::string path;
  std::vector<std::string> args, env;
  std::optional<std::int32_t> timeout_seconds;
  friend bool operator==(const Hook&, const Hook&) = default;
};

struct NetDevice {
  std::string host_interface, name;
  friend bool operator==(const NetDevice&, const NetDevice&) = default;
};

// A container folder on the library search path, as if ldconfig(8) had run.
struct LdPath {
  std::string path;
  // Empty: only the mounted libraries. "libcuda.so.580": the image's libraries replace them if newer.
  std::string newer_than;
  friend bool operator==(const LdPath&, const LdPath&) = default;
};

// A file below /proc whose text is replaced for containers.
struct ProcText {
  std::string path, text;
  friend bool operator==(const ProcText&, const ProcText&) = default;
};

struct Edits {
  std::vector<EnvVar> env;
  // A container with several devices from the device-plugin API gets all values, joined by ','. Not part of CDI.
  std::vector<EnvVar> env_lists;
  std::vector<DeviceNode> device_nodes;
  std::vector<Mount> mounts;
  std::vector<Hook> hooks;
  std::vector<NetDevice> net_devices;
  std::vector<std::uint32_t> additional_gids;
  // CDI cannot express these three: the module sets them, and the host turns them into hooks. locked_memory is the
  // number of bytes that the container may lock (RLIMIT_MEMLOCK).
  std::vector<std::uint64_t> locked_memory;
  std::vector<LdPath> ld_paths;
  std::vector<ProcText> proc_texts;

  bool empty() const { return *this == Edits{}; }
  friend bool operator==(const Edits&, const Edits&) = default;
};

// Adds the edits that `to` does not have yet. Two modules may request the same library mount, which a runtime would
// apply twice.
void merge(Edits& to, const Edits& from);

}  // namespace cardcage
