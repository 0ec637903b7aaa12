// SPDX-License-Identifier: Apache-2.0

use crate::call::Call;
use crate::error::{Error, Result, Status};
use crate::host::Host;
use crate::{raw, text};
use std::ffi::CString;
use std::os::raw::c_void;
use std::time::Duration;

/// One write to a file of sysfs or procfs. The key `writes` of the module's configuration must match the path, here and
/// below.
#[derive(Clone, Default)]
pub struct FileWrite {
    /// The device that the hardware belongs to.
    pub device: String,
    /// "/sys/bus/pci/devices/0000:3b:00.0/reset"
    pub path: String,
    /// At most 4096 bytes.
    pub data: Vec<u8>,
    /// Zero = until the deadline of the call.
    pub limit: Duration,
}

/// One ioctl of a device node.
#[derive(Clone, Default)]
pub struct Ioctl {
    /// The device that the hardware belongs to.
    pub device: String,
    /// "/dev/xclmgmt256"
    pub path: String,
    /// The number of the request.
    pub request: u64,
    /// The request's argument, read and written back; at most 4096 bytes.
    pub argument: Vec<u8>,
    /// A file to map, such as a bitstream; empty = none.
    pub data_path: String,
    /// Where in the argument the address of its bytes goes.
    pub data_offset: u32,
    /// Zero = until the deadline of the call.
    pub limit: Duration,
    /// Hash of the whole file, as sha256sum prints it; empty = not checked.
    pub data_sha256: String,
    /// The address is that of this byte of the file.
    pub data_start: u64,
    /// Fails with `FailedPrecondition` if another process has a DFL node open.
    pub exclusive: bool,
}

/// A process of the daemon makes these accesses, which may take until the limit. The device is stuck if one has not
/// ended at the limit. On the call's thread.
impl Host {
    /// Whether the host makes such accesses.
    pub fn has_writes(&self) -> bool {
        self.writes().is_some()
    }
    /// Writes to a file of the hardware.
    pub fn write_file(&self, call: &Call, write: &FileWrite) -> Result {
        let raw = raw::cage_file_write {
            struct_size: std::mem::size_of::<raw::cage_file_write>() as u32,
            timeout_ms: write.limit.as_millis() as u32,
            device_id: text::to_raw(&write.device),
            path: text::to_raw(&write.path),
            data: raw::cage_bytes { data: write.data.as_ptr() as *const c_void, size: write.data.len() },
        };
        let file = self.must_write()?.file.ok_or_else(lacking)?;
        call.must(unsafe { file(self.raw(), call.raw(), &raw) })
    }
    /// Returns the argument as the kernel left it.
    pub fn ioctl(&self, call: &Call, ioctl: &Ioctl) -> Result<Vec<u8>> {
        let mut argument = ioctl.argument.clone();
        let raw = raw::cage_ioctl {
            struct_size: std::mem::size_of::<raw::cage_ioctl>() as u32,
            timeout_ms: ioctl.limit.as_millis() as u32,
            device_id: text::to_raw(&ioctl.device),
            path: text::to_raw(&ioctl.path),
            request: ioctl.request,
            argument: argument.as_mut_ptr() as *mut c_void,
            argument_size: argument.len() as u32,
            data_offset: ioctl.data_offset,
            data_path: text::to_raw(&ioctl.data_path),
            data_sha256: text::to_raw(&ioctl.data_sha256),
            data_start: ioctl.data_start,
            flags: if ioctl.exclusive { raw::CAGE_IOCTL_EXCLUSIVE } else { 0 },
            reserved: 0,
        };
        let make = self.must_write()?.ioctl.ok_or_else(lacking)?;
        call.must(unsafe { make(self.raw(), call.raw(), &raw) })?;
        Ok(argument)
    }
    /// Binds the PCI function of the device to the driver.
    pub fn bind_driver(&self, call: &Call, device: &str, pci_bus_id: &str, driver: &str) -> Result {
        if driver.is_empty() {
            return Err(Error::new(Status::InvalidArgument, "bind_driver needs a driver; restore_driver undoes it"));
        }
        self.switch(call, device, pci_bus_id, driver)
    }
    /// Binds it to the driver that it had before the first `bind_driver`; does nothing if that was never called.
    pub fn restore_driver(&self, call: &Call, device: &str, pci_bus_id: &str) -> Result {
        self.switch(call, device, pci_bus_id, "")
    }

    fn switch(&self, call: &Call, device: &str, pci_bus_id: &str, driver: &str) -> Result {
        let switch = self.must_write()?.driver.ok_or_else(lacking)?;
        let (device, pci_bus_id, driver) = (text::to_raw(device), text::to_raw(pci_bus_id), text::to_raw(driver));
        call.must(unsafe { switch(self.raw(), call.raw(), device, pci_bus_id, driver) })
    }
    fn must_write(&self) -> Result<&'static raw::cage_write> {
        self.writes().ok_or_else(lacking)
    }
    fn writes(&self) -> Option<&'static raw::cage_write> {
        let id = CString::new(raw::CAGE_HOST_WRITE).expect("a constant without a zero byte");
        unsafe {
            let family = (*self.raw()).extension.map(|extension| extension(self.raw(), id.as_ptr()))?;
            (family as *const raw::cage_write).as_ref()
        }
    }
}

fn lacking() -> Error {
    Error::new(Status::Unimplemented, "writing to hardware needs a host with cage.write/1")
}
