// SPDX-License-Identifier: Apache-2.0
//! `cardcage/module.h` and `cardcage/ext` in Rust: the same names, types and numbers. The headers document them.
//! Structs have the size that they have in this version of the headers; read a member of the host's only if the
//! host's `struct_size` covers it [R2].
#![allow(non_camel_case_types, missing_docs)]

mod abi;
pub use abi::cage_attr__bindgen_ty_1 as cage_attr_value;
pub use abi::*;

/// Zero bytes are a valid value of each struct: no text, no list, no function.
macro_rules! zero_by_default {
    ($($name:ident)*) => { $(impl Default for $name {
        fn default() -> Self {
            // SAFETY: integers, raw pointers and `Option`s of function pointers may all be zero.
            unsafe { std::mem::zeroed() }
        }
    })* };
}
zero_by_default!(cage_catalogue_entry cage_device cage_device_node cage_health cage_hook cage_mount cage_net_device);
