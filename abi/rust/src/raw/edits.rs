// SPDX-License-Identifier: Apache-2.0
//! Container edits.

use super::{cage_attr, cage_bytes, cage_condition, cage_status, cage_str};
use std::os::raw::{c_char, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_device_node {
    pub struct_size: u32,
    pub mode: u32,
    pub path: cage_str,
    pub host_path: cage_str,
    pub permissions: cage_str,
    pub r#type: cage_str,
    pub major: i64,
    pub minor: i64,
    pub uid: i64,
    pub gid: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_mount {
    pub struct_size: u32,
    pub option_count: u32,
    pub host_path: cage_str,
    pub container_path: cage_str,
    pub r#type: cage_str,
    pub options: *const cage_str,
}

#[repr(C)]
#[derive(Clone, Copy)]
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
#[derive(Clone, Copy)]
pub struct cage_net_device {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_interface: cage_str,
    pub name: cage_str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_edits {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut c_void,
    pub env: Option<unsafe extern "C" fn(*mut cage_edits, i32, cage_str, cage_str) -> cage_status>,
    pub device_node: Option<unsafe extern "C" fn(*mut cage_edits, i32, *const cage_device_node) -> cage_status>,
    pub mount: Option<unsafe extern "C" fn(*mut cage_edits, i32, *const cage_mount) -> cage_status>,
    pub hook: Option<unsafe extern "C" fn(*mut cage_edits, i32, *const cage_hook) -> cage_status>,
    pub net_device: Option<unsafe extern "C" fn(*mut cage_edits, i32, *const cage_net_device) -> cage_status>,
    pub group: Option<unsafe extern "C" fn(*mut cage_edits, i32, u32) -> cage_status>,
    pub state: Option<unsafe extern "C" fn(*mut cage_edits, cage_bytes) -> cage_status>,
    pub extension: Option<unsafe extern "C" fn(*mut cage_edits, *const c_char) -> *const c_void>,
    pub env_list: Option<unsafe extern "C" fn(*mut cage_edits, i32, cage_str, cage_str) -> cage_status>,
    pub locked_memory: Option<unsafe extern "C" fn(*mut cage_edits, i32, u64) -> cage_status>,
    pub ld_path: Option<unsafe extern "C" fn(*mut cage_edits, i32, cage_str, cage_str) -> cage_status>,
    pub proc_text: Option<unsafe extern "C" fn(*mut cage_edits, i32, cage_str, cage_str) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_journal {
    pub struct_size: u32,
    pub reserved: u32,
    pub write: Option<unsafe extern "C" fn(*mut cage_edits, cage_bytes) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_network_data {
    pub struct_size: u32,
    pub ip_count: u32,
    pub interface_name: cage_str,
    pub hardware_address: cage_str,
    pub ips: *const cage_str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_device_status {
    pub struct_size: u32,
    pub reserved: u32,
    pub condition: Option<unsafe extern "C" fn(*mut cage_edits, i32, *const cage_condition) -> cage_status>,
    pub data: Option<unsafe extern "C" fn(*mut cage_edits, i32, cage_str) -> cage_status>,
    pub network: Option<unsafe extern "C" fn(*mut cage_edits, i32, *const cage_network_data) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_device_metadata {
    pub struct_size: u32,
    pub reserved: u32,
    pub describe: Option<unsafe extern "C" fn(*mut cage_edits, i32, *const cage_attr, u32) -> cage_status>,
}
