// SPDX-License-Identifier: Apache-2.0
// Devices and the snapshot that discover() fills. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_DEVICE_HPP_
#define CARDCAGE_SDK_DEVICE_HPP_

#include <cardcage/sdk/attributes.hpp>
#include <cardcage/sdk/call.hpp>

namespace cage {

// A device to report. Setters chain: out.add(cage::Device(uuid, "gpu").pci(bus).attribute("model", "X1"));
class Device {
 public:
  // `id` is stable over reboots: a UUID, serial or bus address.
  Device(std::string id, std::string kind) : id_(std::move(id)), kind_(std::move(kind)) {}

  // The name in Kubernetes, a DNS label such as gpu-0, as stable as the id. By default it is made from the id.
  Device& name(std::string label) { return set(name_, std::move(label)); }
  Device& parent(std::string id) { return set(parent_, std::move(id)); }
  Device& pci(std::string bus_id) { return set(pci_, std::move(bus_id)); }
  Device& numa(std::int32_t node) { return append(numa_, node); }
  Device& shared() { return set(flags_, flags_ | CAGE_DEVICE_SHARED); }
  Device& health(Health health) { return set(health_, std::optional<Health>(std::move(health))); }
  Device& capacity(std::string name, Quantity value) { return append(capacity_, {std::move(name), value}); }

  // Takes bool, integers, text, Version, and vectors of bool, std::int64_t, std::string or Version. Text is cut to 64
  // bytes: attribute_text(). A device has at most 32 attributes and capacities together.
  template <class T>
  Device& attribute(std::string name, const T& value) {
    attributes_.add(std::move(name), value);
    return *this;
  }

 private:
  friend class Snapshot;

  template <class T>
  Device& set(T& member, T value) {
    member = std::move(value);
    return *this;
  }
  template <class T>
  Device& append(std::vector<T>& list, T value) {
    list.push_back(std::move(value));
    return *this;
  }
  cage_status report(cage_snapshot* sink) const {
    const detail::RawAttributes attributes(attributes_);
    const std::vector<cage_quantity> capacity = detail::raw_list(capacity_);
    const Health nothing;
    const cage_health health = (health_ ? *health_ : nothing).raw(id_);
    cage_device device{};
    device.struct_size = sizeof device;
    device.flags = flags_;
    device.id = detail::raw(id_);
    device.name = detail::raw(name_);
    device.kind = detail::raw(kind_);
    device.parent_id = detail::raw(parent_);
    device.pci_bus_id = detail::raw(pci_);
    device.numa_nodes = numa_.data();
    device.numa_count = static_cast<std::uint32_t>(numa_.size());
    device.attrs = attributes.data();
    device.attr_count = attributes.size();
    device.capacity = capacity.data();
    device.capacity_count = static_cast<std::uint32_t>(capacity.size());
    device.health = health_ ? &health : nullptr;
    return sink->device(sink, &device);
  }

  std::string id_, name_, kind_, parent_, pci_;
  std::uint32_t flags_ = 0;
  std::vector<std::int32_t> numa_;
  detail::Attributes attributes_;
  Quantities capacity_;
  std::optional<Health> health_;
};

// The amounts that claims may consume of a capacity of a shared device (KEP-5075). The scheduler rounds a request up to
// the next amount that the policy allows.
struct RequestPolicy {
  Quantity default_amount;       // for requests without an amount
  std::vector<Quantity> values;  // the only amounts, at most 10 in ascending order
  // Or a range: from `min` on, up to `max`, in steps of `step`. Max and step need min.
  std::optional<Quantity> min, max, step;
};

// Makes a device ready after its allocation, before a pod gets it (KEP-5007): 1 to 4 types of conditions that must all
// be true, and 1 to 4 of which one makes the scheduler give the pod another device.
struct Binding {
  std::vector<std::string> conditions, failures;
  bool to_node = false;  // the claim stays on the node that was chosen for it
};

// The full list of devices, never a change to it [R6].
class Snapshot {
 public:
  explicit Snapshot(cage_snapshot* sink)
      : sink_(sink),
        counters_(static_cast<const cage_snapshot_counters*>(sink->extension(sink, CAGE_SNAPSHOT_COUNTERS))),
        policy_(static_cast<const cage_snapshot_policy*>(sink->extension(sink, CAGE_SNAPSHOT_POLICY))),
        binding_(static_cast<const cage_snapshot_binding*>(sink->extension(sink, CAGE_SNAPSHOT_BINDING))),
        not_offered_(static_cast<const cage_snapshot_not_offered*>(sink->extension(sink, CAGE_SNAPSHOT_NOT_OFFERED))) {}

