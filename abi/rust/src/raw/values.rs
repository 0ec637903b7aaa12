// SPDX-License-Identifier: Apache-2.0
//! Texts, attributes, quantities, and the values of options and parameters.

use std::os::raw::{c_char, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_str {
    pub data: *const c_char,
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_bytes {
    pub data: *const c_void,
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union cage_attr_value {
    pub i: i64,
    pub s: cage_str,
    pub ints: *const i64,
    pub strs: *const cage_str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_attr {
    pub name: cage_str,
    pub r#type: u32,
    pub count: u32,
    pub v: cage_attr_value,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_quantity {
    pub name: cage_str,
    pub value: i64,
    pub exp10: i32,
    pub format: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_option {
    pub struct_size: u32,
    pub r#type: u32,
    pub flags: u32,
    pub choice_count: u32,
    pub name: cage_str,
    pub default_text: cage_str,
    pub help: cage_str,
    pub choices: *const cage_str,
    pub min: i64,
    pub max: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_params_schema {
    pub struct_size: u32,
    pub field_count: u32,
    pub api_version: cage_str,
    pub kind: cage_str,
    pub fields: *const *const cage_option,
    pub device_kinds: *const cage_str,
    pub device_kind_count: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cage_values {
    pub struct_size: u32,
    pub reserved: u32,
    pub host_data: *mut c_void,
    pub integer: Option<unsafe extern "C" fn(*const cage_values, *const c_char) -> i64>,
    pub boolean: Option<unsafe extern "C" fn(*const cage_values, *const c_char) -> i32>,
    pub string: Option<unsafe extern "C" fn(*const cage_values, *const c_char) -> cage_str>,
    pub list: Option<unsafe extern "C" fn(*const cage_values, *const c_char, *mut *const cage_str) -> u32>,
    pub given: Option<unsafe extern "C" fn(*const cage_values, *const c_char) -> i32>,
    pub map: Option<
        unsafe extern "C" fn(*const cage_values, *const c_char, *mut *const cage_str, *mut *const cage_str) -> u32,
    >,
    pub source: Option<unsafe extern "C" fn(*const cage_values, *const c_char) -> i32>,
    pub params_kind: cage_str,
}
