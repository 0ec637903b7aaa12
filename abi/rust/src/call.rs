// SPDX-License-Identifier: Apache-2.0

use crate::error::{Error, Result, Status};
use crate::{raw, text};
use std::os::raw::{c_int, c_long, c_short, c_ulong};
use std::time::Duration;

/// One call from the host.
pub struct Call {
    raw: *const raw::cage_call,
}

impl Call {
    pub(crate) fn new(raw: *const raw::cage_call) -> Call {
        Call { raw }
    }
    /// The call in the form of the ABI, for functions of `raw`.
    pub fn raw(&self) -> *const raw::cage_call {
        self.raw
    }
    /// Identifies the call, for the module's log lines.
    pub fn id(&self) -> &str {
        unsafe { text::view((*self.raw).id) }
    }
    /// The number of times that the host has tried this call for the claim since it last succeeded, this one included.
    pub fn attempt(&self) -> u32 {
        unsafe { (*self.raw).attempt }
    }
    /// True once the deadline has passed or the caller has given up: return soon [R4].
    pub fn cancelled(&self) -> bool {
        unsafe { (*self.raw).cancelled.map_or(false, |cancelled| cancelled(self.raw) != 0) }
    }
    /// Readable once the call is cancelled. Poll it beside your own descriptors; never read or close it. -1 = none.
    pub fn cancel_fd(&self) -> i32 {
        unsafe { (*self.raw).cancel_fd }
    }
    /// The time until the deadline; `None` without a deadline.
    pub fn time_left(&self) -> Option<Duration> {
        match unsafe { (*self.raw).deadline_ns } {
            0 => None,
            deadline => Some(Duration::from_nanos(deadline.saturating_sub(monotonic_ns()))),
        }
    }
    /// Reports the progress of the call, for the people who wait for it; without a percentage if it is unknown.
    pub fn progress(&self, text: &str, percent: Option<u32>) {
        let tell = unsafe { has!(self.raw, progress).then(|| (*self.raw).progress).flatten() };
        if let Some(tell) = tell {
            unsafe { tell(self.raw, percent.unwrap_or(u32::MAX), text::to_raw(text)) }
        }
    }
    /// Fails if no caller waits for the result any more. Call it between the steps of long work.
    pub fn checkpoint(&self) -> Result {
        if self.cancelled() {
            return Err(Error::new(Status::Cancelled, "cancelled by the host"));
        }
        if self.time_left() == Some(Duration::ZERO) {
            return Err(Error::new(Status::DeadlineExceeded, "not done at the deadline"));
        }
        Ok(())
    }
    /// Sleeps, and fails at the deadline or when the call is cancelled.
    pub fn sleep(&self, time: Duration) -> Result {
        let end = monotonic_ns().saturating_add(time.as_nanos() as u64);
        loop {
            self.checkpoint()?;
            let wanted = Duration::from_nanos(end.saturating_sub(monotonic_ns()));
            if wanted == Duration::ZERO {
                return Ok(());
            }
            let left = self.time_left().map_or(wanted, |left| left.min(wanted));
            let mut cancel = PollFd { fd: self.cancel_fd(), events: POLLIN, revents: 0 };
            unsafe { poll(&mut cancel, 1, (left.as_millis() + 1).min(60_000) as c_int) };
        }
    }
    /// Returns why a function of the host has failed in this call, or the module's later explanation.
    pub fn explained(&self) -> String {
        let explained = unsafe { has!(self.raw, explained).then(|| (*self.raw).explained).flatten() };
        explained.map_or_else(String::new, |explained| unsafe { text::view(explained(self.raw)) }.to_owned())
    }
    /// The result of a function of the host. The error has the text of the host's explanation, for modules that add
    /// their own context.
    pub(crate) fn must(&self, status: raw::cage_status) -> Result {
        match status {
            raw::CAGE_OK => Ok(()),
            _ => Err(Error { status, text: self.explained() }),
        }
    }
    pub(crate) fn explain(&self, why: &str) {
        if let (false, Some(explain)) = (why.is_empty(), unsafe { (*self.raw).explain }) {
            unsafe { explain(self.raw, text::to_raw(why)) }
        }
    }
}

// The standard library reads this clock, too, but shows no numbers that compare with a deadline.
#[repr(C)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}
#[repr(C)]
struct PollFd {
    fd: c_int,
    events: c_short,
    revents: c_short,
}
const CLOCK_MONOTONIC: c_int = 1;
const POLLIN: c_short = 1;
extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn poll(descriptors: *mut PollFd, count: c_ulong, timeout_ms: c_int) -> c_int;
}

fn monotonic_ns() -> u64 {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut now) };
    now.seconds as u64 * 1_000_000_000 + now.nanoseconds as u64
}
