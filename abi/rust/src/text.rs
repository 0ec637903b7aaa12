// SPDX-License-Identifier: Apache-2.0
//! Texts and lists on their way to the host and back.

use crate::error::{Error, Result};
use crate::raw;
use std::os::raw::c_char;

pub(crate) const fn to_raw(text: &str) -> raw::cage_str {
    raw::cage_str { data: text.as_ptr() as *const c_char, size: text.len() }
}

/// The first of the items in the form of the ABI, which their own form must equal; NULL without any, since the pointer of
/// an empty slice dangles.
pub(crate) const fn first<T, R>(items: &[T]) -> *const R {
    if items.is_empty() {
        return std::ptr::null();
    }
    items.as_ptr() as *const R
}

pub(crate) fn to_raw_list(texts: &[String]) -> Vec<raw::cage_str> {
    texts.iter().map(|text| to_raw(text)).collect()
}

/// The text in the form that Kubernetes accepts for an attribute. A text from hardware, such as a product name, may
/// have any length.
pub(crate) fn for_attribute(text: &str) -> String {
    const MOST: usize = 64;
    let mut fitting = String::new();
    for one in text.chars() {
        let shown = if one.is_ascii_control() { '?' } else { one };
        if fitting.len() + shown.len_utf8() > MOST {
            break;
        }
        fitting.push(shown);
    }
    fitting
}

/// `count` elements that the host lends for at least `'a`; none if the pointer is null.
pub(crate) unsafe fn list<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    std::slice::from_raw_parts(first, count)
}

/// A text that the host lends for at least `'a`.
pub(crate) unsafe fn view<'a>(text: raw::cage_str) -> &'a str {
    std::str::from_utf8(list(text.data as *const u8, text.size)).expect("the host passes UTF-8")
}

pub(crate) unsafe fn views<'a>(texts: *const raw::cage_str, count: u32) -> Vec<&'a str> {
    list(texts, count as usize).iter().map(|text| view(*text)).collect()
}

/// The result of a sink. A sink that refuses has already explained why; the empty text keeps that explanation.
pub(crate) fn must(status: raw::cage_status) -> Result {
    match status {
        raw::CAGE_OK => Ok(()),
        _ => Err(Error::explained(status)),
    }
}
