// SPDX-License-Identifier: Apache-2.0

use crate::declared::Choice;
use crate::error::{Error, Result, Status};
use crate::{raw, text};

/// One declared metric. The host prefixes its name, unless it is in upper case, and adds the labels `module`, `device`,
/// `namespace`, `pod`, `container` and `claim` [R17]:
/// `const HEAT: Metric = Metric::gauge("temperature_celsius", "of the hottest sensor");`
#[repr(transparent)]
pub struct Metric(raw::cage_metric);

impl Metric {
    /// A value that rises and falls.
    pub const fn gauge(name: &'static str, help: &'static str) -> Metric {
        Metric::new(raw::CAGE_METRIC_GAUGE, name, help)
    }
    /// It only rises while the instance runs, and its name ends in `_total`, unless it is in upper case.
    pub const fn counter(name: &'static str, help: &'static str) -> Metric {
        Metric::new(raw::CAGE_METRIC_COUNTER, name, help)
    }
    /// The names of its labels: `const LINK: &[Choice] = &[Choice::new("link")];`
    pub const fn labels(mut self, names: &'static [Choice]) -> Metric {
        self.0.labels = text::first(names);
        self.0.label_count = names.len() as u32;
        self
    }
    fn name(&self) -> &str {
        unsafe { text::view(self.0.name) }
    }

    const fn new(kind: u32, name: &'static str, help: &'static str) -> Metric {
        Metric(raw::cage_metric {
            struct_size: std::mem::size_of::<raw::cage_metric>() as u32,
            type_: kind,
            name: text::to_raw(name),
            help: text::to_raw(help),
            labels: std::ptr::null(),
            label_count: 0,
            reserved: 0,
        })
    }
}

/// Every current sample, each time.
pub struct Samples {
    raw: *mut raw::cage_metrics_sink,
    declared: &'static [&'static Metric],
}

impl Samples {
    pub(crate) fn new(raw: *mut raw::cage_metrics_sink, declared: &'static [&'static Metric]) -> Samples {
        Samples { raw, declared }
    }

    /// Adds a sample of a device, or of the module itself if `device` is empty, with a value for each label of the
    /// metric. Returns false if the host refused it and logged why; the other samples still count.
    pub fn add(&mut self, metric: &Metric, device: &str, value: f64, labels: &[&str]) -> Result<bool> {
        let found = self.declared.iter().position(|declared| declared.name() == metric.name());
        let index = found.ok_or_else(|| wrong(metric, "is not in METRICS"))?;
        if labels.len() != metric.0.label_count as usize {
            return Err(wrong(metric, "needs one value for each of its labels"));
        }
        let values: Vec<raw::cage_str> = labels.iter().map(|value| text::to_raw(value)).collect();
        let sample = unsafe { (*self.raw).sample }.ok_or_else(|| wrong(metric, "finds no sink"))?;
        let status = unsafe { sample(self.raw, index as u32, text::to_raw(device), text::first(&values), value) };
        Ok(status == raw::CAGE_OK)
    }
}

fn wrong(metric: &Metric, why: &str) -> Error {
    Error::new(Status::InvalidArgument, format!("metric '{}' {}", metric.name(), why))
}

/// Every label that the node should have, each time.
pub struct Labels(*mut raw::cage_label_sink);

impl Labels {
    pub(crate) fn new(raw: *mut raw::cage_label_sink) -> Labels {
        Labels(raw)
    }

    /// Returns false if the host refused the label and logged why; the others still count.
    pub fn add(&mut self, name: &str, value: &str) -> bool {
        let (name, value) = (text::to_raw(name), text::to_raw(value));
        unsafe { (*self.0).label.map_or(false, |label| label(self.0, name, value) == raw::CAGE_OK) }
    }
}
