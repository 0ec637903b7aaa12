// SPDX-License-Identifier: Apache-2.0
//! One call, health, and the services of the host.

use super::cage_str;
use std::os::raw::{c_char, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_call {
    pub struct_size: u32,
    pub attempt: u32,
    pub host_data: *mut c_void,
    pub id: cage_str,
    pub deadline_ns: u64,
    pub cancel_fd: i32,
    pub reserved: u32,
    pub cancelled: Option<unsafe extern "C" fn(*const cage_call) -> i32>,
    pub explain: Option<unsafe extern "C" fn(*const cage_call, cage_str)>,
    pub progress: Option<unsafe extern "C" fn(*const cage_call, u32, cage_str)>,
    pub explained: Option<unsafe extern "C" fn(*const cage_call) -> cage_str>,
}

#[repr(C)]
#[derive(Clone, Copy)]
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

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_host {
    pub struct_size: u32,
    pub abi_minor: u32,
    pub host_data: *mut c_void,
    pub version: cage_str,
    pub log_enabled: Option<unsafe extern "C" fn(*const cage_host, u32) -> i32>,
    pub log: Option<unsafe extern "C" fn(*const cage_host, u32, cage_str)>,
    pub rescan: Option<unsafe extern "C" fn(*const cage_host)>,
    pub health: Option<unsafe extern "C" fn(*const cage_host, *const cage_health)>,
    pub extension: Option<unsafe extern "C" fn(*const cage_host, *const c_char) -> *const c_void>,
    pub sysfs: cage_str,
    pub procfs: cage_str,
    pub devfs: cage_str,
    pub driver_root: cage_str,
}
