// SPDX-License-Identifier: Apache-2.0
// Made from the headers by `tests/abi/rust_bindings.py --update`.

pub const CAGE_ABI_MAJOR: u32 = 1;
pub const CAGE_ABI_MINOR: u32 = 0;
pub const CAGE_MAGIC: u32 = 1162297667;
pub const CAGE_ENTRY: &str = "cage_module_v1";
pub const CAGE_EXT_BIND: &str = "cage.bind/1";
pub const CAGE_SNAPSHOT_BINDING: &str = "cage.snapshot.binding/1";
pub const CAGE_EXT_CATALOGUE: &str = "cage.catalogue/1";
pub const CAGE_EXT_CONFIGURE: &str = "cage.configure/1";
pub const CAGE_SNAPSHOT_COUNTERS: &str = "cage.snapshot.counters/1";
pub const CAGE_HOST_EXEC: &str = "cage.exec/1";
pub const CAGE_EDITS_JOURNAL: &str = "cage.edits.journal/1";
pub const CAGE_EXT_LABELS: &str = "cage.labels/1";
pub const CAGE_EDITS_METADATA: &str = "cage.edits.metadata/1";
pub const CAGE_EXT_METRICS: &str = "cage.metrics/1";
pub const CAGE_SNAPSHOT_NOT_OFFERED: &str = "cage.snapshot.not_offered/1";
pub const CAGE_SNAPSHOT_POLICY: &str = "cage.snapshot.policy/1";
pub const CAGE_HOST_POLL: &str = "cage.poll/1";
pub const CAGE_EXT_PRE_START: &str = "cage.pre_start/1";
pub const CAGE_EXT_PREFERRED: &str = "cage.preferred/1";
pub const CAGE_EXT_QUIESCE: &str = "cage.quiesce/1";
pub const CAGE_EXT_RECONCILE: &str = "cage.reconcile/1";
pub const CAGE_EXT_RESET: &str = "cage.reset/1";
pub const CAGE_EXT_SANDBOX: &str = "cage.sandbox/1";
pub const CAGE_HOST_SERVICE: &str = "cage.service/1";
pub const CAGE_EDITS_STATUS: &str = "cage.edits.status/1";
pub const CAGE_EXT_WATCH: &str = "cage.watch/1";
pub const CAGE_HOST_WRITE: &str = "cage.write/1";
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_str {
    pub data: *const std::os::raw::c_char,
    pub size: usize,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_bytes {
    pub data: *const std::os::raw::c_void,
    pub size: usize,
}
pub type cage_status = i32;
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
pub const CAGE_UNAUTHENTICATED: cage_status = 16;
pub const CAGE_ATTR_INT: u32 = 1;
pub const CAGE_ATTR_BOOL: u32 = 2;
pub const CAGE_ATTR_STRING: u32 = 3;
pub const CAGE_ATTR_VERSION: u32 = 4;
pub const CAGE_ATTR_LIST: u32 = 256;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_attr {
    pub name: cage_str,
    pub type_: u32,
    pub count: u32,
    pub v: cage_attr__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union cage_attr__bindgen_ty_1 {
    pub i: i64,
    pub s: cage_str,
    pub ints: *const i64,
    pub strs: *const cage_str,
}
pub const CAGE_QTY_DECIMAL: u32 = 0;
pub const CAGE_QTY_BINARY: u32 = 1;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_quantity {
    pub name: cage_str,
    pub value: i64,
    pub exp10: i32,
    pub format: u32,
}
pub const CAGE_OPTION_STRING: u32 = 1;
pub const CAGE_OPTION_INT: u32 = 2;
pub const CAGE_OPTION_BOOL: u32 = 3;
pub const CAGE_OPTION_DURATION: u32 = 4;
pub const CAGE_OPTION_LIST: u32 = 5;
pub const CAGE_OPTION_MAP: u32 = 6;
pub const CAGE_OPTION_REQUIRED: u32 = 1;
pub const CAGE_OPTION_SECRET: u32 = 2;
pub const CAGE_OPTION_LIVE: u32 = 4;
pub const CAGE_OPTION_CLASS_ONLY: u32 = 8;
pub const CAGE_OPTION_QUANTITY: u32 = 16;
pub const CAGE_OPTION_OBJECTS: u32 = 32;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_option {
    pub struct_size: u32,
    pub type_: u32,
    pub flags: u32,
    pub choice_count: u32,
    pub name: cage_str,
    pub default_text: cage_str,
    pub help: cage_str,
    pub choices: *const cage_str,
    pub min: i64,
    pub max: i64,
}
pub const CAGE_SCHEMA_WHOLE: u32 = 1;
pub const CAGE_SCHEMA_DEFAULT: u32 = 2;
pub const CAGE_SCHEMA_RAW: u32 = 4;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_params_schema {
    pub struct_size: u32,
    pub field_count: u32,
    pub api_version: cage_str,
    pub kind: cage_str,
    pub fields: *const *const cage_option,
    pub device_kinds: *const cage_str,
    pub device_kind_count: u32,
    pub flags: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_values {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut std::os::raw::c_void,
    pub integer:
        ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_values, name: *const std::os::raw::c_char) -> i64>,
    pub boolean:
        ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_values, name: *const std::os::raw::c_char) -> i32>,
    pub string: ::std::option::Option<
        unsafe extern "C" fn(arg1: *const cage_values, name: *const std::os::raw::c_char) -> cage_str,
    >,
    pub list: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *const cage_values,
            name: *const std::os::raw::c_char,
            items: *mut *const cage_str,
        ) -> u32,
    >,
    pub given:
        ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_values, name: *const std::os::raw::c_char) -> i32>,
    pub map: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *const cage_values,
            name: *const std::os::raw::c_char,
            keys: *mut *const cage_str,
            values: *mut *const cage_str,
        ) -> u32,
    >,
    pub source:
        ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_values, name: *const std::os::raw::c_char) -> i32>,
    pub params_kind: cage_str,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_call {
    pub struct_size: u32,
    pub attempt: u32,
    pub host_data: *mut std::os::raw::c_void,
    pub id: cage_str,
    pub deadline_ns: u64,
    pub cancel_fd: i32,
    pub reserved: u32,
    pub cancelled: ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_call) -> i32>,
    pub explain: ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_call, text: cage_str)>,
    pub progress: ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_call, percent: u32, text: cage_str)>,
    pub explained: ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_call) -> cage_str>,
}
pub const CAGE_HEALTH_UNKNOWN: u32 = 0;
pub const CAGE_HEALTH_OK: u32 = 1;
pub const CAGE_HEALTH_BAD: u32 = 2;
pub const CAGE_HEALTH_UNMONITORED: u32 = 3;
pub const CAGE_HEALTH_DEGRADED: u32 = 4;
pub const CAGE_TAINT_NONE: u32 = 0;
pub const CAGE_TAINT_NO_SCHEDULE: u32 = 1;
pub const CAGE_TAINT_NO_EXECUTE: u32 = 2;
pub const CAGE_TAINT_INFORM: u32 = 3;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_health {
    pub struct_size: u32,
    pub state: u32,
    pub device_id: cage_str,
    pub reason: cage_str,
    pub message: cage_str,
    pub timeout_s: u32,
    pub taint: u32,
    pub cause: cage_str,
    pub taint_key: cage_str,
    pub taint_value: cage_str,
    pub value: f64,
    pub has_value: u32,
    pub reserved: u32,
}
pub const CAGE_CAUSE_EVENT: u32 = 1;
pub const CAGE_CAUSE_ABOVE: u32 = 2;
pub const CAGE_CAUSE_BELOW: u32 = 4;
pub const CAGE_RECOVERY_REPORT: u32 = 0;
pub const CAGE_RECOVERY_SILENCE: u32 = 1;
pub const CAGE_RECOVERY_STABLE: u32 = 2;
pub const CAGE_RECOVERY_OPERATOR: u32 = 3;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_cause {
    pub struct_size: u32,
    pub flags: u32,
    pub name: cage_str,
    pub help: cage_str,
    pub unit: cage_str,
    pub limit: f64,
    pub clear_limit: f64,
    pub severity: u32,
    pub hold_down_s: u32,
    pub recovery: u32,
    pub recovery_s: u32,
    pub relapses: u32,
    pub window_s: u32,
    pub taint: u32,
    pub reserved: u32,
    pub taint_key: cage_str,
    pub taint_value: cage_str,
}
pub const CAGE_LOG_TRACE: u32 = 0;
pub const CAGE_LOG_DEBUG: u32 = 1;
pub const CAGE_LOG_INFO: u32 = 2;
pub const CAGE_LOG_WARN: u32 = 3;
pub const CAGE_LOG_ERROR: u32 = 4;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_host {
    pub struct_size: u32,
    pub abi_minor: u32,
    pub host_data: *mut std::os::raw::c_void,
    pub version: cage_str,
    pub log_enabled: ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_host, level: u32) -> i32>,
    pub log: ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_host, level: u32, text: cage_str)>,
    pub rescan: ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_host)>,
    pub health: ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_host, arg2: *const cage_health)>,
    pub extension: ::std::option::Option<
        unsafe extern "C" fn(arg1: *const cage_host, id: *const std::os::raw::c_char) -> *const std::os::raw::c_void,
    >,
    pub sysfs: cage_str,
    pub procfs: cage_str,
    pub devfs: cage_str,
    pub driver_root: cage_str,
}
pub const CAGE_DEVICE_SHARED: u32 = 1;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_device {
    pub struct_size: u32,
    pub flags: u32,
    pub id: cage_str,
    pub kind: cage_str,
    pub parent_id: cage_str,
    pub pci_bus_id: cage_str,
    pub numa_nodes: *const i32,
    pub numa_count: u32,
    pub reserved0: u32,
    pub attrs: *const cage_attr,
    pub attr_count: u32,
    pub reserved1: u32,
    pub capacity: *const cage_quantity,
    pub capacity_count: u32,
    pub reserved2: u32,
    pub health: *const cage_health,
    pub name: cage_str,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_snapshot {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut std::os::raw::c_void,
    pub device:
        ::std::option::Option<unsafe extern "C" fn(arg1: *mut cage_snapshot, arg2: *const cage_device) -> cage_status>,
    pub extension: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_snapshot, id: *const std::os::raw::c_char) -> *const std::os::raw::c_void,
    >,
}
pub const CAGE_ALLOC_ADMIN: u32 = 1;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_alloc {
    pub struct_size: u32,
    pub flags: u32,
    pub device_id: cage_str,
    pub request: cage_str,
    pub share_id: cage_str,
    pub consumed: *const cage_quantity,
    pub consumed_count: u32,
    pub reserved: u32,
    pub values: *const cage_values,
}
pub const CAGE_PARAMS_CLASS: u32 = 0;
pub const CAGE_PARAMS_CLAIM: u32 = 1;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_params {
    pub struct_size: u32,
    pub source: u32,
    pub json: cage_str,
    pub requests: *const cage_str,
    pub request_count: u32,
    pub reserved: u32,
}
pub const CAGE_CLAIM_OTHER_BOOT: u32 = 1;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_claim {
    pub struct_size: u32,
    pub state_version: u32,
    pub uid: cage_str,
    pub name_space: cage_str,
    pub name: cage_str,
    pub allocs: *const *const cage_alloc,
    pub alloc_count: u32,
    pub flags: u32,
    pub params: *const *const cage_params,
    pub params_count: u32,
    pub reserved: u32,
    pub state: cage_bytes,
    pub journal: cage_bytes,
    pub resource: cage_str,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_device_node {
    pub struct_size: u32,
    pub mode: u32,
    pub path: cage_str,
    pub host_path: cage_str,
    pub permissions: cage_str,
    pub type_: cage_str,
    pub major: i64,
    pub minor: i64,
    pub uid: i64,
    pub gid: i64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_mount {
    pub struct_size: u32,
    pub option_count: u32,
    pub host_path: cage_str,
    pub container_path: cage_str,
    pub type_: cage_str,
    pub options: *const cage_str,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_hook {
    pub struct_size: u32,
    pub timeout_s: i32,
    pub name: cage_str,
    pub path: cage_str,
    pub args: *const cage_str,
    pub env: *const cage_str,
    pub arg_count: u32,
    pub env_count: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_net_device {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_interface: cage_str,
    pub name: cage_str,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_edits {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut std::os::raw::c_void,
    pub env: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, key: cage_str, value: cage_str) -> cage_status,
    >,
    pub device_node: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, arg2: *const cage_device_node) -> cage_status,
    >,
    pub mount: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, arg2: *const cage_mount) -> cage_status,
    >,
    pub hook: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, arg2: *const cage_hook) -> cage_status,
    >,
    pub net_device: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, arg2: *const cage_net_device) -> cage_status,
    >,
    pub group: ::std::option::Option<unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, gid: u32) -> cage_status>,
    pub state: ::std::option::Option<unsafe extern "C" fn(arg1: *mut cage_edits, blob: cage_bytes) -> cage_status>,
    pub extension: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_edits, id: *const std::os::raw::c_char) -> *const std::os::raw::c_void,
    >,
    pub env_list: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, key: cage_str, value: cage_str) -> cage_status,
    >,
    pub locked_memory:
        ::std::option::Option<unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, bytes: u64) -> cage_status>,
    pub ld_path: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, folder: cage_str, newer_than: cage_str) -> cage_status,
    >,
    pub proc_text: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, path: cage_str, text: cage_str) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_instance {
    _unused: [u8; 0],
}
pub const CAGE_MODULE_UNLOADABLE: u32 = 1;
pub const CAGE_MODULE_PROCESS_ONLY: u32 = 2;
pub const CAGE_MODULE_CONCURRENT: u32 = 4;
pub const CAGE_MODULE_NO_PREPARE: u32 = 8;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_module {
    pub magic: u32,
    pub struct_size: u32,
    pub abi_minor: u32,
    pub min_host_minor: u32,
    pub flags: u32,
    pub state_version: u32,
    pub id: cage_str,
    pub version: cage_str,
    pub vendor: cage_str,
    pub options: *const *const cage_option,
    pub schemas: *const *const cage_params_schema,
    pub causes: *const *const cage_cause,
    pub needs: *const cage_str,
    pub option_count: u32,
    pub schema_count: u32,
    pub cause_count: u32,
    pub need_count: u32,
    pub claim_call_limit_s: u32,
    pub reserved: u32,
    pub create: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *const cage_call,
            arg2: *const cage_host,
            options: *const cage_values,
            out: *mut *mut cage_instance,
        ) -> cage_status,
    >,
    pub start:
        ::std::option::Option<unsafe extern "C" fn(arg1: *mut cage_instance, arg2: *const cage_call) -> cage_status>,
    pub discover: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_instance, arg2: *const cage_call, arg3: *mut cage_snapshot) -> cage_status,
    >,
    pub prepare: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_instance,
            arg2: *const cage_call,
            arg3: *const cage_claim,
            arg4: *mut cage_edits,
        ) -> cage_status,
    >,
    pub unprepare: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_instance, arg2: *const cage_call, arg3: *const cage_claim) -> cage_status,
    >,
    pub check: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_instance, arg2: *const cage_call, device_id: cage_str) -> cage_status,
    >,
    pub quiesce:
        ::std::option::Option<unsafe extern "C" fn(arg1: *mut cage_instance, arg2: *const cage_call) -> cage_status>,
    pub resume:
        ::std::option::Option<unsafe extern "C" fn(arg1: *mut cage_instance, arg2: *const cage_call) -> cage_status>,
    pub stop:
        ::std::option::Option<unsafe extern "C" fn(arg1: *mut cage_instance, arg2: *const cage_call) -> cage_status>,
    pub destroy: ::std::option::Option<unsafe extern "C" fn(arg1: *mut cage_instance)>,
    pub extension:
        ::std::option::Option<unsafe extern "C" fn(id: *const std::os::raw::c_char) -> *const std::os::raw::c_void>,
}
extern "C" {
    pub fn cage_module_v1(host_minor: u32) -> *const cage_module;
}
pub const CAGE_CONDITION_FALSE: u32 = 0;
pub const CAGE_CONDITION_TRUE: u32 = 1;
pub const CAGE_CONDITION_UNKNOWN: u32 = 2;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_condition {
    pub struct_size: u32,
    pub status: u32,
    pub type_: cage_str,
    pub reason: cage_str,
    pub message: cage_str,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_bind_sink {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut std::os::raw::c_void,
    pub condition: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_bind_sink, alloc: i32, arg2: *const cage_condition) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_bind {
    pub struct_size: u32,
    pub reserved: u32,
    pub bind: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_instance,
            arg2: *const cage_call,
            arg3: *const cage_claim,
            arg4: *mut cage_bind_sink,
        ) -> cage_status,
    >,
}
pub const CAGE_BINDING_TO_NODE: u32 = 1;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_binding {
    pub struct_size: u32,
    pub flags: u32,
    pub conditions: *const cage_str,
    pub failures: *const cage_str,
    pub condition_count: u32,
    pub failure_count: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_snapshot_binding {
    pub struct_size: u32,
    pub reserved: u32,
    pub set: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_snapshot, device_id: cage_str, arg2: *const cage_binding) -> cage_status,
    >,
}
pub const CAGE_CATALOGUE_REFUSED: u32 = 1;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_catalogue_entry {
    pub struct_size: u32,
    pub flags: u32,
    pub kind: cage_str,
    pub name: cage_str,
    pub detail: cage_str,
    pub attrs: *const cage_attr,
    pub attr_count: u32,
    pub reserved: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_catalogue_sink {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut std::os::raw::c_void,
    pub entry: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_catalogue_sink, arg2: *const cage_catalogue_entry) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_catalogue {
    pub struct_size: u32,
    pub reserved: u32,
    pub collect: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_instance,
            arg2: *const cage_call,
            arg3: *mut cage_catalogue_sink,
        ) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_configure {
    pub struct_size: u32,
    pub reserved: u32,
    pub configure: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_instance,
            arg2: *const cage_call,
            options: *const cage_values,
        ) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_snapshot_counters {
    pub struct_size: u32,
    pub reserved: u32,
    pub set: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_snapshot,
            set_name: cage_str,
            arg2: *const cage_quantity,
            count: u32,
        ) -> cage_status,
    >,
    pub consumes: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_snapshot,
            device_id: cage_str,
            set_name: cage_str,
            arg2: *const cage_quantity,
            count: u32,
        ) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_command {
    pub struct_size: u32,
    pub timeout_ms: u32,
    pub program: cage_str,
    pub args: *const cage_str,
    pub env: *const cage_str,
    pub arg_count: u32,
    pub env_count: u32,
    pub input: cage_bytes,
}
pub const CAGE_COMMAND_TIMED_OUT: u32 = 1;
pub const CAGE_COMMAND_CUT: u32 = 2;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_command_result {
    pub struct_size: u32,
    pub flags: u32,
    pub exit_status: i32,
    pub signal: i32,
    pub out: cage_bytes,
    pub err: cage_bytes,
}
pub type cage_command_ended =
    ::std::option::Option<unsafe extern "C" fn(user: *mut std::os::raw::c_void, arg1: *const cage_command_result)>;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_exec {
    pub struct_size: u32,
    pub reserved: u32,
    pub run: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *const cage_host,
            arg2: *const cage_call,
            arg3: *const cage_command,
            user: *mut std::os::raw::c_void,
            ended: cage_command_ended,
        ) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_edits_journal {
    pub struct_size: u32,
    pub reserved: u32,
    pub write: ::std::option::Option<unsafe extern "C" fn(arg1: *mut cage_edits, blob: cage_bytes) -> cage_status>,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_label_sink {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut std::os::raw::c_void,
    pub label: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_label_sink, name: cage_str, value: cage_str) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_labels {
    pub struct_size: u32,
    pub reserved: u32,
    pub collect: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_instance,
            arg2: *const cage_call,
            arg3: *mut cage_label_sink,
        ) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_edits_metadata {
    pub struct_size: u32,
    pub reserved: u32,
    pub describe: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, attrs: *const cage_attr, count: u32) -> cage_status,
    >,
}
pub const CAGE_METRIC_GAUGE: u32 = 1;
pub const CAGE_METRIC_COUNTER: u32 = 2;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_metric {
    pub struct_size: u32,
    pub type_: u32,
    pub name: cage_str,
    pub help: cage_str,
    pub labels: *const cage_str,
    pub label_count: u32,
    pub reserved: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_metrics_sink {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut std::os::raw::c_void,
    pub sample: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_metrics_sink,
            metric: u32,
            device_id: cage_str,
            label_values: *const cage_str,
            value: f64,
        ) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_metrics {
    pub struct_size: u32,
    pub metric_count: u32,
    pub metrics: *const *const cage_metric,
    pub collect: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_instance,
            arg2: *const cage_call,
            arg3: *mut cage_metrics_sink,
        ) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_snapshot_not_offered {
    pub struct_size: u32,
    pub reserved: u32,
    pub add: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_snapshot, name: cage_str, reason: cage_str) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_request_policy {
    pub struct_size: u32,
    pub value_count: u32,
    pub default_amount: *const cage_quantity,
    pub values: *const cage_quantity,
    pub min: *const cage_quantity,
    pub max: *const cage_quantity,
    pub step: *const cage_quantity,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_snapshot_policy {
    pub struct_size: u32,
    pub reserved: u32,
    pub set: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_snapshot,
            device_id: cage_str,
            capacity: cage_str,
            arg2: *const cage_request_policy,
        ) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_poll {
    pub struct_size: u32,
    pub reserved: u32,
    pub add: ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_host, descriptor: i32) -> cage_status>,
    pub remove: ::std::option::Option<unsafe extern "C" fn(arg1: *const cage_host, descriptor: i32) -> cage_status>,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_pre_start {
    pub struct_size: u32,
    pub reserved: u32,
    pub pre_start: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_instance, arg2: *const cage_call, arg3: *const cage_claim) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_id_sink {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut std::os::raw::c_void,
    pub id: ::std::option::Option<unsafe extern "C" fn(arg1: *mut cage_id_sink, device_id: cage_str) -> cage_status>,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_preferred {
    pub struct_size: u32,
    pub reserved: u32,
    pub choose: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_instance,
            arg2: *const cage_call,
            available: *const cage_str,
            available_count: u32,
            required: *const cage_str,
            required_count: u32,
            want: u32,
            out: *mut cage_id_sink,
        ) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_quiesce {
    pub struct_size: u32,
    pub reserved: u32,
    pub quiesce: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_instance, arg2: *const cage_call, device_id: cage_str) -> cage_status,
    >,
    pub resume: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_instance, arg2: *const cage_call, device_id: cage_str) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_reconcile {
    pub struct_size: u32,
    pub reserved: u32,
    pub keep: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_instance,
            arg2: *const cage_call,
            live: *const *const cage_claim,
            live_count: u32,
        ) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_reset {
    pub struct_size: u32,
    pub reserved: u32,
    pub reset: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_instance, arg2: *const cage_call, device_id: cage_str) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_pod {
    pub struct_size: u32,
    pub network_namespace: i32,
    pub route_socket: i32,
    pub reserved: u32,
    pub uid: cage_str,
    pub name_space: cage_str,
    pub name: cage_str,
    pub network_namespace_path: cage_str,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_sandbox {
    pub struct_size: u32,
    pub reserved: u32,
    pub attach: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_instance,
            arg2: *const cage_call,
            arg3: *const cage_claim,
            arg4: *const cage_pod,
        ) -> cage_status,
    >,
    pub detach: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_instance,
            arg2: *const cage_call,
            arg3: *const cage_claim,
            arg4: *const cage_pod,
        ) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_service {
    pub struct_size: u32,
    pub reserved: u32,
    pub start: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *const cage_host,
            arg2: *const cage_call,
            name: cage_str,
            arg3: *const cage_command,
        ) -> cage_status,
    >,
    pub stop: ::std::option::Option<
        unsafe extern "C" fn(arg1: *const cage_host, arg2: *const cage_call, name: cage_str) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_network_data {
    pub struct_size: u32,
    pub ip_count: u32,
    pub interface_name: cage_str,
    pub hardware_address: cage_str,
    pub ips: *const cage_str,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_edits_status {
    pub struct_size: u32,
    pub reserved: u32,
    pub condition: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, arg2: *const cage_condition) -> cage_status,
    >,
    pub data:
        ::std::option::Option<unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, json: cage_str) -> cage_status>,
    pub network: ::std::option::Option<
        unsafe extern "C" fn(arg1: *mut cage_edits, alloc: i32, arg2: *const cage_network_data) -> cage_status,
    >,
}
pub const CAGE_EVENT_KERNEL_LOG: u32 = 1;
pub const CAGE_EVENT_UEVENT: u32 = 2;
pub const CAGE_EVENT_DESCRIPTOR: u32 = 3;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_event {
    pub struct_size: u32,
    pub type_: u32,
    pub time_ns: u64,
    pub text: cage_str,
    pub descriptor: i32,
    pub reserved: u32,
}
pub const CAGE_EVENTS_LOST: u32 = 1;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_watch {
    pub struct_size: u32,
    pub reserved: u32,
    pub kernel_log: *const cage_str,
    pub uevents: *const cage_str,
    pub kernel_log_count: u32,
    pub uevent_count: u32,
    pub events: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *mut cage_instance,
            arg2: *const cage_call,
            events: *const *const cage_event,
            count: u32,
            flags: u32,
        ) -> cage_status,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_file_write {
    pub struct_size: u32,
    pub timeout_ms: u32,
    pub device_id: cage_str,
    pub path: cage_str,
    pub data: cage_bytes,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_ioctl {
    pub struct_size: u32,
    pub timeout_ms: u32,
    pub device_id: cage_str,
    pub path: cage_str,
    pub request: u64,
    pub argument: *mut std::os::raw::c_void,
    pub argument_size: u32,
    pub data_offset: u32,
    pub data_path: cage_str,
    pub data_sha256: cage_str,
    pub data_start: u64,
    pub flags: u32,
    pub reserved: u32,
}
pub const CAGE_IOCTL_EXCLUSIVE: u32 = 1;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct cage_write {
    pub struct_size: u32,
    pub reserved: u32,
    pub file: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *const cage_host,
            arg2: *const cage_call,
            arg3: *const cage_file_write,
        ) -> cage_status,
    >,
    pub ioctl: ::std::option::Option<
        unsafe extern "C" fn(arg1: *const cage_host, arg2: *const cage_call, arg3: *const cage_ioctl) -> cage_status,
    >,
    pub driver: ::std::option::Option<
        unsafe extern "C" fn(
            arg1: *const cage_host,
            arg2: *const cage_call,
            device_id: cage_str,
            pci_bus_id: cage_str,
            driver: cage_str,
        ) -> cage_status,
    >,
}
