// SPDX-License-Identifier: Apache-2.0

use crate::claim::Allocation;
use crate::device::Attributes;
use crate::error::{Error, Result, Status};
use crate::statement::{Condition, Description, NetworkData};
use crate::{raw, text};
use std::ffi::CString;
use std::mem::size_of;
use std::os::raw::c_void;

/// `DeviceNode { path: "/dev/acme0".into(), ..Default::default() }`
#[derive(Clone, Debug, Default)]
pub struct DeviceNode {
    /// In the container.
    pub path: String,
    /// Empty = `path`.
    pub host_path: String,
    /// Letters of "rwm"; empty = the runtime's default.
    pub permissions: String,
    /// "c", "b", "p"; empty = the runtime looks it up.
    pub kind: String,
    /// `None` = the runtime looks it up.
    pub numbers: Option<(i64, i64)>,
    /// `None` = unchanged.
    pub uid: Option<u32>,
    /// `None` = unchanged.
    pub gid: Option<u32>,
    /// 0 = as on the host.
    pub mode: u32,
}

/// `Mount { host_path: "/opt/acme".into(), container_path: "/opt/acme".into(), ..Default::default() }`
#[derive(Clone, Debug, Default)]
pub struct Mount {
    /// On the node.
    pub host_path: String,
    /// In the container.
    pub container_path: String,
    /// Options of the mount: "ro", "nosuid".
    pub options: Vec<String>,
    /// The type of the file system; empty = a bind mount.
    pub kind: String,
}

/// A program that the container runtime runs at a point in the life of the container.
#[derive(Clone, Debug, Default)]
pub struct Hook {
    /// "createContainer", ...
    pub name: String,
    /// The program, on the node.
    pub path: String,
    /// Its arguments, the first of which is its own name.
    pub args: Vec<String>,
    /// Its variables, "NAME=value".
    pub env: Vec<String>,
    /// Seconds until the runtime kills it; 0 = no limit.
    pub timeout_s: i32,
}

fn raw_bytes(bytes: &[u8]) -> raw::cage_bytes {
    raw::cage_bytes { data: bytes.as_ptr() as *const c_void, size: bytes.len() }
}

/// Null if the host does not offer it.
unsafe fn family(edits: *mut raw::cage_edits, id: &str) -> *const c_void {
    let id = CString::new(id).expect("a constant without a zero byte");
    (*edits).extension.map_or(std::ptr::null(), |extension| extension(edits, id.as_ptr()))
}

/// The edits to containers of the claim.
///
/// ```
/// # use cardcage::*;
/// fn prepare(claim: &Claim, edits: &mut Edits) -> Result {
///     edits.of_claim().env("ACME_DRIVER", "2.1")?;
///     for card in claim.allocations() {
///         let fast = card.params()?.boolean("fast");
///         let node = DeviceNode { path: format!("/dev/{}", card.device()), ..Default::default() };
///         edits.of(&card).device_node(&node)?.env_list("ACME_CARDS", card.device())?;
///         edits.save(if fast { b"fast" } else { b"slow" })?;
///     }
///     Ok(())
/// }
/// ```
pub struct Edits {
    raw: *mut raw::cage_edits,
    journal: *const raw::cage_edits_journal,
}

impl Edits {
    pub(crate) fn new(raw: *mut raw::cage_edits) -> Edits {
        let journal = unsafe { family(raw, raw::CAGE_EDITS_JOURNAL) };
        Edits { raw, journal: journal as *const raw::cage_edits_journal }
    }
    /// Edits for containers that get this device.
    pub fn of(&mut self, allocation: &Allocation<'_>) -> Edit<'_> {
        Edit { sink: self, index: allocation.index }
    }
    /// Edits for every container of the claim.
    pub fn of_claim(&mut self) -> Edit<'_> {
        Edit { sink: self, index: -1 }
    }
    /// Saves the state that `unprepare` will need, at most 64 KiB; the last call counts [R7].
    pub fn save(&mut self, state: &[u8]) -> Result {
        let blob = raw_bytes(state);
        self.call(unsafe { (*self.raw).state }, |state, sink| unsafe { state(sink, blob) })
    }
    /// Records how to undo a change, before the hardware is changed: `Claim::journal` of the next `prepare` or
    /// `unprepare` has it even if this process dies meanwhile. At most 64 KiB; the last call counts [R7].
    pub fn journal(&mut self, notes: &[u8]) -> Result {
        let write = unsafe { self.journal.as_ref() }
            .and_then(|journal| journal.write)
            .ok_or_else(|| Error::new(Status::Unimplemented, "a journal needs a host with cage.edits.journal/1"))?;
        text::must(unsafe { write(self.raw, raw_bytes(notes)) })
    }
    /// Whether the host keeps a journal.
    pub fn has_journal(&self) -> bool {
        !self.journal.is_null()
    }

