// SPDX-License-Identifier: Apache-2.0

use crate::{raw, text};
use std::ffi::CString;
use std::marker::PhantomData;
use std::time::Duration;

/// The checked values of declared options or parameters, defaults included. For a wrong name or type the host returns
/// the zero value and logs a defect of the module.
pub struct Values<'a> {
    raw: *const raw::cage_values,
    call: PhantomData<&'a ()>,
}

fn c_name(name: &str) -> CString {
    CString::new(name).expect("the name of an option has no zero byte")
}

/// The source of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A DeviceClass.
    Class,
    /// The claim.
    Claim,
}

impl<'a> Values<'a> {
    pub(crate) fn new(raw: *const raw::cage_values) -> Values<'a> {
        Values { raw, call: PhantomData }
    }
    /// An integer, or the nanoseconds of a duration.
    pub fn integer(&self, name: &str) -> i64 {
        unsafe { (*self.raw).integer.map_or(0, |get| get(self.raw, c_name(name).as_ptr())) }
    }
    /// A boolean.
    pub fn boolean(&self, name: &str) -> bool {
        unsafe { (*self.raw).boolean.map_or(false, |get| get(self.raw, c_name(name).as_ptr()) != 0) }
    }
    /// A text.
    pub fn text(&self, name: &str) -> &'a str {
        unsafe { (*self.raw).string.map_or("", |get| text::view(get(self.raw, c_name(name).as_ptr()))) }
    }
    /// Negative durations, which only a module that allows them gets, are zero here; `integer` has the nanoseconds.
    pub fn duration(&self, name: &str) -> Duration {
        Duration::from_nanos(self.integer(name).max(0) as u64)
    }
    /// A list of texts.
    pub fn list(&self, name: &str) -> Vec<&'a str> {
        let mut items = std::ptr::null();
        unsafe {
            let count = (*self.raw).list.map_or(0, |get| get(self.raw, c_name(name).as_ptr(), &mut items));
            text::views(items, count)
        }
    }
    /// Sorted by key.
    pub fn map(&self, name: &str) -> Vec<(&'a str, &'a str)> {
        let (mut keys, mut values) = (std::ptr::null(), std::ptr::null());
        unsafe {
            let get = if self.is_whole() { (*self.raw).map } else { None };
            let count = get.map_or(0, |get| get(self.raw, c_name(name).as_ptr(), &mut keys, &mut values));
            text::views(keys, count).into_iter().zip(text::views(values, count)).collect()
        }
    }
    /// The source of a parameter; None for a default and for an option of the module.
    pub fn source(&self, name: &str) -> Option<Source> {
        unsafe {
            let get = if self.is_whole() { (*self.raw).source } else { None };
            match get.map_or(-1, |get| get(self.raw, c_name(name).as_ptr())) as u32 {
                raw::CAGE_PARAMS_CLASS => Some(Source::Class),
                raw::CAGE_PARAMS_CLAIM => Some(Source::Claim),
                _ => None,
            }
        }
    }
    /// The kind of the parameters; empty for options.
    pub fn kind(&self) -> &'a str {
        unsafe {
            match self.is_whole() {
                true => text::view((*self.raw).params_kind),
                false => "",
            }
        }
    }
    /// Returns false if the value is the default.
    pub fn given(&self, name: &str) -> bool {
        unsafe { (*self.raw).given.map_or(false, |get| get(self.raw, c_name(name).as_ptr()) != 0) }
    }
    /// False on a host older than 0.3 [R2].
    fn is_whole(&self) -> bool {
        unsafe { (*self.raw).struct_size as usize >= std::mem::size_of::<raw::cage_values>() }
    }
}
