// SPDX-License-Identifier: Apache-2.0

use crate::{raw, text};
use std::time::Duration;

/// The host's treatment of pods while a device is unhealthy; a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Taint {
    /// Pods are treated as before.
    None = raw::CAGE_TAINT_NONE,
    /// No new pod gets the device.
    NoSchedule = raw::CAGE_TAINT_NO_SCHEDULE,
    /// No new pod gets the device, and pods that have it are evicted.
    NoExecute = raw::CAGE_TAINT_NO_EXECUTE,
    /// A taint with the effect None, which keeps no pod away.
    Inform = raw::CAGE_TAINT_INFORM,
}

/// A statement about a device, or about one cause: a thing that can be wrong with it, such as Ecc. It replaces the
/// earlier statement about the same device and cause; the worst cause is the health of the device [R6].
#[derive(Clone, Debug)]
pub struct Health {
    state: u32,
    reason: String,
    message: String,
    taint: Taint,
    timeout: Duration,
    cause: String,
    taint_key: String,
    taint_value: String,
    value: Option<f64>,
}

impl Health {
    /// All is well.
    pub fn ok() -> Health {
        Health::new(raw::CAGE_HEALTH_OK, "", "")
    }
    /// `reason` is a CamelCase token, `message` is for people.
    pub fn bad(reason: impl Into<String>, message: impl Into<String>) -> Health {
        Health::new(raw::CAGE_HEALTH_BAD, reason, message)
    }
    /// The device works, but not as it should; it stays in use.
    pub fn degraded(reason: impl Into<String>, message: impl Into<String>) -> Health {
        Health::new(raw::CAGE_HEALTH_DEGRADED, reason, message)
    }
    /// The state cannot be found out.
    pub fn unknown(reason: impl Into<String>, message: impl Into<String>) -> Health {
        Health::new(raw::CAGE_HEALTH_UNKNOWN, reason, message)
    }
    /// Nothing monitors the device; it stays in use.
    pub fn unmonitored(reason: impl Into<String>, message: impl Into<String>) -> Health {
        Health::new(raw::CAGE_HEALTH_UNMONITORED, reason, message)
    }
    /// A CamelCase token. Without one the statement is about the device as a whole, which is a cause, too.
    pub fn about(mut self, cause: impl Into<String>) -> Health {
        self.cause = cause.into();
        self
    }
    /// A measured value; the cause has a unit.
    pub fn value(mut self, value: f64) -> Health {
        self.value = Some(value);
        self
    }
    /// The treatment of pods while this lasts.
    pub fn taint(mut self, taint: Taint) -> Health {
        self.taint = taint;
        self
    }
    /// Instead of DRIVER/unhealthy: "example.com/ecc".
    pub fn taint_key(mut self, key: impl Into<String>) -> Health {
        self.taint_key = key.into();
        self
    }
    /// Instead of the reason.
    pub fn taint_value(mut self, value: impl Into<String>) -> Health {
        self.taint_value = value.into();
        self
    }
    /// The host reports the device as unknown after this silence; in whole seconds, zero = never.
    pub fn timeout(mut self, timeout: Duration) -> Health {
        self.timeout = timeout;
        self
    }

    fn new(state: u32, reason: impl Into<String>, message: impl Into<String>) -> Health {
        let (reason, message) = (reason.into(), message.into());
        let (cause, taint_key, taint_value) = (String::new(), String::new(), String::new());
        Health {
            state,
            reason,
            message,
            taint: Taint::None,
            timeout: Duration::ZERO,
            cause,
            taint_key,
            taint_value,
            value: None,
        }
    }
    /// Borrows from this and from `device`.
    pub(crate) fn to_raw(&self, device: &str) -> raw::cage_health {
        raw::cage_health {
            struct_size: std::mem::size_of::<raw::cage_health>() as u32,
            state: self.state,
            device_id: text::to_raw(device),
            reason: text::to_raw(&self.reason),
            message: text::to_raw(&self.message),
            timeout_s: self.timeout.as_secs() as u32,
            taint: self.taint as u32,
            cause: text::to_raw(&self.cause),
            taint_key: text::to_raw(&self.taint_key),
            taint_value: text::to_raw(&self.taint_value),
            value: self.value.unwrap_or(0.0),
            has_value: self.value.is_some() as u32,
            reserved: 0,
        }
    }
}
