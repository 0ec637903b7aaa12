// SPDX-License-Identifier: Apache-2.0
//! Claims and their parameters.

use super::{cage_bytes, cage_quantity, cage_str, cage_values};

#[repr(C)]
#[derive(Clone, Copy)]
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

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_params {
    pub struct_size: u32,
    pub source: u32,
    pub json: cage_str,
    pub requests: *const cage_str,
    pub request_count: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
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
