// SPDX-License-Identifier: Apache-2.0
// Claims, and the edits that prepare() makes to containers. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_CLAIM_HPP_
#define CARDCAGE_SDK_CLAIM_HPP_

#include <cardcage/sdk/options.hpp>
#include <cardcage/sdk/statement.hpp>

namespace cage {

// One device of a claim. A view, valid during the call.
class Allocation {
 public:
  Allocation(const cage_alloc* alloc, std::int32_t index) : alloc_(alloc), index_(index) {}

  std::int32_t index() const { return index_; }
  std::string_view device() const { return detail::view(alloc_->device_id); }
  std::string_view request() const { return detail::view(alloc_->request); }
  std::string_view share() const { return detail::view(alloc_->share_id); }
  // Others may be using the device: observe it, never reset or reconfigure it (KEP-5018).
  bool admin() const { return (alloc_->flags & CAGE_ALLOC_ADMIN) != 0; }
  Quantities consumed() const {
    Quantities list;
    for (std::uint32_t i = 0; i < alloc_->consumed_count; ++i) {
      const cage_quantity& raw = alloc_->consumed[i];
      list.emplace_back(detail::view(raw.name), Quantity{raw.value, raw.exp10, raw.format});
    }
    return list;
  }
  // The declared parameters for this device. Only in prepare(), and only if a schema is for devices of its kind.
  bool has_params() const { return alloc_->values != nullptr; }
  Values params() const {
    if (alloc_->values == nullptr) throw Error(CAGE_INTERNAL, "no parameters: none declared, or not in prepare");
    return Values(alloc_->values);
  }

 private:
  const cage_alloc* alloc_;
  std::int32_t index_;
};

// Opaque parameters as the user wrote them, for modules that declare none. A view, valid during the call.
class Params {
 public:
  explicit Params(const cage_params* params) : params_(params) {}

  std::string_view json() const { return detail::view(params_->json); }
  bool from_class() const { return params_->source == CAGE_PARAMS_CLASS; }
  std::vector<std::string_view> requests() const {  // empty = all
    return detail::views(params_->requests, params_->request_count);
  }

 private:
  const cage_params* params_;
};

// A view, valid during the call.
class Claim {
 public:
  explicit Claim(const cage_claim* claim) : claim_(claim) {}

  std::string_view uid() const { return detail::view(claim_->uid); }
  std::string_view name_space() const { return detail::view(claim_->name_space); }
  std::string_view name() const { return detail::view(claim_->name); }
  std::vector<Allocation> allocations() const {
    std::vector<Allocation> list;
    list.reserve(claim_->alloc_count);
    for (std::uint32_t i = 0; i < claim_->alloc_count; ++i) {
      list.emplace_back(claim_->allocs[i], static_cast<std::int32_t>(i));
    }
    return list;
  }
  std::vector<Params> params() const {
    std::vector<Params> list;
    for (std::uint32_t i = 0; i < claim_->params_count; ++i) list.emplace_back(claim_->params[i]);
    return list;
  }
  // The state that prepare() saved, or empty. It may date from before a reboot or come from an older version.
  std::string_view state() const { return {static_cast<const char*>(claim_->state.data), claim_->state.size}; }
  std::uint32_t state_version() const { return claim_->state_version; }
  // Returns the last journal entry of prepare(), see Edits::journal(), or an empty text.
  std::string_view journal() const {
    if (!CAGE_HAS(claim_, journal)) return {};
    return {static_cast<const char*>(claim_->journal.data), claim_->journal.size};
  }
  // Returns the resource name with the device-plugin API, "example.com/nic"; empty for a claim.
  std::string_view resource() const {
    return CAGE_HAS(claim_, resource) ? detail::view(claim_->resource) : std::string_view();
  }
  bool other_boot() const { return (claim_->flags & CAGE_CLAIM_OTHER_BOOT) != 0; }

