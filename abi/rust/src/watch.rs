// SPDX-License-Identifier: Apache-2.0

use crate::declared::Choice;
use crate::error::{Error, Result, Status};
use crate::host::Host;
use crate::{raw, text};
use std::ffi::CString;
use std::os::unix::io::RawFd;

/// Texts that the daemon watches for [R20]. `const XID: &[Choice] = &[Choice::new("NVRM: Xid")];`
pub struct Watch {
    pub(crate) kernel_log: &'static [Choice],
    pub(crate) uevents: &'static [Choice],
}

impl Watch {
    /// Watches for nothing.
    pub const fn new() -> Watch {
        Watch { kernel_log: &[], uevents: &[] }
    }
    /// Beginnings of kernel messages.
    pub const fn kernel_log(mut self, beginnings: &'static [Choice]) -> Watch {
        self.kernel_log = beginnings;
        self
    }
    /// Subsystems whose uevents it hears of: "pci".
    pub const fn uevents(mut self, subsystems: &'static [Choice]) -> Watch {
        self.uevents = subsystems;
        self
    }
}

impl Default for Watch {
    fn default() -> Watch {
        Watch::new()
    }
}

/// Something that the host saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The message.
    KernelLog(&'a str),
    /// Lines: "ACTION=change", "DEVPATH=...".
    Uevent(&'a str),
    /// A descriptor of `Host::poll` is ready.
    Descriptor(i32),
    /// From a later host: a reason to check the hardware.
    Other(u32),
}

/// Events since the last call, oldest first.
pub struct Events<'a> {
    events: &'a [*const raw::cage_event],
    flags: u32,
}

impl<'a> Events<'a> {
    pub(crate) fn new(events: &'a [*const raw::cage_event], flags: u32) -> Events<'a> {
        Events { events, flags }
    }
    /// Some before these were dropped: check the hardware.
    pub fn lost(&self) -> bool {
        self.flags & raw::CAGE_EVENTS_LOST != 0
    }
    /// The events, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Event<'a>> + 'a {
        self.events.iter().map(|event| unsafe {
            let event = &**event;
            match event.type_ {
                raw::CAGE_EVENT_KERNEL_LOG => Event::KernelLog(text::view(event.text)),
                raw::CAGE_EVENT_UEVENT => Event::Uevent(text::view(event.text)),
                raw::CAGE_EVENT_DESCRIPTOR => Event::Descriptor(event.descriptor),
                other => Event::Other(other),
            }
        })
    }
}

impl Host {
    /// An event follows each time that the descriptor becomes ready [R20]. Close it after `stop_polling` only.
    pub fn poll(&self, descriptor: RawFd) -> Result {
        let poll = self.polling()?;
        done(poll.add.map_or(raw::CAGE_UNIMPLEMENTED, |add| unsafe { add(self.raw(), descriptor) }))
    }
    /// No further event comes for the descriptor.
    pub fn stop_polling(&self, descriptor: RawFd) -> Result {
        let poll = self.polling()?;
        done(poll.remove.map_or(raw::CAGE_UNIMPLEMENTED, |remove| unsafe { remove(self.raw(), descriptor) }))
    }

    fn polling(&self) -> Result<&raw::cage_poll> {
        let id = CString::new(raw::CAGE_HOST_POLL).expect("a constant without a zero byte");
        let family = unsafe { (*self.raw()).extension.map(|extension| extension(self.raw(), id.as_ptr())) };
        let poll = family.and_then(|family| unsafe { (family as *const raw::cage_poll).as_ref() });
        poll.ok_or_else(|| Error::new(Status::Unimplemented, "waiting for descriptors needs a host with cage.poll/1"))
    }
}

fn done(status: raw::cage_status) -> Result {
    match status {
        raw::CAGE_OK => Ok(()),
        _ => Err(Error::new(Status::FailedPrecondition, "the host does not wait for the descriptor; its log says why")),
    }
}
