// SPDX-License-Identifier: Apache-2.0
//! Devices that enter a pod's network.

use super::{cage_call, cage_claim, cage_instance, cage_status, cage_str};

#[repr(C)]
#[derive(Clone, Copy)]
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

type Move =
    unsafe extern "C" fn(*mut cage_instance, *const cage_call, *const cage_claim, *const cage_pod) -> cage_status;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_sandbox {
    pub struct_size: u32,
    pub reserved: u32,
    pub attach: Option<Move>,
    pub detach: Option<Move>,
}
