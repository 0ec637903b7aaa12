// SPDX-License-Identifier: Apache-2.0
//! Programs of the node.

use super::{cage_bytes, cage_call, cage_host, cage_status, cage_str};
use std::os::raw::c_void;

#[repr(C)]
#[derive(Clone, Copy)]
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

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_command_result {
    pub struct_size: u32,
    pub flags: u32,
    pub exit_status: i32,
    pub signal: i32,
    pub out: cage_bytes,
    pub err: cage_bytes,
}

pub type cage_command_ended = Option<unsafe extern "C" fn(*mut c_void, *const cage_command_result)>;

pub type cage_exec_run = unsafe extern "C" fn(
    *const cage_host,
    *const cage_call,
    *const cage_command,
    *mut c_void,
    cage_command_ended,
) -> cage_status;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_service {
    pub struct_size: u32,
    pub reserved: u32,
    pub start:
        Option<unsafe extern "C" fn(*const cage_host, *const cage_call, cage_str, *const cage_command) -> cage_status>,
    pub stop: Option<unsafe extern "C" fn(*const cage_host, *const cage_call, cage_str) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_exec {
    pub struct_size: u32,
    pub reserved: u32,
    pub run: Option<cage_exec_run>,
}
