#include "tests/abi/raw_host.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <time.h>

#include <algorithm>
#include <regex>

#include "tests/abi/raw_families.h"
#include "tests/fakes/built_files.h"

namespace cardcage::raw {
namespace {

const std::regex kAttributeName("([a-z0-9.-]{1,63}/)?[A-Za-z_][A-Za-z0-9_]{0,31}");
const std::regex kVersion(R"((0|[1-9]\d*)(\.(0|[1-9]\d*)){2})");

}  // namespace

Call::Call(std::chrono::nanoseconds time) : cancel_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  call_.struct_size = sizeof call_;
  call_.attempt = 1;
  call_.host_data = this;
  call_.id = str("test");
  call_.deadline_ns = static_cast<std::uint64_t>(now.tv_sec * 1'000'000'000 + now.tv_nsec + time.count());
  call_.cancel_fd = cancel_fd_.get();
  call_.cancelled = [](const cage_call* self) {
    eventfd_t value = 0;
    const int fd = self->cancel_fd;
    if (::eventfd_read(fd, &value) != 0) return 0;
    return ::eventfd_write(fd, value) == 0 ? 1 : 0;
  };
  call_.progress = [](const cage_call* self, std::uint32_t percent, cage_str text) {
    static_cast<Call*>(self->host_data)->progress = fmt::format("{} % {}", percent, owned(text));
  };
  call_.explain = [](const cage_call* self, cage_str text) {
    static_cast<Call*>(self->host_data)->explanation = owned(text);
  };
  call_.explained = [](const cage_call* self) { return str(static_cast<Call*>(self->host_data)->explanation); };
}

void Call::cancel() { ASSERT_EQ(::eventfd_write(cancel_fd_.get(), 1), 0); }

ReportedHealth reported(const cage_health& health) {
  expect_size(health);
  return {health.state,
          owned(health.reason),
          owned(health.message),
          health.taint,
          owned(health.cause),
          owned(health.taint_key),
          owned(health.taint_value),
          health.has_value == 1 ? std::optional(health.value) : std::nullopt};
}

template <class Change>
void Host::record(Change change) {
  {
    const std::lock_guard lock(mutex_);
    change();
  }
  changed_.notify_all();
}

Host::Host() {
  host_.struct_size = sizeof host_;
  host_.abi_minor = CAGE_ABI_MINOR;
  host_.host_data = this;
  host_.version = str("0.0.0-test");
  host_.log_enabled = [](const cage_host*, std::uint32_t) { return 1; };
  host_.log = [](const cage_host* self, std::uint32_t, cage_str text) {
    auto& host = *static_cast<Host*>(self->host_data);
    host.record([&] { host.logs.push_back(owned(text)); });
  };
  host_.rescan = [](const cage_host* self) {
    auto& host = *static_cast<Host*>(self->host_data);
    host.record([&] { ++host.rescans; });
  };
  host_.health = [](const cage_host* self, const cage_health* health) {
    auto& host = *static_cast<Host*>(self->host_data);
    host.record([&] { host.healths.emplace_back(owned(health->device_id), reported(*health)); });
  };
  host_.extension = [](const cage_host* self, const char* id) -> const void* {
    if (!static_cast<Host*>(self->host_data)->with_families) return nullptr;
    return family_of_host(id);
  };
}

bool Host::wait_until(const std::function<bool()>& condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(10), condition);
}

namespace {

std::string value_text(std::uint32_t type, std::int64_t number) {
  return type == CAGE_ATTR_INT ? fmt::to_string(number) : number != 0 ? "true" : "false";
}

std::string value_text(std::uint32_t type, cage_str text) {
  if (type == CAGE_ATTR_VERSION) {
    EXPECT_TRUE(std::regex_match(owned(text), kVersion)) << owned(text);
    return "version " + owned(text);
  }
  EXPECT_EQ(type, std::uint32_t{CAGE_ATTR_STRING});
  EXPECT_LE(text.size, 64U);
  return owned(text);
}

std::map<std::string, std::int64_t> amounts(const cage_quantity* quantities, std::uint32_t count) {
  std::map<std::string, std::int64_t> found;
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(quantities[i].exp10, 0);
    EXPECT_TRUE(found.emplace(owned(quantities[i].name), quantities[i].value).second) << owned(quantities[i].name);
  }
  return found;
}

