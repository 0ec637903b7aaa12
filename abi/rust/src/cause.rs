// SPDX-License-Identifier: Apache-2.0

use crate::{raw, text, Taint};
use std::time::Duration;

/// The severity of a cause that is not OK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Severity {
    /// The severity that the module states.
    AsStated = raw::CAGE_HEALTH_UNKNOWN,
    /// Pods must not use the device.
    Bad = raw::CAGE_HEALTH_BAD,
    /// The device works, but not as it should; it stays in use.
    Degraded = raw::CAGE_HEALTH_DEGRADED,
    /// Nothing monitors the device; it stays in use.
    Unmonitored = raw::CAGE_HEALTH_UNMONITORED,
    /// The cause is shown and changes nothing.
    Ignored = raw::CAGE_HEALTH_OK,
}

/// When a cause is over. Times are in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The module has stated so for this long.
    Report(Duration),
    /// Nothing bad was stated for this long.
    Silence(Duration),
    /// Its value has not changed for this long.
    Stable(Duration),
    /// An operator says so.
    Operator,
}

/// A cause that the module states, and the rule by which the host judges it unless the operator writes another one
/// [R23]. A module that declares some states no others.
///
/// ```
/// # use cardcage::*;
/// const HEAT: Cause = Cause::new("Temperature", "the hottest sensor").unit("Cel").above(95.0, 90.0, Severity::Degraded);
///
/// fn check(host: &Host, device: &str, degrees: f64) {
///     host.health(device, &Health::ok().about("Temperature").value(degrees));
/// }
/// ```
#[repr(transparent)]
pub struct Cause(raw::cage_cause);

impl Cause {
    /// `name` is that of `Health::about`, `help` one line: what can be wrong.
    pub const fn new(name: &'static str, help: &'static str) -> Cause {
        Cause(raw::cage_cause {
            struct_size: std::mem::size_of::<raw::cage_cause>() as u32,
            flags: 0,
            name: text::to_raw(name),
            help: text::to_raw(help),
            unit: text::to_raw(""),
            limit: 0.0,
            clear_limit: 0.0,
            severity: raw::CAGE_HEALTH_UNKNOWN,
            hold_down_s: 0,
            recovery: raw::CAGE_RECOVERY_REPORT,
            recovery_s: 0,
            relapses: 0,
            window_s: 0,
            taint: raw::CAGE_TAINT_NONE,
            reserved: 0,
            taint_key: text::to_raw(""),
            taint_value: text::to_raw(""),
        })
    }
    /// Statements have a value, in this unit: a UCUM code such as "Cel", "W", "1".
    pub const fn unit(mut self, code: &'static str) -> Cause {
        self.0.unit = text::to_raw(code);
        self
    }
    /// It is stated when it happens; the module never states its end.
    pub const fn event(mut self) -> Cause {
        self.0.flags |= raw::CAGE_CAUSE_EVENT;
        self
    }
    /// Bad while the value is at least `limit`, whatever state is stated; good again from `clear` on.
    pub const fn above(self, limit: f64, clear: f64, severity: Severity) -> Cause {
        self.limited(raw::CAGE_CAUSE_ABOVE, limit, clear, severity)
    }
    /// The same while the value is at most `limit`.
    pub const fn below(self, limit: f64, clear: f64, severity: Severity) -> Cause {
        self.limited(raw::CAGE_CAUSE_BELOW, limit, clear, severity)
    }
    /// The severity of each statement that is not OK.
    pub const fn severity(mut self, severity: Severity) -> Cause {
        self.0.severity = severity as u32;
        self
    }
    /// It counts after it has lasted this long.
    pub const fn hold_down(mut self, time: Duration) -> Cause {
        self.0.hold_down_s = time.as_secs() as u32;
        self
    }
    /// When the cause ends by itself.
    pub const fn recovery(mut self, recovery: Recovery) -> Cause {
        let (kind, time) = match recovery {
            Recovery::Report(time) => (raw::CAGE_RECOVERY_REPORT, time),
            Recovery::Silence(time) => (raw::CAGE_RECOVERY_SILENCE, time),
            Recovery::Stable(time) => (raw::CAGE_RECOVERY_STABLE, time),
            Recovery::Operator => (raw::CAGE_RECOVERY_OPERATOR, Duration::from_secs(0)),
        };
        self.0.recovery = kind;
        self.0.recovery_s = time.as_secs() as u32;
        self
    }
    /// After so many relapses within the window, only an operator ends it.
    pub const fn relapses(mut self, count: u32, window: Duration) -> Cause {
        self.0.relapses = count;
        self.0.window_s = window.as_secs() as u32;
        self
    }
    /// The taint of statements without one; the default key is DRIVER/unhealthy, the default value the reason.
    pub const fn taint(mut self, taint: Taint, key: &'static str, value: &'static str) -> Cause {
        self.0.taint = taint as u32;
        self.0.taint_key = text::to_raw(key);
        self.0.taint_value = text::to_raw(value);
        self
    }

    const fn limited(mut self, flag: u32, limit: f64, clear: f64, severity: Severity) -> Cause {
        self.0.flags |= flag;
        self.0.limit = limit;
        self.0.clear_limit = clear;
        self.severity(severity)
    }
}
