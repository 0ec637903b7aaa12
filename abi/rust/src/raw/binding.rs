// SPDX-License-Identifier: Apache-2.0
//! Devices that are made ready before a pod is bound.

use super::{cage_call, cage_claim, cage_instance, cage_snapshot, cage_status, cage_str};
use std::os::raw::c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_binding {
    pub struct_size: u32,
    pub flags: u32,
    pub conditions: *const cage_str,
    pub failures: *const cage_str,
    pub condition_count: u32,
    pub failure_count: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_snapshot_binding {
    pub struct_size: u32,
    pub reserved: u32,
    pub set: Option<unsafe extern "C" fn(*mut cage_snapshot, cage_str, *const cage_binding) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_condition {
    pub struct_size: u32,
    pub status: u32,
    pub r#type: cage_str,
    pub reason: cage_str,
    pub message: cage_str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_bind_sink {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut c_void,
    pub condition: Option<unsafe extern "C" fn(*mut cage_bind_sink, i32, *const cage_condition) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_bind {
    pub struct_size: u32,
    pub reserved: u32,
    pub bind: Option<
        unsafe extern "C" fn(
            *mut cage_instance,
            *const cage_call,
            *const cage_claim,
            *mut cage_bind_sink,
        ) -> cage_status,
    >,
}