const cage_snapshot_counters kCounters = {
    sizeof(cage_snapshot_counters), 0,
    [](cage_snapshot* self, cage_str set, const cage_quantity* quantities, std::uint32_t count) {
      static_cast<Snapshot*>(self->host_data)->counter_sets[owned(set)] = amounts(quantities, count);
      return cage_status{CAGE_OK};
    },
    [](cage_snapshot* self, cage_str device, cage_str set, const cage_quantity* quantities, std::uint32_t count) {
      auto& snapshot = *static_cast<Snapshot*>(self->host_data);
      EXPECT_TRUE(snapshot.counter_sets.contains(owned(set))) << "no such counter set: " << owned(set);
      snapshot.consumes[owned(device)] = amounts(quantities, count);
      return cage_status{CAGE_OK};
    }};

std::string amount_text(const cage_quantity& amount) {
  return amount.exp10 == 0 ? fmt::format("{}", amount.value) : fmt::format("{}e{}", amount.value, amount.exp10);
}

std::string policy_text(const cage_request_policy& policy) {
  expect_size(policy);
  std::string text = amount_text(*policy.default_amount);
  std::vector<std::string> values;
  for (std::uint32_t i = 0; i < policy.value_count; ++i) values.push_back(amount_text(policy.values[i]));
  if (!values.empty()) text += fmt::format(" of {}", fmt::join(values, ", "));
  if (policy.min != nullptr) text += " of " + amount_text(*policy.min);
  if (policy.max != nullptr) text += " to " + amount_text(*policy.max);
  if (policy.step != nullptr) text += " by " + amount_text(*policy.step);
  return text;
}

const cage_snapshot_policy kPolicy = {
    sizeof(cage_snapshot_policy), 0,
    [](cage_snapshot* self, cage_str device, cage_str capacity, const cage_request_policy* policy) {
      auto& policies = static_cast<Snapshot*>(self->host_data)->policies[owned(device)];
      EXPECT_TRUE(policies.emplace(owned(capacity), policy_text(*policy)).second) << owned(capacity);
      return cage_status{CAGE_OK};
    }};

const cage_snapshot_binding kBinding = {
    sizeof(cage_snapshot_binding), 0, [](cage_snapshot* self, cage_str device, const cage_binding* binding) {
      expect_size(*binding);
      const auto joined = [](const cage_str* types, std::uint32_t count) {
        EXPECT_GE(count, 1U);
        EXPECT_LE(count, 4U);
        std::vector<std::string> texts;
        for (std::uint32_t i = 0; i < count; ++i) texts.push_back(owned(types[i]));
        return fmt::format("{}", fmt::join(texts, ", "));
      };
      auto& bindings = static_cast<Snapshot*>(self->host_data)->bindings;
      const std::string text = fmt::format("{} or {}{}", joined(binding->conditions, binding->condition_count),
                                           joined(binding->failures, binding->failure_count),
                                           (binding->flags & CAGE_BINDING_TO_NODE) != 0 ? " to node" : "");
      EXPECT_TRUE(bindings.emplace(owned(device), text).second) << owned(device);
      return cage_status{CAGE_OK};
    }};

const cage_snapshot_not_offered kNotOffered = {
    sizeof(cage_snapshot_not_offered), 0, [](cage_snapshot* self, cage_str name, cage_str reason) {
      auto& reasons = static_cast<Snapshot*>(self->host_data)->not_offered;
      EXPECT_TRUE(reasons.emplace(owned(name), owned(reason)).second) << owned(name);
      return cage_status{CAGE_OK};
    }};

}  // namespace

std::string attribute_text(const cage_attr& attr) {
  EXPECT_TRUE(std::regex_match(owned(attr.name), kAttributeName)) << owned(attr.name);
  const std::uint32_t type = attr.type & ~std::uint32_t{CAGE_ATTR_LIST};
  const bool numeric = type == CAGE_ATTR_INT || type == CAGE_ATTR_BOOL;
  if (type == attr.type) {
    EXPECT_EQ(attr.count, 1U);
    return numeric ? value_text(type, attr.v.i) : value_text(type, attr.v.s);
  }
  std::vector<std::string> values;
  for (std::uint32_t i = 0; i < attr.count; ++i)
    values.push_back(numeric ? value_text(type, attr.v.ints[i]) : value_text(type, attr.v.strs[i]));
  return fmt::format("[{}]", fmt::join(values, ", "));
}

