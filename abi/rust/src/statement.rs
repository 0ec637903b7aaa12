// SPDX-License-Identifier: Apache-2.0
//! Statements of `prepare` and `BIND` about a device for the users of the claim.

use crate::device::Attribute;
use crate::{raw, text};
use std::mem::size_of;

/// A condition of a device in ResourceClaim.status.devices. The host adds the time of its last change.
#[derive(Clone, Debug)]
pub struct Condition {
    /// "Ready", "example.com/Attached"
    pub kind: String,
    /// `None` = unknown.
    pub status: Option<bool>,
    /// A CamelCase token, never empty.
    pub reason: String,
    /// For people, at most 1024 bytes.
    pub message: String,
}

impl Condition {
    /// It holds.
    pub fn yes(kind: impl Into<String>, reason: impl Into<String>) -> Condition {
        Condition { kind: kind.into(), status: Some(true), reason: reason.into(), message: String::new() }
    }
    /// It does not hold.
    pub fn no(kind: impl Into<String>, reason: impl Into<String>) -> Condition {
        Condition { status: Some(false), ..Condition::yes(kind, reason) }
    }
    /// It cannot be found out.
    pub fn unknown(kind: impl Into<String>, reason: impl Into<String>) -> Condition {
        Condition { status: None, ..Condition::yes(kind, reason) }
    }
    /// Adds a text for people, at most 1024 bytes.
    pub fn message(mut self, text: impl Into<String>) -> Condition {
        self.message = text.into();
        self
    }

    /// Borrows the texts.
    pub(crate) fn to_raw(&self) -> raw::cage_condition {
        raw::cage_condition {
            struct_size: size_of::<raw::cage_condition>() as u32,
            status: match self.status {
                Some(true) => raw::CAGE_CONDITION_TRUE,
                Some(false) => raw::CAGE_CONDITION_FALSE,
                None => raw::CAGE_CONDITION_UNKNOWN,
            },
            type_: text::to_raw(&self.kind),
            reason: text::to_raw(&self.reason),
            message: text::to_raw(&self.message),
        }
    }
}

/// A device in the pod's network.
#[derive(Clone, Debug, Default)]
pub struct NetworkData {
    /// In the pod.
    pub interface_name: String,
    /// With the length of the prefix: "10.1.2.3/24".
    pub ips: Vec<String>,
    /// Its MAC address: "02:42:ac:11:00:02".
    pub hardware_address: String,
}

/// Attributes for the file that describes a device to its containers, in addition to those of `discover` and the host.
#[derive(Clone, Debug, Default)]
pub struct Description {
    pub(crate) attributes: Vec<(String, Attribute)>,
}

impl Description {
    /// Without attributes.
    pub fn new() -> Description {
        Description::default()
    }
    /// Adds an attribute, as for devices.
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<Attribute>) -> Description {
        self.attributes.push((name.into(), value.into()));
        self
    }
}
