// SPDX-License-Identifier: Apache-2.0
//! Writes to the hardware that may block.

use super::{cage_bytes, cage_call, cage_host, cage_status, cage_str};
use std::os::raw::c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_file_write {
    pub struct_size: u32,
    pub timeout_ms: u32,
    pub device_id: cage_str,
    pub path: cage_str,
    pub data: cage_bytes,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_ioctl {
    pub struct_size: u32,
    pub timeout_ms: u32,
    pub device_id: cage_str,
    pub path: cage_str,
    pub request: u64,
    pub argument: *mut c_void,
    pub argument_size: u32,
    pub data_offset: u32,
    pub data_path: cage_str,
    pub data_sha256: cage_str,
    pub data_start: u64,
    pub flags: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_write {
    pub struct_size: u32,
    pub reserved: u32,
    pub file: Option<unsafe extern "C" fn(*const cage_host, *const cage_call, *const cage_file_write) -> cage_status>,
    pub ioctl: Option<unsafe extern "C" fn(*const cage_host, *const cage_call, *const cage_ioctl) -> cage_status>,
    pub driver:
        Option<unsafe extern "C" fn(*const cage_host, *const cage_call, cage_str, cage_str, cage_str) -> cage_status>,
}
