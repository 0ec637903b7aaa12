// SPDX-License-Identifier: Apache-2.0
//! The table of a module, and the smaller families of `cardcage/ext`.

use super::{
    cage_call, cage_claim, cage_edits, cage_host, cage_id_sink, cage_instance, cage_option, cage_params_schema,
    cage_snapshot, cage_status, cage_str, cage_values,
};
use std::os::raw::{c_char, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
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
    pub option_count: u32,
    pub param_count: u32,
    pub params: *const *const cage_option,
    pub params_api_version: cage_str,
    pub params_kind: cage_str,
    pub create: Option<
        unsafe extern "C" fn(
            *const cage_call,
            *const cage_host,
            *const cage_values,
            *mut *mut cage_instance,
        ) -> cage_status,
    >,
    pub start: Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call) -> cage_status>,
    pub discover: Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call, *mut cage_snapshot) -> cage_status>,
    pub prepare: Option<
        unsafe extern "C" fn(*mut cage_instance, *const cage_call, *const cage_claim, *mut cage_edits) -> cage_status,
    >,
    pub unprepare: Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call, *const cage_claim) -> cage_status>,
    pub check: Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call, cage_str) -> cage_status>,
    pub quiesce: Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call) -> cage_status>,
    pub resume: Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call) -> cage_status>,
    pub stop: Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call) -> cage_status>,
    pub destroy: Option<unsafe extern "C" fn(*mut cage_instance)>,
    pub extension: Option<unsafe extern "C" fn(*const c_char) -> *const c_void>,
    pub schemas: *const *const cage_params_schema,
    pub schema_count: u32,
    pub claim_call_limit_s: u32,
    pub causes: *const *const cage_cause,
    pub cause_count: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
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

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_reset {
    pub struct_size: u32,
    pub reserved: u32,
    pub reset: Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call, cage_str) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_preferred {
    pub struct_size: u32,
    pub reserved: u32,
    pub choose: Option<
        unsafe extern "C" fn(
            *mut cage_instance,
            *const cage_call,
            *const cage_str,
            u32,
            *const cage_str,
            u32,
            u32,
            *mut cage_id_sink,
        ) -> cage_status,
    >,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_pre_start {
    pub struct_size: u32,
    pub reserved: u32,
    pub pre_start: Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call, *const cage_claim) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_configure {
    pub struct_size: u32,
    pub reserved: u32,
    pub configure:
        Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call, *const cage_values) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_reconcile {
    pub struct_size: u32,
    pub reserved: u32,
    pub keep: Option<
        unsafe extern "C" fn(*mut cage_instance, *const cage_call, *const *const cage_claim, u32) -> cage_status,
    >,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_quiesce {
    pub struct_size: u32,
    pub reserved: u32,
    pub quiesce: Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call, cage_str) -> cage_status>,
    pub resume: Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call, cage_str) -> cage_status>,
}