 private:
  const cage_claim* claim_;
};

struct DeviceNode {
  std::string path;                     // in the container
  std::string host_path = {};           // empty = path
  std::string permissions = {};         // letters of "rwm"; empty = the runtime's default
  std::string type = {};                // "c", "b", "p"; empty = the runtime looks it up
  std::int64_t major = -1, minor = -1;  // -1 = the runtime looks it up
  std::int64_t uid = -1, gid = -1;      // -1 = unchanged
  std::uint32_t mode = 0;               // 0 = as on the host
};
struct Mount {
  std::string host_path, container_path;
  std::vector<std::string> options = {};
  std::string type = {};
};
struct Hook {
  std::string name, path;  // "createContainer", ...
  std::vector<std::string> args = {}, env = {};
  std::int32_t timeout_s = 0;
};

// The edits of one device, or of every container of the claim. Throws if the host refuses an edit.
class Edit {
 public:
  Edit(cage_edits* sink, std::int32_t index) : sink_(sink), index_(index) {}

  Edit& env(std::string_view name, std::string_view value) {
    return done(sink_->env(sink_, index_, detail::raw(name), detail::raw(value)));
  }
  // A variable with the values of all devices of the claim, joined by ','; with the device-plugin API, of all devices
  // of the container. JSON objects become one with the members of all. A host older than 0.3 passes the value of one.
  Edit& env_list(std::string_view name, std::string_view value) {
    if (!CAGE_CAN(sink_, env_list)) return env(name, value);
    return done(sink_->env_list(sink_, index_, detail::raw(name), detail::raw(value)));
  }
  Edit& device_node(const DeviceNode& node) {
    cage_device_node raw{};
    raw.struct_size = sizeof raw;
    raw.mode = node.mode;
    raw.path = detail::raw(node.path);
    raw.host_path = detail::raw(node.host_path);
    raw.permissions = detail::raw(node.permissions);
    raw.type = detail::raw(node.type);
    raw.major = node.major;
    raw.minor = node.minor;
    raw.uid = node.uid;
    raw.gid = node.gid;
    return done(sink_->device_node(sink_, index_, &raw));
  }
  Edit& device_node(std::string path) {
    DeviceNode node;
    node.path = std::move(path);
    return device_node(node);
  }
  Edit& mount(const Mount& mount) {
    const std::vector<cage_str> options = detail::raw_list(mount.options);
    cage_mount raw{};
    raw.struct_size = sizeof raw;
    raw.option_count = static_cast<std::uint32_t>(options.size());
    raw.host_path = detail::raw(mount.host_path);
    raw.container_path = detail::raw(mount.container_path);
    raw.type = detail::raw(mount.type);
    raw.options = options.data();
    return done(sink_->mount(sink_, index_, &raw));
  }
  Edit& hook(const Hook& hook) {
    const std::vector<cage_str> args = detail::raw_list(hook.args), env = detail::raw_list(hook.env);
    cage_hook raw{};
    raw.struct_size = sizeof raw;
    raw.timeout_s = hook.timeout_s;
    raw.name = detail::raw(hook.name);
    raw.path = detail::raw(hook.path);
    raw.args = args.data();
    raw.env = env.data();
    raw.arg_count = static_cast<std::uint32_t>(args.size());
    raw.env_count = static_cast<std::uint32_t>(env.size());
    return done(sink_->hook(sink_, index_, &raw));
  }
  Edit& net_device(std::string_view host_interface, std::string_view name) {
    cage_net_device raw{};
    raw.struct_size = sizeof raw;
    raw.host_interface = detail::raw(host_interface);
    raw.name = detail::raw(name);
    return done(sink_->net_device(sink_, index_, &raw));
  }
  Edit& group(std::uint32_t gid) { return done(sink_->group(sink_, index_, gid)); }
  // The container may lock at least this much memory, as RDMA and VFIO do; UINT64_MAX: without a limit. A host without
  // this function leaves the limit as it is.
  Edit& locked_memory(std::uint64_t bytes) {
    return CAGE_CAN(sink_, locked_memory) ? done(sink_->locked_memory(sink_, index_, bytes)) : *this;
  }
  // Programs find the libraries that are mounted in this folder of the container, as if ldconfig(8) had run there. With
  // newer_than, such as "libcuda.so.580", those that the image has in the folder go before the mounted ones, if its
  // libcuda.so.VERSION is newer. A host without this function leaves the image's cache as it is.
  Edit& ld_path(std::string_view folder, std::string_view newer_than = {}) {
    return CAGE_CAN(sink_, ld_path) ? done(sink_->ld_path(sink_, index_, detail::raw(folder), detail::raw(newer_than)))
                                    : *this;
  }
  // Replaces the text of a file below /proc for containers. A host without this function shows the node's.
  Edit& proc_text(std::string_view path, std::string_view text) {
    return CAGE_CAN(sink_, proc_text) ? done(sink_->proc_text(sink_, index_, detail::raw(path), detail::raw(text)))
                                      : *this;
  }

