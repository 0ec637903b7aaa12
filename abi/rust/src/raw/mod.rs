// SPDX-License-Identifier: Apache-2.0
//! `cardcage/module.h` and `cardcage/ext` in Rust: the same names, types and numbers. The headers document them.
//! Structs have the size that they have in this version of the headers; read a member of the host's only if the
//! host's `struct_size` covers it [R2].
#![allow(non_camel_case_types)]

mod binding;
mod calls;
mod claims;
mod devices;
mod edits;
mod module;
mod programs;
mod reports;
mod sandbox;
mod values;
mod watch;
mod writes;

pub use binding::*;
pub use calls::*;
pub use claims::*;
pub use devices::*;
pub use edits::*;
pub use module::*;
pub use programs::*;
pub use reports::*;
pub use sandbox::*;
pub use values::*;
pub use watch::*;
pub use writes::*;

pub type cage_status = i32;

/// The module's own, opaque to the host.
#[repr(C)]
pub struct cage_instance {
    _opaque: [u8; 0],
}

/// Zero bytes are a valid value of each struct: no text, no list, no function.
macro_rules! zero_by_default {
    ($($name:ident)*) => { $(impl Default for $name {
        fn default() -> Self {
            // SAFETY: integers, raw pointers and `Option`s of function pointers may all be zero.
            unsafe { std::mem::zeroed() }
        }
    })* };
}
zero_by_default!(cage_catalogue_entry cage_device cage_device_node cage_health cage_hook cage_mount cage_net_device);

pub const CAGE_ABI_MAJOR: u32 = 0;
pub const CAGE_ABI_MINOR: u32 = 3;
pub const CAGE_MAGIC: u32 = 0x45474143;
pub const CAGE_ENTRY: &str = "cage_module_v0";
pub const CAGE_EXT_BIND: &str = "cage.bind/1";
pub const CAGE_EXT_SANDBOX: &str = "cage.sandbox/1";
pub const CAGE_EXT_CATALOGUE: &str = "cage.catalogue/1";
pub const CAGE_EXT_CONFIGURE: &str = "cage.configure/1";
pub const CAGE_EXT_LABELS: &str = "cage.labels/1";
pub const CAGE_EXT_METRICS: &str = "cage.metrics/1";
pub const CAGE_EXT_PREFERRED: &str = "cage.preferred/1";
pub const CAGE_EXT_PRE_START: &str = "cage.pre_start/1";
pub const CAGE_EXT_QUIESCE: &str = "cage.quiesce/1";
pub const CAGE_EXT_RECONCILE: &str = "cage.reconcile/1";
pub const CAGE_EXT_RESET: &str = "cage.reset/1";
pub const CAGE_EXT_WATCH: &str = "cage.watch/1";
pub const CAGE_HOST_EXEC: &str = "cage.exec/1";
pub const CAGE_HOST_SERVICE: &str = "cage.service/1";
pub const CAGE_HOST_POLL: &str = "cage.poll/1";
pub const CAGE_HOST_WRITE: &str = "cage.write/1";
pub const CAGE_EDITS_JOURNAL: &str = "cage.edits.journal/1";
pub const CAGE_EDITS_METADATA: &str = "cage.edits.metadata/1";
pub const CAGE_EDITS_STATUS: &str = "cage.edits.status/1";
pub const CAGE_SNAPSHOT_BINDING: &str = "cage.snapshot.binding/1";
pub const CAGE_SNAPSHOT_COUNTERS: &str = "cage.snapshot.counters/1";
pub const CAGE_SNAPSHOT_NOT_OFFERED: &str = "cage.snapshot.not_offered/1";
pub const CAGE_SNAPSHOT_POLICY: &str = "cage.snapshot.policy/1";

pub const CAGE_OK: cage_status = 0;
pub const CAGE_CANCELLED: cage_status = 1;
pub const CAGE_UNKNOWN: cage_status = 2;
pub const CAGE_INVALID_ARGUMENT: cage_status = 3;
pub const CAGE_DEADLINE_EXCEEDED: cage_status = 4;
pub const CAGE_NOT_FOUND: cage_status = 5;
pub const CAGE_ALREADY_EXISTS: cage_status = 6;
pub const CAGE_PERMISSION_DENIED: cage_status = 7;
pub const CAGE_RESOURCE_EXHAUSTED: cage_status = 8;
pub const CAGE_FAILED_PRECONDITION: cage_status = 9;
pub const CAGE_ABORTED: cage_status = 10;
pub const CAGE_OUT_OF_RANGE: cage_status = 11;
pub const CAGE_UNIMPLEMENTED: cage_status = 12;
pub const CAGE_INTERNAL: cage_status = 13;
pub const CAGE_UNAVAILABLE: cage_status = 14;
pub const CAGE_DATA_LOSS: cage_status = 15;

