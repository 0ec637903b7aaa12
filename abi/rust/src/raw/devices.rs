// SPDX-License-Identifier: Apache-2.0
//! Devices and the sinks that take them.

use super::{cage_attr, cage_health, cage_quantity, cage_status, cage_str};
use std::os::raw::{c_char, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
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
#[derive(Clone, Copy)]
pub struct cage_snapshot {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut c_void,
    pub device: Option<unsafe extern "C" fn(*mut cage_snapshot, *const cage_device) -> cage_status>,
    pub extension: Option<unsafe extern "C" fn(*mut cage_snapshot, *const c_char) -> *const c_void>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_snapshot_counters {
    pub struct_size: u32,
    pub reserved: u32,
    pub set: Option<unsafe extern "C" fn(*mut cage_snapshot, cage_str, *const cage_quantity, u32) -> cage_status>,
    pub consumes:
        Option<unsafe extern "C" fn(*mut cage_snapshot, cage_str, cage_str, *const cage_quantity, u32) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
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
#[derive(Clone, Copy)]
pub struct cage_snapshot_policy {
    pub struct_size: u32,
    pub reserved: u32,
    pub set:
        Option<unsafe extern "C" fn(*mut cage_snapshot, cage_str, cage_str, *const cage_request_policy) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_snapshot_not_offered {
    pub struct_size: u32,
    pub reserved: u32,
    pub add: Option<unsafe extern "C" fn(*mut cage_snapshot, cage_str, cage_str) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_id_sink {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut c_void,
    pub id: Option<unsafe extern "C" fn(*mut cage_id_sink, cage_str) -> cage_status>,
}
