// SPDX-License-Identifier: Apache-2.0
//! Conditions that make a device ready for a claim before a pod gets it.

use crate::error::{Error, Result, Status};
use crate::{raw, text, Allocation, Condition};

/// Makes a device ready after its allocation, before a pod gets it (KEP-5007). Chain:
/// `Binding::new(&["Ready"], &["Failed"]).to_node()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub(crate) conditions: Vec<String>,
    pub(crate) failures: Vec<String>,
    pub(crate) to_node: bool,
}

impl Binding {
    /// 1 to 4 types of conditions that must all be true, and 1 to 4 of which one makes the scheduler give the pod another
    /// device.
    pub fn new(conditions: &[&str], failures: &[&str]) -> Binding {
        let owned = |types: &[&str]| types.iter().map(|text| text.to_string()).collect();
        Binding { conditions: owned(conditions), failures: owned(failures), to_node: false }
    }
    /// The claim stays on the node that was chosen for it.
    pub fn to_node(mut self) -> Binding {
        self.to_node = true;
        self
    }
}

/// The conditions of a claim's devices that `BIND` states, each time.
pub struct Conditions {
    raw: *mut raw::cage_bind_sink,
}

impl Conditions {
    pub(crate) fn new(raw: *mut raw::cage_bind_sink) -> Conditions {
        Conditions { raw }
    }

    /// States a condition of one device of the claim.
    pub fn state(&mut self, allocation: &Allocation, condition: &Condition) -> Result {
        let raw = condition.to_raw();
        let state = unsafe { (*self.raw).condition }
            .ok_or_else(|| Error::new(Status::Unimplemented, "the host takes no conditions"))?;
        text::must(unsafe { state(self.raw, allocation.index, &raw) })
    }
}
