// SPDX-License-Identifier: Apache-2.0
//! Events that wake a module.

use super::{cage_call, cage_host, cage_instance, cage_status, cage_str};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_event {
    pub struct_size: u32,
    pub r#type: u32,
    pub time_ns: u64,
    pub text: cage_str,
    pub descriptor: i32,
    pub reserved: u32,
}

pub type cage_watch_events =
    unsafe extern "C" fn(*mut cage_instance, *const cage_call, *const *const cage_event, u32, u32) -> cage_status;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_watch {
    pub struct_size: u32,
    pub reserved: u32,
    pub kernel_log: *const cage_str,
    pub uevents: *const cage_str,
    pub kernel_log_count: u32,
    pub uevent_count: u32,
    pub events: Option<cage_watch_events>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_poll {
    pub struct_size: u32,
    pub reserved: u32,
    pub add: Option<unsafe extern "C" fn(*const cage_host, i32) -> cage_status>,
    pub remove: Option<unsafe extern "C" fn(*const cage_host, i32) -> cage_status>,
}
