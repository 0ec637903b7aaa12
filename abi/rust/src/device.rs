// SPDX-License-Identifier: Apache-2.0

use crate::{raw, text, Health};

/// The value of an attribute of a device or an entry. Most come from `into()`: numbers, booleans, texts and lists of them.
/// Texts are made valid for Kubernetes: at most 64 bytes, cut between characters, with '?' for control characters.
#[derive(Clone, Debug)]
pub enum Attribute {
    /// A whole number.
    Integer(i64),
    /// True or false.
    Boolean(bool),
    /// At most 64 bytes.
    Text(String),
    /// semver 2.0.0: "1.2.3"
    Version(String),
    /// A list of whole numbers.
    Integers(Vec<i64>),
    /// A list of booleans.
    Booleans(Vec<bool>),
    /// A list of texts.
    Texts(Vec<String>),
    /// A list of semver versions.
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
    &str => |value: &str| Attribute::Text(text::for_attribute(value));
    String => |value: String| Attribute::Text(text::for_attribute(&value));
    Vec<i64> => Attribute::Integers;
    Vec<bool> => Attribute::Booleans;
    Vec<String> => |values: Vec<String>| Attribute::Texts(values.iter().map(|one| text::for_attribute(one)).collect());
}

/// The elements of a list in the form of the ABI, kept until the host has copied them.
#[derive(Default)]
struct Elements {
    numbers: Vec<i64>,
    texts: Vec<raw::cage_str>,
}

impl Elements {
    fn of(value: &Attribute) -> Elements {
        let mut elements = Elements::default();
        match value {
            Attribute::Integers(list) => elements.numbers = list.clone(),
            Attribute::Booleans(list) => elements.numbers = list.iter().map(|flag| i64::from(*flag)).collect(),
            Attribute::Texts(list) | Attribute::Versions(list) => elements.texts = text::to_raw_list(list),
            _ => {}
        }
        elements
    }
    fn to_raw(&self, name: &str, value: &Attribute) -> raw::cage_attr {
        let (type_, v) = match value {
            Attribute::Integer(number) => (raw::CAGE_ATTR_INT, raw::cage_attr_value { i: *number }),
            Attribute::Boolean(flag) => (raw::CAGE_ATTR_BOOL, raw::cage_attr_value { i: i64::from(*flag) }),
            Attribute::Text(one) => (raw::CAGE_ATTR_STRING, raw::cage_attr_value { s: text::to_raw(one) }),
            Attribute::Version(one) => (raw::CAGE_ATTR_VERSION, raw::cage_attr_value { s: text::to_raw(one) }),
            Attribute::Integers(_) => (raw::CAGE_ATTR_INT | raw::CAGE_ATTR_LIST, self.numbers()),
            Attribute::Booleans(_) => (raw::CAGE_ATTR_BOOL | raw::CAGE_ATTR_LIST, self.numbers()),
            Attribute::Texts(_) => (raw::CAGE_ATTR_STRING | raw::CAGE_ATTR_LIST, self.texts()),
            Attribute::Versions(_) => (raw::CAGE_ATTR_VERSION | raw::CAGE_ATTR_LIST, self.texts()),
        };
        let listed = type_ & raw::CAGE_ATTR_LIST != 0;
        let count = if listed { self.numbers.len() + self.texts.len() } else { 1 };
        raw::cage_attr { name: text::to_raw(name), type_, count: count as u32, v }
    }
    fn numbers(&self) -> raw::cage_attr_value {
        raw::cage_attr_value { ints: text::first(&self.numbers) }
    }
    fn texts(&self) -> raw::cage_attr_value {
        raw::cage_attr_value { strs: text::first(&self.texts) }
    }
}

/// Attributes in the form of the ABI. They borrow names and texts.
pub(crate) struct Attributes {
    pub(crate) raw: Vec<raw::cage_attr>,
    _elements: Vec<Elements>,
}

impl Attributes {
    pub(crate) fn of(attributes: &[(String, Attribute)]) -> Attributes {
        let elements: Vec<Elements> = attributes.iter().map(|(_, value)| Elements::of(value)).collect();
        let pairs = elements.iter().zip(attributes);
        let raw = pairs.map(|(kept, (name, value))| kept.to_raw(name, value)).collect();
        Attributes { raw, _elements: elements }
    }
}

/// `value * 10^exp10`, printed with SI suffixes or, if binary, with Ki, Mi and Gi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The digits.
    pub value: i64,
    /// The power of ten, -9 to 18.
    pub exp10: i32,
    /// Printed with Ki, Mi and Gi.
    pub binary: bool,
}

impl Quantity {
    /// Bytes, printed with Ki, Mi and Gi.
    pub const fn bytes(value: i64) -> Quantity {
        Quantity { value, exp10: 0, binary: true }
    }
    /// So many GiB.
    pub const fn gib(value: i64) -> Quantity {
        Quantity::bytes(value << 30)
    }
    /// A plain number.
    pub const fn count(value: i64) -> Quantity {
        Quantity { value, exp10: 0, binary: false }
    }
    /// Thousandths, printed as `100m`.
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

/// The amounts that claims may consume of a capacity of a shared device (KEP-5075). The scheduler rounds a request up
/// to the next amount that the policy allows. Chain: `RequestPolicy::new(gib(4)).range(gib(4),
/// Some(gib(32))).step(gib(4))`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPolicy {
    pub(crate) default: Quantity,
    pub(crate) values: Vec<Quantity>,
    pub(crate) min: Option<Quantity>,
    pub(crate) max: Option<Quantity>,
    pub(crate) step: Option<Quantity>,
}

impl RequestPolicy {
    /// `default` is consumed by a request that names no amount.
    pub fn new(default: Quantity) -> RequestPolicy {
        RequestPolicy { default, values: Vec::new(), min: None, max: None, step: None }
    }
    /// The only amounts, at most 10 in ascending order.
    pub fn values(mut self, values: &[Quantity]) -> RequestPolicy {
        self.values = values.to_vec();
        self
    }
    /// Instead of values: any amount from `min` on, up to `max` if there is one.
    pub fn range(mut self, min: Quantity, max: Option<Quantity>) -> RequestPolicy {
        (self.min, self.max) = (Some(min), max);
        self
    }
    /// For a range: `min` and a multiple of this.
    pub fn step(mut self, step: Quantity) -> RequestPolicy {
        self.step = Some(step);
        self
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
    /// The name in Kubernetes, a DNS label such as gpu-0, as stable as the id. By default it is made from the id.
    pub fn name(mut self, label: impl Into<String>) -> Device {
        self.name = label.into();
        self
    }
    /// The device of which this is a partition.
    pub fn parent(mut self, id: impl Into<String>) -> Device {
        self.parent = id.into();
        self
    }
    /// The address of its PCI function, "0000:3b:00.0".
    pub fn pci(mut self, bus_id: impl Into<String>) -> Device {
        self.pci = bus_id.into();
        self
    }
    /// Adds a NUMA node that it is close to.
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
    /// Adds a capacity: an amount of something, such as memory.
    pub fn capacity(mut self, name: impl Into<String>, value: Quantity) -> Device {
        self.capacity.push((name.into(), value));
        self
    }
    /// Its health; without it the last `Host::health` remains.
    pub fn health(mut self, health: Health) -> Device {
        self.health = Some(health);
        self
    }
}
