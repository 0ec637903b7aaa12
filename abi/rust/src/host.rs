// SPDX-License-Identifier: Apache-2.0

use crate::{raw, text, Health};
use std::fmt::Display;

/// The host's services. Any thread may call them; they never block. Keep it no longer than the module's instance lives:
/// threads that have it end before `stop` returns [R9].
#[derive(Clone, Copy)]
pub struct Host {
    raw: *const raw::cage_host,
}

// SAFETY: the host allows every call from any thread [R8].
unsafe impl Send for Host {}
unsafe impl Sync for Host {}

impl Host {
    pub(crate) fn new(raw: *const raw::cage_host) -> Host {
        Host { raw }
    }
    /// The host's version, for people.
    pub fn version(&self) -> &str {
        unsafe { text::view((*self.raw).version) }
    }
    /// One line of the host's log: `host.info(format_args!("found {} cards", count))`.
    pub fn info(&self, line: impl Display) {
        self.log(raw::CAGE_LOG_INFO, line);
    }
    /// One line for developers.
    pub fn debug(&self, line: impl Display) {
        self.log(raw::CAGE_LOG_DEBUG, line);
    }
    /// One line about something that an operator should look at.
    pub fn warn(&self, line: impl Display) {
        self.log(raw::CAGE_LOG_WARN, line);
    }
    /// One line about a failure.
    pub fn error(&self, line: impl Display) {
        self.log(raw::CAGE_LOG_ERROR, line);
    }
    /// Requests `discover`, after devices came or went.
    pub fn rescan(&self) {
        if let Some(rescan) = unsafe { (*self.raw).rescan } {
            unsafe { rescan(self.raw) }
        }
    }
    /// States the health of a device, of one cause of it [R6].
    pub fn health(&self, device: &str, health: &Health) {
        if let Some(report) = unsafe { (*self.raw).health } {
            unsafe { report(self.raw, &health.to_raw(device)) }
        }
    }
    /// The host in the form of the ABI, for functions of `raw`.
    pub fn raw(&self) -> *const raw::cage_host {
        self.raw
    }

    fn log(&self, level: u32, line: impl Display) {
        let (enabled, log) = unsafe { ((*self.raw).log_enabled, (*self.raw).log) };
        if let (Some(enabled), Some(log)) = (enabled, log) {
            unsafe {
                if enabled(self.raw, level) != 0 {
                    log(self.raw, level, text::to_raw(&line.to_string()));
                }
            }
        }
    }
}
