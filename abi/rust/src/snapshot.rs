// SPDX-License-Identifier: Apache-2.0

use crate::binding::Binding;
use crate::device::{Attributes, Device, Quantity, RequestPolicy};
use crate::error::{Error, Result, Status};
use crate::{raw, text};
use std::ffi::CString;
use std::os::raw::c_void;

/// The full list of devices, never a change to it [R6].
pub struct Snapshot {
    raw: *mut raw::cage_snapshot,
    counters: *const raw::cage_snapshot_counters,
    policy: *const raw::cage_snapshot_policy,
    binding: *const raw::cage_snapshot_binding,
    not_offered: *const raw::cage_snapshot_not_offered,
}

fn raw_quantities<N: AsRef<str>>(quantities: &[(N, Quantity)]) -> Vec<raw::cage_quantity> {
    quantities.iter().map(|(name, quantity)| quantity.to_raw(name.as_ref())).collect()
}

fn extension(raw: *mut raw::cage_snapshot, id: &str) -> *const c_void {
    let id = CString::new(id).expect("a constant without a zero byte");
    unsafe { (*raw).extension.map_or(std::ptr::null(), |extension| extension(raw, id.as_ptr())) }
}

impl Snapshot {
    pub(crate) fn new(raw: *mut raw::cage_snapshot) -> Snapshot {
        let counters = extension(raw, raw::CAGE_SNAPSHOT_COUNTERS) as *const raw::cage_snapshot_counters;
        let policy = extension(raw, raw::CAGE_SNAPSHOT_POLICY) as *const raw::cage_snapshot_policy;
        let binding = extension(raw, raw::CAGE_SNAPSHOT_BINDING) as *const raw::cage_snapshot_binding;
        let not_offered = extension(raw, raw::CAGE_SNAPSHOT_NOT_OFFERED) as *const raw::cage_snapshot_not_offered;
        Snapshot { raw, counters, policy, binding, not_offered }
    }

    /// Returns false if the host refused this device and logged why; the other devices still count.
    pub fn add(&mut self, device: &Device) -> bool {
        let attributes = Attributes::of(&device.attributes);
        let capacity = raw_quantities(&device.capacity);
        let health = device.health.as_ref().map(|health| health.to_raw(&device.id));
        let raw = raw::cage_device {
            struct_size: std::mem::size_of::<raw::cage_device>() as u32,
            flags: if device.shared { raw::CAGE_DEVICE_SHARED } else { 0 },
            id: text::to_raw(&device.id),
            kind: text::to_raw(&device.kind),
            parent_id: text::to_raw(&device.parent),
            pci_bus_id: text::to_raw(&device.pci),
            numa_nodes: text::first(&device.numa),
            numa_count: device.numa.len() as u32,
            attrs: text::first(&attributes.raw),
            attr_count: attributes.raw.len() as u32,
            capacity: text::first(&capacity),
            capacity_count: capacity.len() as u32,
            health: health.as_ref().map_or(std::ptr::null(), |health| health),
            name: text::to_raw(&device.name),
            ..Default::default()
        };
        unsafe { (*self.raw).device.map_or(false, |add| add(self.raw, &raw) == raw::CAGE_OK) }
    }

    /// Partitions of one device share counters (KEP-4815). Without counters the same hardware would be allocated twice.
    pub fn has_counters(&self) -> bool {
        !self.counters.is_null()
    }
    /// Defines a set of counters and their amounts.
    pub fn counter_set(&mut self, set: &str, amounts: &[(&str, Quantity)]) -> Result {
        let list = raw_quantities(amounts);
        let function = self.counters()?.set.ok_or_else(no_counters)?;
        text::must(unsafe { function(self.raw, text::to_raw(set), text::first(&list), list.len() as u32) })
    }
    /// The amounts that the device takes of a set's counters.
    pub fn consumes(&mut self, device: &str, set: &str, amounts: &[(&str, Quantity)]) -> Result {
        let list = raw_quantities(amounts);
        let function = self.counters()?.consumes.ok_or_else(no_counters)?;
        let (device, set) = (text::to_raw(device), text::to_raw(set));
        text::must(unsafe { function(self.raw, device, set, text::first(&list), list.len() as u32) })
    }