  // Returns false if the host refused this device and logged why; the other devices still count.
  bool add(const Device& device) { return device.report(sink_) == CAGE_OK; }

  // Partitions of one device share counters (KEP-4815). Without counters the same hardware would be allocated twice.
  bool has_counters() const { return counters_ != nullptr; }
  void counter_set(std::string_view set, const Quantities& amounts) {
    const std::vector<cage_quantity> list = detail::raw_list(amounts);
    detail::must(counters().set(sink_, detail::raw(set), list.data(), static_cast<std::uint32_t>(list.size())));
  }
  void consumes(std::string_view device, std::string_view set, const Quantities& amounts) {
    const std::vector<cage_quantity> list = detail::raw_list(amounts);
    detail::must(counters().consumes(sink_, detail::raw(device), detail::raw(set), list.data(),
                                     static_cast<std::uint32_t>(list.size())));
  }

  // Claims share a device in amounts (KEP-5075). Without policies a request consumes the amount that it names, or the
  // whole capacity.
  bool has_policies() const { return policy_ != nullptr; }
  // Sets the amounts that claims may consume of a capacity of a shared device. The host leaves the device out if this
  // throws, and if Kubernetes would refuse the policy.
  void policy(std::string_view device, std::string_view capacity, const RequestPolicy& given) {
    if (policy_ == nullptr) throw Error(CAGE_UNIMPLEMENTED, "request policies need a host with " CAGE_SNAPSHOT_POLICY);
    std::vector<cage_quantity> values;
    for (const Quantity& value : given.values) values.push_back(unnamed(value));
    const cage_quantity initial = unnamed(given.default_amount);
    const cage_quantity min = unnamed(given.min.value_or(Quantity{})), max = unnamed(given.max.value_or(Quantity{})),
                        step = unnamed(given.step.value_or(Quantity{}));
    cage_request_policy policy{};
    policy.struct_size = sizeof policy;
    policy.value_count = static_cast<std::uint32_t>(values.size());
    policy.default_amount = &initial;
    policy.values = values.data();
    policy.min = given.min ? &min : nullptr;
    policy.max = given.max ? &max : nullptr;
    policy.step = given.step ? &step : nullptr;
    detail::must(policy_->set(sink_, detail::raw(device), detail::raw(capacity), &policy));
  }

  // Pods wait until Module::bind() has made the device ready [R25]. The host leaves the device out if this throws, and
  // if Kubernetes would refuse the conditions.
  bool has_bindings() const { return binding_ != nullptr; }
  void binding(std::string_view device, const Binding& given) {
    if (binding_ == nullptr)
      throw Error(CAGE_UNIMPLEMENTED, "binding conditions need a host with " CAGE_SNAPSHOT_BINDING);
    const std::vector<cage_str> conditions = detail::raw_list(given.conditions),
                                failures = detail::raw_list(given.failures);
    cage_binding binding{};
    binding.struct_size = sizeof binding;
    binding.flags = given.to_node ? std::uint32_t{CAGE_BINDING_TO_NODE} : 0;
    binding.conditions = conditions.data();
    binding.failures = failures.data();
    binding.condition_count = static_cast<std::uint32_t>(conditions.size());
    binding.failure_count = static_cast<std::uint32_t>(failures.size());
    detail::must(binding_->set(sink_, detail::raw(device), &binding));
  }

  // Tells operators why hardware that was found is not offered. An older host ignores this.
  void not_offered(std::string_view name, std::string_view reason) {
    if (not_offered_ != nullptr) not_offered_->add(sink_, detail::raw(name), detail::raw(reason));
  }

 private:
  static cage_quantity unnamed(const Quantity& amount) {
    return {{nullptr, 0}, amount.value, amount.exp10, amount.format};
  }
  const cage_snapshot_counters& counters() const {
    if (counters_ == nullptr) throw Error(CAGE_UNIMPLEMENTED, "partitions need a host with " CAGE_SNAPSHOT_COUNTERS);
    return *counters_;
  }

  cage_snapshot* sink_;
  const cage_snapshot_counters* counters_;
  const cage_snapshot_policy* policy_;
  const cage_snapshot_binding* binding_;
  const cage_snapshot_not_offered* not_offered_;
};

}  // namespace cage

#endif  // CARDCAGE_SDK_DEVICE_HPP_