Snapshot::Snapshot(bool with_families) : with_families_(with_families) {
  snapshot_.struct_size = sizeof snapshot_;
  snapshot_.host_data = this;
  snapshot_.device = take;
  snapshot_.extension = [](cage_snapshot* self, const char* id) -> const void* {
    if (!static_cast<Snapshot*>(self->host_data)->with_families_) return nullptr;
    if (std::string_view(id) == CAGE_SNAPSHOT_COUNTERS) return &kCounters;
    if (std::string_view(id) == CAGE_SNAPSHOT_POLICY) return &kPolicy;
    if (std::string_view(id) == CAGE_SNAPSHOT_BINDING) return &kBinding;
    return std::string_view(id) == CAGE_SNAPSHOT_NOT_OFFERED ? &kNotOffered : nullptr;
  };
}

BindSink::BindSink() {
  sink_.struct_size = sizeof sink_;
  sink_.host_data = this;
  sink_.condition = [](cage_bind_sink* self, std::int32_t index, const cage_condition* given) {
    expect_size(*given);
    EXPECT_GT(given->reason.size, 0U);
    EXPECT_LE(given->status, std::uint32_t{CAGE_CONDITION_UNKNOWN});
    constexpr std::string_view kStatus[] = {"false", "true", "unknown"};
    const std::string message = given->message.size == 0 ? "" : ", " + owned(given->message);
    static_cast<BindSink*>(self->host_data)
        ->conditions[index]
        .push_back(
            fmt::format("{} is {}: {}{}", view(given->type), kStatus[given->status], view(given->reason), message));
    return cage_status{CAGE_OK};
  };
}

cage_status Snapshot::take(cage_snapshot* self, const cage_device* device) {
  expect_size(*device);
  FoundDevice found;
  found.kind = owned(device->kind);
  found.name = owned(device->name);
  found.parent = owned(device->parent_id);
  found.pci = owned(device->pci_bus_id);
  if (device->numa_count > 0) found.numa.assign(device->numa_nodes, device->numa_nodes + device->numa_count);
  for (std::uint32_t i = 0; i < device->attr_count; ++i) {
    EXPECT_TRUE(found.attrs.emplace(owned(device->attrs[i].name), attribute_text(device->attrs[i])).second);
  }
  found.capacity = amounts(device->capacity, device->capacity_count);
  EXPECT_LE(device->attr_count + device->capacity_count, 32U);
  found.shared = (device->flags & CAGE_DEVICE_SHARED) != 0;
  found.has_health = device->health != nullptr;
  if (found.has_health) found.health = reported(*device->health);
  auto& devices = static_cast<Snapshot*>(self->host_data)->devices;
  EXPECT_TRUE(devices.emplace(owned(device->id), std::move(found)).second) << "twice: " << owned(device->id);
  return CAGE_OK;
}

const cage_edits_journal kJournal = {
    sizeof(cage_edits_journal), 0, [](cage_edits* edits, cage_bytes blob) {
      EXPECT_LE(blob.size, 65536U);
      static_cast<Edits*>(edits->host_data)->journal.assign(static_cast<const char*>(blob.data), blob.size);
      return cage_status{CAGE_OK};
    }};

// Records "condition Ready=1 Linked: up", "data {}", "network net1 02:00 10.1.2.3/24", "describe model=X1".
const cage_edits_status kStatus = {
    sizeof(cage_edits_status), 0,
    [](cage_edits* edits, std::int32_t alloc, const cage_condition* condition) {
      expect_size(*condition);
      return static_cast<Edits*>(edits->host_data)
          ->add(alloc, fmt::format("condition {}={} {}: {}", owned(condition->type), condition->status,
                                   owned(condition->reason), owned(condition->message)));
    },
    [](cage_edits* edits, std::int32_t alloc, cage_str json) {
      return static_cast<Edits*>(edits->host_data)->add(alloc, "data " + owned(json));
    },
    [](cage_edits* edits, std::int32_t alloc, const cage_network_data* network) {
      expect_size(*network);
      std::vector<std::string> ips;
      for (std::uint32_t i = 0; i < network->ip_count; ++i) ips.push_back(owned(network->ips[i]));
      return static_cast<Edits*>(edits->host_data)
          ->add(alloc, fmt::format("network {} {} {}", owned(network->interface_name), owned(network->hardware_address),
                                   fmt::join(ips, ",")));
    }};

