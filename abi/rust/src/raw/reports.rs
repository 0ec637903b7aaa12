// SPDX-License-Identifier: Apache-2.0
//! Figures for Prometheus, labels of the node, and catalogue entries.

use super::{cage_attr, cage_call, cage_instance, cage_status, cage_str};
use std::os::raw::c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_metric {
    pub struct_size: u32,
    pub r#type: u32,
    pub name: cage_str,
    pub help: cage_str,
    pub labels: *const cage_str,
    pub label_count: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_metrics_sink {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut c_void,
    pub sample:
        Option<unsafe extern "C" fn(*mut cage_metrics_sink, u32, cage_str, *const cage_str, f64) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_metrics {
    pub struct_size: u32,
    pub metric_count: u32,
    pub metrics: *const *const cage_metric,
    pub collect:
        Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call, *mut cage_metrics_sink) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_label_sink {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut c_void,
    pub label: Option<unsafe extern "C" fn(*mut cage_label_sink, cage_str, cage_str) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_labels {
    pub struct_size: u32,
    pub reserved: u32,
    pub collect:
        Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call, *mut cage_label_sink) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_catalogue_entry {
    pub struct_size: u32,
    pub flags: u32,
    pub kind: cage_str,
    pub name: cage_str,
    pub detail: cage_str,
    pub attrs: *const cage_attr,
    pub attr_count: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_catalogue_sink {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut c_void,
    pub entry: Option<unsafe extern "C" fn(*mut cage_catalogue_sink, *const cage_catalogue_entry) -> cage_status>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_catalogue {
    pub struct_size: u32,
    pub reserved: u32,
    pub collect:
        Option<unsafe extern "C" fn(*mut cage_instance, *const cage_call, *mut cage_catalogue_sink) -> cage_status>,
}
