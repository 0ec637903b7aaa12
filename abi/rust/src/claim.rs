// SPDX-License-Identifier: Apache-2.0

use crate::device::Quantity;
use crate::error::{Error, Result, Status};
use crate::values::Values;
use crate::{raw, text};
use std::marker::PhantomData;

/// The devices that a pod requested and got: one or more.
pub struct Claim {
    raw: *const raw::cage_claim,
}

impl Claim {
    pub(crate) fn new(raw: *const raw::cage_claim) -> Claim {
        Claim { raw }
    }
    /// The claim's UID, which no other claim has.
    pub fn uid(&self) -> &str {
        unsafe { text::view((*self.raw).uid) }
    }
    /// The claim's namespace; empty with the device-plugin API.
    pub fn name_space(&self) -> &str {
        unsafe { text::view((*self.raw).name_space) }
    }
    /// The claim's name; empty with the device-plugin API.
    pub fn name(&self) -> &str {
        unsafe { text::view((*self.raw).name) }
    }
    /// The devices of the claim, one or more.
    pub fn allocations(&self) -> Vec<Allocation<'_>> {
        let list = unsafe { text::list((*self.raw).allocs, (*self.raw).alloc_count as usize) };
        let one = |(index, raw): (usize, &*const raw::cage_alloc)| Allocation {
            raw: *raw,
            index: index as i32,
            claim: PhantomData,
        };
        list.iter().enumerate().map(one).collect()
    }
    /// The opaque parameters as users wrote them; those that count more come later.
    pub fn params(&self) -> Vec<Params<'_>> {
        let list = unsafe { text::list((*self.raw).params, (*self.raw).params_count as usize) };
        list.iter().map(|raw| Params { raw: *raw, claim: PhantomData }).collect()
    }
    /// The state that `prepare` saved, or nothing. It may date from before a reboot or come from an older version.
    pub fn state(&self) -> &[u8] {
        unsafe { text::list((*self.raw).state.data as *const u8, (*self.raw).state.size) }
    }
    /// The `STATE_VERSION` of the module that saved the state.
    pub fn state_version(&self) -> u32 {
        unsafe { (*self.raw).state_version }
    }
    /// The last journal entry of `prepare`, see `Edits::journal`, or nothing.
    pub fn journal(&self) -> &[u8] {
        unsafe {
            if !has!(self.raw, journal) {
                return &[];
            }
            text::list((*self.raw).journal.data as *const u8, (*self.raw).journal.size)
        }
    }
    /// The resource name with the device-plugin API, "example.com/nic"; empty for a claim.
    pub fn resource(&self) -> &str {
        unsafe {
            if !has!(self.raw, resource) {
                return "";
            }
            text::view((*self.raw).resource)
        }
    }
    /// True if the claim was prepared before the node booted.
    pub fn other_boot(&self) -> bool {
        unsafe { (*self.raw).flags & raw::CAGE_CLAIM_OTHER_BOOT != 0 }
    }
}

/// One device of a claim.
pub struct Allocation<'a> {
    raw: *const raw::cage_alloc,
    pub(crate) index: i32,
    claim: PhantomData<&'a Claim>,
}

impl<'a> Allocation<'a> {
    /// The id that `discover` reported.
    pub fn device(&self) -> &'a str {
        unsafe { text::view((*self.raw).device_id) }
    }
    /// The claim's request that this device fulfils.
    pub fn request(&self) -> &'a str {
        unsafe { text::view((*self.raw).request) }
    }
    /// Identifies the share of a shared device; empty for other devices.
    pub fn share(&self) -> &'a str {
        unsafe { text::view((*self.raw).share_id) }
    }
    /// Others may be using the device: observe it, never reset or reconfigure it (KEP-5018).
    pub fn admin(&self) -> bool {
        unsafe { (*self.raw).flags & raw::CAGE_ALLOC_ADMIN != 0 }
    }
    /// The amounts of its capacity that the claim consumes, by name.
    pub fn consumed(&self) -> Vec<(&'a str, Quantity)> {
        let list = unsafe { text::list((*self.raw).consumed, (*self.raw).consumed_count as usize) };
        list.iter().map(|raw| (unsafe { text::view(raw.name) }, Quantity::from_raw(raw))).collect()
    }
    /// The declared parameters for this device. Only in `prepare`, and only if a schema is for devices of its kind.
    pub fn params(&self) -> Result<Values<'a>> {
        match unsafe { (*self.raw).values } {
            values if values.is_null() => {
                Err(Error::new(Status::Internal, "no parameters: none declared, or not in prepare"))
            }
            values => Ok(Values::new(values)),
        }
    }
}

/// Opaque parameters as the user wrote them, for modules that declare none.
pub struct Params<'a> {
    raw: *const raw::cage_params,
    claim: PhantomData<&'a Claim>,
}

impl<'a> Params<'a> {
    /// The parameters as JSON.
    pub fn json(&self) -> &'a str {
        unsafe { text::view((*self.raw).json) }
    }
    /// True if they come from a DeviceClass, false if from the claim.
    pub fn from_class(&self) -> bool {
        unsafe { (*self.raw).source == raw::CAGE_PARAMS_CLASS }
    }
    /// None = all.
    pub fn requests(&self) -> Vec<&'a str> {
        unsafe { text::views((*self.raw).requests, (*self.raw).request_count) }
    }
}