    fn call<F>(
        &mut self,
        function: Option<F>,
        run: impl FnOnce(F, *mut raw::cage_edits) -> raw::cage_status,
    ) -> Result {
        text::must(function.map_or(raw::CAGE_UNIMPLEMENTED, |function| run(function, self.raw)))
    }
}

/// The edits of one device, or of every container of the claim. They chain, and fail if the host refuses one:
/// `edits.of(card).device_node(&node)?.env("MODE", "fast")?;`
pub struct Edit<'a> {
    sink: &'a mut Edits,
    index: i32,
}

impl<'a> Edit<'a> {
    /// Sets an environment variable.
    pub fn env(self, name: &str, value: &str) -> Result<Edit<'a>> {
        let (index, name, value) = (self.index, text::to_raw(name), text::to_raw(value));
        self.sink.call(unsafe { (*self.sink.raw).env }, |env, sink| unsafe { env(sink, index, name, value) })?;
        Ok(self)
    }
    /// A variable with the values of all devices of the claim, joined by ','; with the device-plugin API, of the
    /// container's devices. JSON objects become one with the members of all. A host older than 0.3 passes the value of
    /// one.
    pub fn env_list(self, name: &str, value: &str) -> Result<Edit<'a>> {
        let add = match unsafe { has!(self.sink.raw, env_list).then(|| (*self.sink.raw).env_list).flatten() } {
            Some(add) => add,
            None => return self.env(name, value),
        };
        let (index, name, value) = (self.index, text::to_raw(name), text::to_raw(value));
        text::must(unsafe { add(self.sink.raw, index, name, value) })?;
        Ok(self)
    }
    /// Adds a device node.
    pub fn device_node(self, node: &DeviceNode) -> Result<Edit<'a>> {
        let (major, minor) = node.numbers.unwrap_or((-1, -1));
        let raw = raw::cage_device_node {
            struct_size: size_of::<raw::cage_device_node>() as u32,
            mode: node.mode,
            path: text::to_raw(&node.path),
            host_path: text::to_raw(&node.host_path),
            permissions: text::to_raw(&node.permissions),
            type_: text::to_raw(&node.kind),
            major,
            minor,
            uid: node.uid.map_or(-1, i64::from),
            gid: node.gid.map_or(-1, i64::from),
            ..Default::default()
        };
        let index = self.index;
        self.sink.call(unsafe { (*self.sink.raw).device_node }, |add, sink| unsafe { add(sink, index, &raw) })?;
        Ok(self)
    }
    /// Mounts a file or folder of the node.
    pub fn mount(self, mount: &Mount) -> Result<Edit<'a>> {
        let options = text::to_raw_list(&mount.options);
        let raw = raw::cage_mount {
            struct_size: size_of::<raw::cage_mount>() as u32,
            option_count: options.len() as u32,
            host_path: text::to_raw(&mount.host_path),
            container_path: text::to_raw(&mount.container_path),
            type_: text::to_raw(&mount.kind),
            options: text::first(&options),
            ..Default::default()
        };
        let index = self.index;
        self.sink.call(unsafe { (*self.sink.raw).mount }, |add, sink| unsafe { add(sink, index, &raw) })?;
        Ok(self)
    }
    /// Runs a program at a point in the life of the container.
    pub fn hook(self, hook: &Hook) -> Result<Edit<'a>> {
        let (args, env) = (text::to_raw_list(&hook.args), text::to_raw_list(&hook.env));
        let raw = raw::cage_hook {
            struct_size: size_of::<raw::cage_hook>() as u32,
            timeout_s: hook.timeout_s,
            name: text::to_raw(&hook.name),
            path: text::to_raw(&hook.path),
            args: text::first(&args),
            env: text::first(&env),
            arg_count: args.len() as u32,
            env_count: env.len() as u32,
            ..Default::default()
        };
        let index = self.index;
        self.sink.call(unsafe { (*self.sink.raw).hook }, |add, sink| unsafe { add(sink, index, &raw) })?;
        Ok(self)
    }
    /// Moves an interface of the node into the container's network, under this name.
    pub fn net_device(self, host_interface: &str, name: &str) -> Result<Edit<'a>> {
        let raw = raw::cage_net_device {
            struct_size: size_of::<raw::cage_net_device>() as u32,
            host_interface: text::to_raw(host_interface),
            name: text::to_raw(name),
            ..Default::default()
        };
        let index = self.index;
        self.sink.call(unsafe { (*self.sink.raw).net_device }, |add, sink| unsafe { add(sink, index, &raw) })?;
        Ok(self)
    }
    /// Adds a group to the container's processes.
    pub fn group(self, gid: u32) -> Result<Edit<'a>> {
        let index = self.index;
        self.sink.call(unsafe { (*self.sink.raw).group }, |add, sink| unsafe { add(sink, index, gid) })?;
        Ok(self)
    }
    /// The container may lock at least so much memory, as RDMA and VFIO do; `u64::MAX`: without a limit. A host without
    /// this function leaves the limit as it is.
    pub fn locked_memory(self, bytes: u64) -> Result<Edit<'a>> {
        let add = unsafe { has!(self.sink.raw, locked_memory).then(|| (*self.sink.raw).locked_memory).flatten() };
        if let Some(add) = add {
            text::must(unsafe { add(self.sink.raw, self.index, bytes) })?;
        }
        Ok(self)
    }
    /// Programs find the libraries that are mounted in this folder of the container, as if ldconfig(8) had run there.
    /// With `newer_than`, such as "libcuda.so.580", those that the image has in the folder go before the mounted ones,
    /// if its libcuda.so.VERSION is newer. A host without this function leaves the image's cache as it is.
    pub fn ld_path(self, folder: &str, newer_than: &str) -> Result<Edit<'a>> {
        let add = unsafe { has!(self.sink.raw, ld_path).then(|| (*self.sink.raw).ld_path).flatten() };
        if let Some(add) = add {
            let (folder, newer_than) = (text::to_raw(folder), text::to_raw(newer_than));
            text::must(unsafe { add(self.sink.raw, self.index, folder, newer_than) })?;
        }
        Ok(self)
    }
    /// Replaces the text of a file below /proc for containers. A host without this function shows the node's.
    pub fn proc_text(self, path: &str, text: &str) -> Result<Edit<'a>> {
        let add = unsafe { has!(self.sink.raw, proc_text).then(|| (*self.sink.raw).proc_text).flatten() };
        if let Some(add) = add {
            let (path, text) = (text::to_raw(path), text::to_raw(text));
            text::must(unsafe { add(self.sink.raw, self.index, path, text) })?;
        }
        Ok(self)
    }

    /// States a part of this device's entry in the claim's status, which users see (KEP-4817). The last call counts,
    /// for `condition` that of each type. A host without cage.edits.status, older than 0.3, leaves it out.
    pub fn condition(self, condition: &Condition) -> Result<Edit<'a>> {
        let (index, raw) = (self.index, condition.to_raw());
        self.state(|family, sink| family.condition.map(|state| unsafe { state(sink, index, &raw) }))
    }
    /// A JSON object of at most 10 KiB.
    pub fn data(self, json: &str) -> Result<Edit<'a>> {
        let (index, json) = (self.index, text::to_raw(json));
        self.state(|family, sink| family.data.map(|state| unsafe { state(sink, index, json) }))
    }
    /// The addresses of the device in the pod's network.
    pub fn network(self, network: &NetworkData) -> Result<Edit<'a>> {
        let ips = text::to_raw_list(&network.ips);
        let raw = raw::cage_network_data {
            struct_size: size_of::<raw::cage_network_data>() as u32,
            ip_count: ips.len() as u32,
            interface_name: text::to_raw(&network.interface_name),
            hardware_address: text::to_raw(&network.hardware_address),
            ips: text::first(&ips),
        };
        let index = self.index;
        self.state(|family, sink| family.network.map(|state| unsafe { state(sink, index, &raw) }))
    }
    /// Containers with the device get a file that describes it (KEP-5304). A host without cage.edits.metadata, older
    /// than 0.3, leaves it out.
    pub fn describe(self, description: &Description) -> Result<Edit<'a>> {
        let attributes = Attributes::of(&description.attributes);
        let (index, count) = (self.index, attributes.raw.len() as u32);
        let family = unsafe { family(self.sink.raw, raw::CAGE_EDITS_METADATA) as *const raw::cage_edits_metadata };
        if let Some(describe) = unsafe { family.as_ref() }.and_then(|family| family.describe) {
            text::must(unsafe { describe(self.sink.raw, index, text::first(&attributes.raw), count) })?;
        }
        Ok(self)
    }

    fn state(
        self,
        run: impl FnOnce(&raw::cage_edits_status, *mut raw::cage_edits) -> Option<raw::cage_status>,
    ) -> Result<Edit<'a>> {
        let family = unsafe { family(self.sink.raw, raw::CAGE_EDITS_STATUS) as *const raw::cage_edits_status };
        if let Some(status) = unsafe { family.as_ref() }.and_then(|family| run(family, self.sink.raw)) {
            text::must(status)?;
        }
        Ok(self)
    }
}
