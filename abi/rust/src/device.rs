// SPDX-License-Identifier: Apache-2.0

use crate::{raw, text, Health};

/// The value of an attribute of a device. Most come from `into()`: numbers, booleans, texts and lists of them.
#[derive(Clone, Debug)]
pub enum Attribute {
    Integer(i64),
    Boolean(bool),
    Text(String),
    /// semver 2.0.0: "1.2.3"
    Version(String),
    Integers(Vec<i64>),
    Booleans(Vec<bool>),
    Texts(Vec<String>),
    Versions(Vec<String>),
}

macro_rules! attribute_from {
    ($($from:ty => $make:expr;)*) => { $(impl From<$from> for Attribute {
        fn from(value: $from) -> Attribute {
            $make(value)
        }
    })* };
}
attribute_from! {
    i64 => Attribute::Integer;
    i32 => |value| Attribute::Integer(i64::from(value));
    u32 => |value| Attribute::Integer(i64::from(value));
    bool => Attribute::Boolean;
    &str => |value: &str| Attribute::Text(value.to_owned());
    String => Attribute::Text;
    Vec<i64> => Attribute::Integers;
    Vec<bool> => Attribute::Booleans;
    Vec<String> => Attribute::Texts;
}

/// `value * 10^exp10`, printed with SI suffixes or, if binary, with Ki, Mi and Gi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    pub value: i64,
    pub exp10: i32,
    pub binary: bool,
}

impl Quantity {
    pub const fn bytes(value: i64) -> Quantity {
        Quantity { value, exp10: 0, binary: true }
    }
    pub const fn gib(value: i64) -> Quantity {
        Quantity::bytes(value << 30)
    }
    pub const fn count(value: i64) -> Quantity {
        Quantity { value, exp10: 0, binary: false }
    }
    pub const fn milli(value: i64) -> Quantity {
        Quantity { value, exp10: -3, binary: false }
    }
    pub(crate) fn to_raw(self, name: &str) -> raw::cage_quantity {
        let format = if self.binary { raw::CAGE_QTY_BINARY } else { raw::CAGE_QTY_DECIMAL };
        raw::cage_quantity { name: text::to_raw(name), value: self.value, exp10: self.exp10, format }
    }
    pub(crate) fn from_raw(raw: &raw::cage_quantity) -> Quantity {
        Quantity { value: raw.value, exp10: raw.exp10, binary: raw.format == raw::CAGE_QTY_BINARY }
    }
}

/// A device to report. Setters chain: `Device::new(uuid, "gpu").pci(bus).attribute("model", "X1")`.
#[derive(Clone, Debug)]
pub struct Device {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) parent: String,
    pub(crate) pci: String,
    pub(crate) shared: bool,
    pub(crate) numa: Vec<i32>,
    pub(crate) attributes: Vec<(String, Attribute)>,
    pub(crate) capacity: Vec<(String, Quantity)>,
    pub(crate) health: Option<Health>,
}

impl Device {
    /// `id` is stable over reboots: a UUID, serial or bus address.
    pub fn new(id: impl Into<String>, kind: impl Into<String>) -> Device {
        Device {
            id: id.into(),
            kind: kind.into(),
            name: String::new(),
            parent: String::new(),
            pci: String::new(),
            shared: false,
            numa: Vec::new(),
            attributes: Vec::new(),
            capacity: Vec::new(),
            health: None,
        }
    }
    /// What Kubernetes calls it, a DNS label such as gpu-0, as stable as the id. By default it is made from the id.
    pub fn name(mut self, label: impl Into<String>) -> Device {
        self.name = label.into();
        self
    }
    /// The device of which this is a partition.
    pub fn parent(mut self, id: impl Into<String>) -> Device {
        self.parent = id.into();
        self
    }
    pub fn pci(mut self, bus_id: impl Into<String>) -> Device {
        self.pci = bus_id.into();
        self
    }
    pub fn numa(mut self, node: i32) -> Device {
        self.numa.push(node);
        self
    }
    /// Several claims may hold it.
    pub fn shared(mut self) -> Device {
        self.shared = true;
        self
    }
    /// A device has at most 32 attributes and capacities together.
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<Attribute>) -> Device {
        self.attributes.push((name.into(), value.into()));
        self
    }
    pub fn capacity(mut self, name: impl Into<String>, value: Quantity) -> Device {
        self.capacity.push((name.into(), value));
        self
    }
    pub fn health(mut self, health: Health) -> Device {
        self.health = Some(health);
        self
    }
}