const cage_edits_metadata kMetadata = {
    sizeof(cage_edits_metadata), 0,
    [](cage_edits* edits, std::int32_t alloc, const cage_attr* attributes, std::uint32_t count) {
      std::vector<std::string> texts;
      for (std::uint32_t i = 0; i < count; ++i)
        texts.push_back(owned(attributes[i].name) + "=" + attribute_text(attributes[i]));
      return static_cast<Edits*>(edits->host_data)->add(alloc, fmt::format("describe {}", fmt::join(texts, ",")));
    }};

Edits::Edits() {
  edits_.struct_size = sizeof edits_;
  edits_.host_data = this;
  edits_.env_list = [](cage_edits* edits, std::int32_t alloc, cage_str key, cage_str value) {
    return self(edits).add(alloc, fmt::format("list {}+={}", owned(key), owned(value)));
  };
  edits_.locked_memory = [](cage_edits* edits, std::int32_t alloc, std::uint64_t bytes) {
    return self(edits).add(alloc, fmt::format("lock {}", bytes));
  };
  edits_.ld_path = [](cage_edits* edits, std::int32_t alloc, cage_str folder, cage_str newer_than) {
    return self(edits).add(alloc, fmt::format("find in {} newer than '{}'", owned(folder), owned(newer_than)));
  };
  edits_.proc_text = [](cage_edits* edits, std::int32_t alloc, cage_str path, cage_str text) {
    return self(edits).add(alloc, fmt::format("text {} '{}'", owned(path), owned(text)));
  };
  edits_.env = [](cage_edits* edits, std::int32_t alloc, cage_str key, cage_str value) {
    return self(edits).add(alloc, fmt::format("env {}={}", owned(key), owned(value)));
  };
  edits_.device_node = [](cage_edits* edits, std::int32_t alloc, const cage_device_node* node) {
    expect_size(*node);
    return self(edits).add(
        alloc, fmt::format("node {} <- {} {}", owned(node->path), owned(node->host_path), owned(node->permissions)));
  };
  edits_.mount = [](cage_edits* edits, std::int32_t alloc, const cage_mount* mount) {
    expect_size(*mount);
    std::vector<std::string> options;
    for (std::uint32_t i = 0; i < mount->option_count; ++i) options.push_back(owned(mount->options[i]));
    return self(edits).add(alloc, fmt::format("mount {} -> {} {}", owned(mount->host_path),
                                              owned(mount->container_path), fmt::join(options, ",")));
  };
  edits_.hook = [](cage_edits* edits, std::int32_t alloc, const cage_hook* hook) {
    expect_size(*hook);
    return self(edits).add(alloc, fmt::format("hook {} {}", owned(hook->name), owned(hook->path)));
  };
  edits_.net_device = [](cage_edits* edits, std::int32_t alloc, const cage_net_device* device) {
    expect_size(*device);
    return self(edits).add(alloc, fmt::format("net {} as {}", owned(device->host_interface), owned(device->name)));
  };
  edits_.group = [](cage_edits* edits, std::int32_t alloc, std::uint32_t gid) {
    return self(edits).add(alloc, fmt::format("group {}", gid));
  };
  edits_.state = [](cage_edits* edits, cage_bytes blob) {
    EXPECT_LE(blob.size, 65536U);
    self(edits).state.assign(static_cast<const char*>(blob.data), blob.size);
    return cage_status{CAGE_OK};
  };
  edits_.extension = [](cage_edits* edits, const char* id) -> const void* {
    if (!self(edits).with_families) return nullptr;
    const std::string_view name = id;
    if (name == CAGE_EDITS_JOURNAL) return &kJournal;
    if (name == CAGE_EDITS_STATUS) return &kStatus;
    return name == CAGE_EDITS_METADATA ? &kMetadata : nullptr;
  };
}