pub const CAGE_ALLOC_ADMIN: u32 = 1 << 0;

pub const CAGE_ATTR_INT: u32 = 1;
pub const CAGE_ATTR_BOOL: u32 = 2;
pub const CAGE_ATTR_STRING: u32 = 3;
pub const CAGE_ATTR_VERSION: u32 = 4;
pub const CAGE_ATTR_LIST: u32 = 0x100;

pub const CAGE_BINDING_TO_NODE: u32 = 1 << 0;

pub const CAGE_CAUSE_EVENT: u32 = 1 << 0;
pub const CAGE_CAUSE_ABOVE: u32 = 1 << 1;
pub const CAGE_CAUSE_BELOW: u32 = 1 << 2;

pub const CAGE_CLAIM_OTHER_BOOT: u32 = 1 << 0;

pub const CAGE_COMMAND_TIMED_OUT: u32 = 1 << 0;
pub const CAGE_COMMAND_CUT: u32 = 1 << 1;

pub const CAGE_CONDITION_FALSE: u32 = 0;
pub const CAGE_CONDITION_TRUE: u32 = 1;
pub const CAGE_CONDITION_UNKNOWN: u32 = 2;

pub const CAGE_DEVICE_SHARED: u32 = 1 << 0;

pub const CAGE_ENTRY_REFUSED: u32 = 1 << 0;

pub const CAGE_EVENT_KERNEL_LOG: u32 = 1;
pub const CAGE_EVENT_UEVENT: u32 = 2;
pub const CAGE_EVENT_DESCRIPTOR: u32 = 3;
pub const CAGE_EVENTS_LOST: u32 = 1 << 0;

pub const CAGE_HEALTH_UNKNOWN: u32 = 0;
pub const CAGE_HEALTH_OK: u32 = 1;
pub const CAGE_HEALTH_BAD: u32 = 2;
pub const CAGE_HEALTH_UNMONITORED: u32 = 3;
pub const CAGE_HEALTH_DEGRADED: u32 = 4;

pub const CAGE_IOCTL_EXCLUSIVE: u32 = 1 << 0;

pub const CAGE_LOG_TRACE: u32 = 0;
pub const CAGE_LOG_DEBUG: u32 = 1;
pub const CAGE_LOG_INFO: u32 = 2;
pub const CAGE_LOG_WARN: u32 = 3;
pub const CAGE_LOG_ERROR: u32 = 4;

pub const CAGE_METRIC_GAUGE: u32 = 1;
pub const CAGE_METRIC_COUNTER: u32 = 2;

pub const CAGE_MODULE_UNLOADABLE: u32 = 1 << 0;
pub const CAGE_MODULE_PROCESS_ONLY: u32 = 1 << 1;
pub const CAGE_MODULE_CONCURRENT: u32 = 1 << 2;
pub const CAGE_MODULE_NO_PREPARE: u32 = 1 << 3;

pub const CAGE_OPTION_REQUIRED: u32 = 1 << 0;
pub const CAGE_OPTION_STRING: u32 = 1;
pub const CAGE_OPTION_INT: u32 = 2;
pub const CAGE_OPTION_SECRET: u32 = 1 << 1;
pub const CAGE_OPTION_BOOL: u32 = 3;
pub const CAGE_OPTION_DURATION: u32 = 4;
pub const CAGE_OPTION_LIVE: u32 = 1 << 2;
pub const CAGE_OPTION_LIST: u32 = 5;
pub const CAGE_OPTION_MAP: u32 = 6;
pub const CAGE_OPTION_CLASS_ONLY: u32 = 1 << 3;
pub const CAGE_OPTION_QUANTITY: u32 = 1 << 4;
pub const CAGE_OPTION_OBJECTS: u32 = 1 << 5;

pub const CAGE_SCHEMA_WHOLE: u32 = 1 << 0;
pub const CAGE_SCHEMA_DEFAULT: u32 = 1 << 1;

pub const CAGE_PARAMS_CLASS: u32 = 0;
pub const CAGE_PARAMS_CLAIM: u32 = 1;

pub const CAGE_QTY_DECIMAL: u32 = 0;
pub const CAGE_QTY_BINARY: u32 = 1;

pub const CAGE_RECOVERY_REPORT: u32 = 0;
pub const CAGE_RECOVERY_SILENCE: u32 = 1;
pub const CAGE_RECOVERY_STABLE: u32 = 2;
pub const CAGE_RECOVERY_OPERATOR: u32 = 3;

pub const CAGE_TAINT_NONE: u32 = 0;
pub const CAGE_TAINT_NO_SCHEDULE: u32 = 1;
pub const CAGE_TAINT_NO_EXECUTE: u32 = 2;
pub const CAGE_TAINT_INFORM: u32 = 3;
