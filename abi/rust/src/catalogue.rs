// SPDX-License-Identifier: Apache-2.0

use crate::device::{Attribute, Attributes};
use crate::{raw, text};

/// An entry that claims may name in their parameters. Setters chain: `Entry::new("bitstream", "aes").detail("AES")`.
#[derive(Clone, Debug)]
pub struct Entry {
    kind: String,
    name: String,
    detail: String,
    refused: bool,
    attributes: Vec<(String, Attribute)>,
}

impl Entry {
    /// An entry that claims may name: `Entry::new("bitstream", "aes")`.
    pub fn new(kind: impl Into<String>, name: impl Into<String>) -> Entry {
        Entry { kind: kind.into(), name: name.into(), detail: String::new(), refused: false, attributes: Vec::new() }
    }
    /// A description, for people.
    pub fn detail(mut self, text: impl Into<String>) -> Entry {
        self.detail = text.into();
        self
    }
    /// Claims cannot name it; `why` has subject, cause and remedy.
    pub fn refused(mut self, why: impl Into<String>) -> Entry {
        self.refused = true;
        self.detail(why)
    }
    /// Adds an attribute, as for devices.
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<Attribute>) -> Entry {
        self.attributes.push((name.into(), value.into()));
        self
    }
}

/// Every entry, each time.
pub struct Catalogue(*mut raw::cage_catalogue_sink);

impl Catalogue {
    pub(crate) fn new(raw: *mut raw::cage_catalogue_sink) -> Catalogue {
        Catalogue(raw)
    }

    /// Returns false if the host refused the entry and logged why; the others still count.
    pub fn add(&mut self, entry: &Entry) -> bool {
        let attributes = Attributes::of(&entry.attributes);
        let raw = raw::cage_catalogue_entry {
            struct_size: std::mem::size_of::<raw::cage_catalogue_entry>() as u32,
            flags: if entry.refused { raw::CAGE_CATALOGUE_REFUSED } else { 0 },
            kind: text::to_raw(&entry.kind),
            name: text::to_raw(&entry.name),
            detail: text::to_raw(&entry.detail),
            attrs: text::first(&attributes.raw),
            attr_count: attributes.raw.len() as u32,
            ..Default::default()
        };
        unsafe { (*self.0).entry.map_or(false, |add| add(self.0, &raw) == raw::CAGE_OK) }
    }
}
