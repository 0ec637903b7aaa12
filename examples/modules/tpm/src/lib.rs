// SPDX-License-Identifier: Apache-2.0
//! TPM 2.0 chips for pods: the kernel's resource manager, /dev/tpmrmN, for many at a time; the chip itself, /dev/tpmN,
//! for one, if the operator wants that.
//!
//! Source: Documentation/ABI/stable/sysfs-class-tpm and Documentation/security/tpm of the kernel.

use cardcage::{
    Call, Cause, Claim, Declared, Device, DeviceNode, Edits, Error, Health, Host, Module, Quantity, RequestPolicy,
    Result, Snapshot, Status, Values,
};
use cardcage::{DeviceAction, Events, HandleEvents, Watch};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

const MANAGED: &str = "tpm"; // the kinds of devices
const RAW: &str = "tpm-raw";
const SHARES: &str = "pods";
const CAUSE: &str = "Node";

struct Tpms {
    host: Host,
    sysfs: PathBuf,
    devfs: PathBuf,
    pods: i64,
    raw: bool,
}

/// A device: one of the two nodes of a chip.
struct Tpm {
    name: String,  // file name of the node: "tpmrm0"
    chip: PathBuf, // its folder in sysfs
}

impl Tpm {
    fn is_raw(&self) -> bool {
        !self.name.starts_with("tpmrm")
    }
    fn number(&self) -> &str {
        self.name.trim_start_matches(|c: char| !c.is_ascii_digit())
    }
}

impl Module for Tpms {
    const ID: &'static str = "dev.cardcage.example.tpm";
    const VERSION: &'static str = "1.0.0";
    const VENDOR: &'static str = "Cardcage";
    const OPTIONS: &'static [&'static Declared] = &[
        &Declared::integer("pods", "16", "how many claims may hold a resource manager at a time").range(1, 1000),
        &Declared::boolean("raw", "false", "offer the chips without the resource manager, too: /dev/tpm0"),
        &Declared::text("sysfs", "/sys", "where the kernel describes the chips"),
        &Declared::text("devfs", "/dev", "where their nodes are"),
    ];
    const CAUSES: &'static [&'static Cause] = &[&Cause::new(CAUSE, "the chip is gone, or has no node")];
    const WATCH: Watch = Watch::new().uevents(UEVENTS);
    const CHECK: Option<DeviceAction<Self>> = Some(Self::check);
    const EVENTS: Option<HandleEvents<Self>> = Some(Self::events);

    fn create(_: &Call, host: Host, options: &Values) -> Result<Self> {
        Ok(Tpms {
            host,
            sysfs: options.text("sysfs").into(),
            devfs: options.text("devfs").into(),
            pods: options.integer("pods"),
            raw: options.boolean("raw"),
        })
    }

    /// A node without a TPM is not an error: the list is empty.
    fn discover(&self, _: &Call, out: &mut Snapshot) -> Result {
        for chip in names_in(&self.sysfs.join("class/tpm")) {
            let folder = self.sysfs.join("class/tpm").join(&chip);
            let version = text_in(&folder.join("tpm_version_major"));
            if version != "2" {
                let found = if version.is_empty() { "1.2" } else { &version };
                let why =
                    format!("it speaks TPM {}; only TPM 2.0 has a resource manager, which lets pods share it", found);
                out.not_offered(&chip, &why);
                continue;
            }
            let managed = chip.replacen("tpm", "tpmrm", 1);
            let names = if self.raw { vec![managed, chip] } else { vec![managed] };
            for name in names {
                self.report(&Tpm { name, chip: folder.clone() }, out)?;
            }
        }
        Ok(())
    }

    fn prepare(&self, _: &Call, claim: &Claim, edits: &mut Edits) -> Result {
        for allocation in claim.allocations() {
            let name = allocation.device();
            let path = format!("/dev/{}", name);
            let numbers = self.numbers(name).map_err(|why| Error::new(Status::Unavailable, why))?;
            let node = DeviceNode {
                path: path.clone(),
                permissions: "rw".into(),
                kind: "c".into(),
                numbers: Some(numbers),
                ..Default::default()
            };
            edits.of(&allocation).device_node(&node)?.env("TPM2TOOLS_TCTI", &format!("device:{}", path))?;
        }
        Ok(())
    }

    /// The kernel ends the sessions of a container with its last descriptor.
    fn unprepare(&self, _: &Call, _: &Claim) -> Result {
        Ok(())
    }
}

const UEVENTS: &[cardcage::Choice] = &[cardcage::Choice::new("tpm"), cardcage::Choice::new("tpmrm")];

impl Tpms {
    fn report(&self, tpm: &Tpm, out: &mut Snapshot) -> Result {
        let kind = if tpm.is_raw() { RAW } else { MANAGED };
        let mut device = Device::new(&tpm.name, kind)
            .attribute("kind", kind)
            .attribute("major", 2)
            .attribute("path", format!("/dev/{}", tpm.name))
            .health(self.health(&tpm.name));
        let optional = [
            ("driver", target_name(&tpm.chip.join("device/driver"))),
            ("firmware", text_in(&tpm.chip.join("device/firmware_node/path"))),
            ("pcrBanks", pcr_banks(&tpm.chip)),
        ];
        for (name, value) in optional {
            if !value.is_empty() {
                device = device.attribute(name, value);
            }
        }
        if tpm.is_raw() || self.pods == 1 {
            out.add(&device);
            return Ok(());
        }
        let one = Quantity::count(1);
        if out.add(&device.shared().capacity(SHARES, Quantity::count(self.pods))) {
            out.policy(&tpm.name, SHARES, &RequestPolicy::new(one).values(&[one]))?;
        }
        Ok(())
    }

    /// Major and minor of the node. It is never opened: only one program may have /dev/tpm0 open.
    fn numbers(&self, name: &str) -> std::result::Result<(i64, i64), String> {
        let path = self.devfs.join(name);
        let found = fs::symlink_metadata(&path)
            .map_err(|error| format!("'/dev/{}': {}; is the driver of the TPM loaded?", name, error))?;
        if !found.file_type().is_char_device() {
            return Err(format!("'/dev/{}' is not a character device; remove the file, udev makes the node", name));
        }
        let device = found.rdev();
        let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00));
        Ok((major as i64, minor as i64))
    }

    fn health(&self, name: &str) -> Health {
        match self.numbers(name) {
            Ok(_) => Health::ok().about(CAUSE),
            Err(why) => Health::bad("NoNode", why).about(CAUSE),
        }
    }

    fn check(&self, _: &Call, device: &str) -> Result {
        let chip = Tpm { name: device.into(), chip: PathBuf::new() };
        if !self.sysfs.join("class/tpm").join(format!("tpm{}", chip.number())).exists() {
            self.host.rescan(); // discover() leaves it out
        } else {
            self.host.health(device, &self.health(device));
        }
        Ok(())
    }

    fn events(&self, _: &Call, _: &Events) -> Result {
        self.host.rescan();
        Ok(())
    }
}

fn text_in(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default().trim().to_string()
}

/// The sorted names of a folder; none if there is no such folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// "tpm_crb" for a link to ../../bus/acpi/drivers/tpm_crb.
fn target_name(link: &Path) -> String {
    let target = fs::read_link(link).unwrap_or_default();
    target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// "sha1,sha256": the hashes for which the chip has registers, from the folders pcr-sha1 and pcr-sha256.
fn pcr_banks(chip: &Path) -> String {
    let names = names_in(chip);
    let banks: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix("pcr-")).collect();
    banks.join(",")
}

cardcage::export_module!(Tpms);
