// SPDX-License-Identifier: Apache-2.0

use crate::{raw, text};

/// One option or parameter that the module declares:
/// `const OPTIONS: &'static [&'static Declared] = &[&Declared::integer("fans", "2", "how many run").range(1, 4)];`
#[repr(transparent)]
pub struct Declared(raw::cage_option);

/// An allowed value, or a kind of device: `const MODES: &[Choice] = &[Choice::new("fast"), Choice::new("quiet")];`
#[repr(transparent)]
pub struct Choice(raw::cage_str);

impl Choice {
    /// A choice with this text.
    pub const fn new(text: &'static str) -> Choice {
        Choice(text::to_raw(text))
    }
}

impl Declared {
    /// The default is written as in TOML, without quotes: `42`, `true`, `1m30s`; lists: `["a", "b"]`.
    pub const fn text(name: &'static str, default: &'static str, help: &'static str) -> Declared {
        Declared::new(raw::CAGE_OPTION_STRING, name, default, help)
    }
    /// An integer; the default is written as in TOML.
    pub const fn integer(name: &'static str, default: &'static str, help: &'static str) -> Declared {
        Declared::new(raw::CAGE_OPTION_INT, name, default, help)
    }
    /// A boolean; the default is `true` or `false`.
    pub const fn boolean(name: &'static str, default: &'static str, help: &'static str) -> Declared {
        Declared::new(raw::CAGE_OPTION_BOOL, name, default, help)
    }
    /// A duration, such as `1m30s`.
    pub const fn duration(name: &'static str, default: &'static str, help: &'static str) -> Declared {
        Declared::new(raw::CAGE_OPTION_DURATION, name, default, help)
    }
    /// A list of strings; the default is written as `["a", "b"]`.
    pub const fn list(name: &'static str, default: &'static str, help: &'static str) -> Declared {
        Declared::new(raw::CAGE_OPTION_LIST, name, default, help)
    }

    /// For a parameter: an object whose values are texts. Its default is {}.
    pub const fn map(name: &'static str, help: &'static str) -> Declared {
        Declared::new(raw::CAGE_OPTION_MAP, name, "", help)
    }

    /// Bounds the value of integers and durations (nanoseconds), and the length of texts, lists and maps.
    pub const fn range(mut self, min: i64, max: i64) -> Declared {
        self.0.min = min;
        self.0.max = max;
        self
    }
    /// Allows these values only.
    pub const fn one_of(mut self, choices: &'static [Choice]) -> Declared {
        self.0.choices = text::first(choices);
        self.0.choice_count = choices.len() as u32;
        self
    }
    /// It must be given; it then has no default.
    pub const fn required(self) -> Declared {
        self.with(raw::CAGE_OPTION_REQUIRED)
    }
    /// Never printed or logged.
    pub const fn secret(self) -> Declared {
        self.with(raw::CAGE_OPTION_SECRET)
    }
    /// `configure` takes a new value.
    pub const fn live(self) -> Declared {
        self.with(raw::CAGE_OPTION_LIVE)
    }

    /// For a parameter: a DeviceClass may give it, a ResourceClaim may not.
    pub const fn class_only(self) -> Declared {
        self.with(raw::CAGE_OPTION_CLASS_ONLY)
    }

    /// Makes a text or map parameter one of amounts as Kubernetes writes them: 4Gi. The value is the whole number.
    pub const fn quantity(self) -> Declared {
        self.with(raw::CAGE_OPTION_QUANTITY)
    }

    /// Lets items of a list be objects, in an option tables. Each comes as lines `NAME=VALUE\n`, sorted by name; a list
    /// in a table has a line for each item.
    pub const fn objects(self) -> Declared {
        self.with(raw::CAGE_OPTION_OBJECTS)
    }

    const fn with(mut self, flag: u32) -> Declared {
        self.0.flags |= flag;
        self
    }
    const fn new(kind: u32, name: &'static str, default: &'static str, help: &'static str) -> Declared {
        Declared(raw::cage_option {
            struct_size: std::mem::size_of::<raw::cage_option>() as u32,
            type_: kind,
            flags: 0,
            choice_count: 0,
            name: text::to_raw(name),
            default_text: text::to_raw(default),
            help: text::to_raw(help),
            choices: std::ptr::null(),
            min: 0,
            max: 0,
        })
    }
}

/// One kind of parameters [R19]. Names of fields may be paths of nested objects.
///
/// ```
/// # use cardcage::*;
/// const GPUS: &[Choice] = &[Choice::new("gpu")];
/// const STRATEGIES: &[Choice] = &[Choice::new("none"), Choice::new("slices")];
/// const FIELDS: &[&Declared] = &[&Declared::text("sharing.strategy", "none", "who may use it").one_of(STRATEGIES)];
/// const SCHEMA: Schema = Schema::new("gpu.example.com/v1", "GpuConfig", FIELDS).devices(GPUS);
/// ```
#[repr(transparent)]
pub struct Schema(raw::cage_params_schema);

impl Schema {
    /// Parameters with these names in `apiVersion` and `kind`, and these fields.
    pub const fn new(api_version: &'static str, kind: &'static str, fields: &'static [&'static Declared]) -> Schema {
        Schema(raw::cage_params_schema {
            struct_size: std::mem::size_of::<raw::cage_params_schema>() as u32,
            field_count: fields.len() as u32,
            api_version: text::to_raw(api_version),
            kind: text::to_raw(kind),
            fields: text::first(fields),
            device_kinds: std::ptr::null(),
            device_kind_count: 0,
            flags: 0,
        })
    }
    /// The kinds of devices (`Device::new`) that take it; without them all do.
    pub const fn devices(mut self, kinds: &'static [Choice]) -> Schema {
        self.0.device_kinds = text::first(kinds);
        self.0.device_kind_count = kinds.len() as u32;
        self
    }
    /// Makes only the last of several documents count, instead of merging them field by field.
    pub const fn whole(mut self) -> Schema {
        self.0.flags |= raw::CAGE_SCHEMA_WHOLE;
        self
    }
    /// A kind whose text the module reads itself, from `Claim::params`: the host checks only the names.
    pub const fn raw_text(api_version: &'static str, kind: &'static str) -> Schema {
        let mut schema = Schema::new(api_version, kind, &[]);
        schema.0.flags = raw::CAGE_SCHEMA_RAW;
        schema
    }
    /// Makes it the kind of documents that name neither apiVersion nor kind.
    pub const fn by_default(mut self) -> Schema {
        self.0.flags |= raw::CAGE_SCHEMA_DEFAULT;
        self
    }
}