    /// Claims share a device in amounts (KEP-5075). Without policies a request consumes the amount that it names, or
    /// the whole capacity.
    pub fn has_policies(&self) -> bool {
        !self.policy.is_null()
    }
    /// Sets the amounts that claims may consume of a capacity of a shared device. The host leaves the device out if
    /// this fails, and if Kubernetes would refuse the policy.
    pub fn policy(&mut self, device: &str, capacity: &str, policy: &RequestPolicy) -> Result {
        let family = unsafe { self.policy.as_ref() }.ok_or_else(no_policies)?;
        let function = family.set.ok_or_else(no_policies)?;
        let unnamed = |quantity: &Quantity| quantity.to_raw("");
        let values: Vec<raw::cage_quantity> = policy.values.iter().map(unnamed).collect();
        let default = unnamed(&policy.default);
        let [min, max, step] = [policy.min, policy.max, policy.step].map(|part| part.as_ref().map(unnamed));
        let optional =
            |part: &Option<raw::cage_quantity>| part.as_ref().map_or(std::ptr::null(), |raw| raw as *const _);
        let raw = raw::cage_request_policy {
            struct_size: std::mem::size_of::<raw::cage_request_policy>() as u32,
            value_count: values.len() as u32,
            default_amount: &default,
            values: text::first(&values),
            min: optional(&min),
            max: optional(&max),
            step: optional(&step),
        };
        text::must(unsafe { function(self.raw, text::to_raw(device), text::to_raw(capacity), &raw) })
    }

    /// Pods wait until `Module::BIND` has made the device ready [R25]. The host leaves the device out if this fails, and if
    /// Kubernetes would refuse the conditions.
    pub fn has_bindings(&self) -> bool {
        !self.binding.is_null()
    }
    /// The conditions that pods wait for before they get the device.
    pub fn binding(&mut self, device: &str, binding: &Binding) -> Result {
        let family = unsafe { self.binding.as_ref() }.ok_or_else(no_bindings)?;
        let function = family.set.ok_or_else(no_bindings)?;
        let (conditions, failures) = (text::to_raw_list(&binding.conditions), text::to_raw_list(&binding.failures));
        let raw = raw::cage_binding {
            struct_size: std::mem::size_of::<raw::cage_binding>() as u32,
            flags: if binding.to_node { raw::CAGE_BINDING_TO_NODE } else { 0 },
            conditions: text::first(&conditions),
            failures: text::first(&failures),
            condition_count: conditions.len() as u32,
            failure_count: failures.len() as u32,
        };
        text::must(unsafe { function(self.raw, text::to_raw(device), &raw) })
    }

    /// Tells operators why hardware that was found is not a device. An older host is not told.
    pub fn not_offered(&mut self, name: &str, reason: &str) {
        if let Some(add) = unsafe { self.not_offered.as_ref() }.and_then(|family| family.add) {
            unsafe { add(self.raw, text::to_raw(name), text::to_raw(reason)) };
        }
    }

    fn counters(&self) -> Result<&raw::cage_snapshot_counters> {
        unsafe { self.counters.as_ref() }.ok_or_else(no_counters)
    }
}

fn no_counters() -> Error {
    Error::new(Status::Unimplemented, "partitions need a host with cage.snapshot.counters/1")
}

fn no_policies() -> Error {
    Error::new(Status::Unimplemented, "request policies need a host with cage.snapshot.policy/1")
}

fn no_bindings() -> Error {
    Error::new(Status::Unimplemented, "binding conditions need a host with cage.snapshot.binding/1")
}