cage_status Edits::add(std::int32_t alloc, std::string line) {
  if (accepted == accept_at_most) return CAGE_INVALID_ARGUMENT;
  ++accepted;
  lines[alloc].push_back(std::move(line));
  return CAGE_OK;
}

bool Edits::has(std::int32_t alloc, const std::string& line) const {
  const auto found = lines.find(alloc);
  return found != lines.end() && std::ranges::find(found->second, line) != found->second.end();
}

Claim::Claim(std::string uid, std::vector<Alloc> allocs, std::string state, std::uint32_t state_version,
             std::string journal)
    : uid_(std::move(uid)),
      name_("claim-" + uid_),
      state_(std::move(state)),
      journal_(std::move(journal)),
      allocs_(std::move(allocs)) {
  for (const Alloc& alloc : allocs_) {
    cage_alloc raw{};
    raw.struct_size = sizeof raw;
    raw.flags = alloc.flags;
    raw.device_id = str(alloc.device);
    raw.request = str(alloc.request);
    raw.share_id = str(alloc.share_id);
    raw.consumed = alloc.consumed.data();
    raw.consumed_count = static_cast<std::uint32_t>(alloc.consumed.size());
    raw.values = alloc.values == nullptr ? nullptr : alloc.values->get();
    raw_.push_back(raw);
  }
  for (const cage_alloc& raw : raw_) pointers_.push_back(&raw);
  claim_.struct_size = sizeof claim_;
  claim_.state_version = state_.empty() ? 0 : state_version;
  claim_.uid = str(uid_);
  claim_.name_space = str("default");
  claim_.name = str(name_);
  claim_.allocs = pointers_.data();
  claim_.alloc_count = static_cast<std::uint32_t>(pointers_.size());
  claim_.state = {state_.data(), state_.size()};
  claim_.journal = {journal_.data(), journal_.size()};
}

const cage_module* open_module(const std::filesystem::path& file) {
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    ADD_FAILURE() << ::dlerror();
    return nullptr;
  }
  const auto entry = reinterpret_cast<decltype(&cage_module_v1)>(::dlsym(library, CAGE_ENTRY));
  if (entry == nullptr) {
    ADD_FAILURE() << file << " exports no " << CAGE_ENTRY;
    return nullptr;
  }
  return entry(CAGE_ABI_MINOR);
}

const cage_module* open_built(const std::string& name) {
  return open_module(built("tests/abi/libcardcage_" + name + ".so"));
}

const cage_module* mock() {
  static const cage_module* module = open_module(built_module("mock"));
  return module;
}

Instance::Instance(const cage_module* of, std::map<std::string, Value> options) : module(of) {
  const Values values(module->options, module->option_count, std::move(options));
  const Call call;
  created = module->create(call.get(), host.get(), values.get(), &instance_);
  explanation = call.explanation;
  if (created != CAGE_OK) {
    EXPECT_EQ(instance_, nullptr);
    return;
  }
  started = module->start != nullptr ? module->start(instance_, call.get()) : CAGE_OK;
  explanation = call.explanation;
}

Instance::~Instance() {
  if (created != CAGE_OK) return;
  const Call call;
  if (started == CAGE_OK && module->stop != nullptr) module->stop(instance_, call.get());
  module->destroy(instance_);
}

std::unique_ptr<Snapshot> Instance::discover(cage_status expected) {
  auto snapshot = std::make_unique<Snapshot>();
  const Call call;
  EXPECT_EQ(module->discover(instance_, call.get(), snapshot->get()), expected) << call.explanation;
  explanation = call.explanation;
  return snapshot;
}

cage_status Instance::prepare(const Claim& claim, Edits& edits) {
  const Call call;
  const cage_status status = module->prepare(instance_, call.get(), claim.get(), edits.get());
  explanation = call.explanation;
  return status;
}

cage_status Instance::unprepare(const Claim& claim) {
  const Call call;
  const cage_status status = module->unprepare(instance_, call.get(), claim.get());
  explanation = call.explanation;
  return status;
}

cage_status Instance::check(std::string_view device) {
  const Call call;
  const cage_status status = module->check(instance_, call.get(), str(device));
  explanation = call.explanation;
  return status;
}

}  // namespace cardcage::raw