  // States a part of this device's entry in the claim's status, which users see (KEP-4817). The last call counts, for
  // condition() that of each type. A host without cage.edits.status, older than 0.3, leaves it out.
  Edit& condition(const Condition& condition) {
    const auto* const family = status();
    if (family == nullptr) return *this;
    const cage_condition raw = detail::raw(condition);
    return done(family->condition(sink_, index_, &raw));
  }
  // A JSON object of at most 10 KiB.
  Edit& data(std::string_view json) {
    const auto* const family = status();
    return family == nullptr ? *this : done(family->data(sink_, index_, detail::raw(json)));
  }
  Edit& network(const NetworkData& network) {
    const auto* const family = status();
    if (family == nullptr) return *this;
    const std::vector<cage_str> ips = detail::raw_list(network.ips);
    cage_network_data raw{};
    raw.struct_size = sizeof raw;
    raw.ip_count = static_cast<std::uint32_t>(ips.size());
    raw.interface_name = detail::raw(network.interface_name);
    raw.hardware_address = detail::raw(network.hardware_address);
    raw.ips = ips.data();
    return done(family->network(sink_, index_, &raw));
  }
  // Containers with the device get a file that describes it (KEP-5304). A host without cage.edits.metadata, older than
  // 0.3, leaves it out.
  Edit& describe(const Description& description = {}) {
    const auto* const family = static_cast<const cage_edits_metadata*>(sink_->extension(sink_, CAGE_EDITS_METADATA));
    if (family == nullptr) return *this;
    const detail::RawAttributes attributes(description.attributes_);
    return done(family->describe(sink_, index_, attributes.data(), attributes.size()));
  }

 private:
  const cage_edits_status* status() const {
    return static_cast<const cage_edits_status*>(sink_->extension(sink_, CAGE_EDITS_STATUS));
  }
  Edit& done(cage_status status) {
    detail::must(status);
    return *this;
  }

  cage_edits* sink_;
  std::int32_t index_;
};

class Edits {
 public:
  explicit Edits(cage_edits* sink)
      : sink_(sink), journal_(static_cast<const cage_edits_journal*>(sink->extension(sink, CAGE_EDITS_JOURNAL))) {}

  Edit of(const Allocation& allocation) { return Edit(sink_, allocation.index()); }
  Edit of_claim() { return Edit(sink_, -1); }
  // Saves the state that unprepare() will need, at most 64 KiB; the last call counts [R7].
  void save(std::string_view state) { detail::must(sink_->state(sink_, {state.data(), state.size()})); }
  // Records how to undo a change, before the hardware is changed: Claim::journal() of the next prepare() or unprepare()
  // has it even if this process dies meanwhile. At most 64 KiB; the last call counts [R7].
  bool has_journal() const { return journal_ != nullptr; }
  void journal(std::string_view notes) {
    if (journal_ == nullptr) throw Error(CAGE_UNIMPLEMENTED, "a journal needs a host with " CAGE_EDITS_JOURNAL);
    detail::must(journal_->write(sink_, {notes.data(), notes.size()}));
  }

 private:
  cage_edits* sink_;
  const cage_edits_journal* journal_;
};

}  // namespace cage

#endif  // CARDCAGE_SDK_CLAIM_HPP_
