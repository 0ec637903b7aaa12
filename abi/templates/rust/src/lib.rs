// SPDX-License-Identifier: Apache-2.0
//! @NAME@: a module for Cardcage. Each file "card*" in the folder `device_dir` is a card; its first line is "ok" or says
//! what is wrong with the card. "Replace" marks what a real module asks its driver instead.

use cardcage::{
    Call, Cause, Choice, Claim, Declared, Device, DeviceAction, DeviceNode, Edits, Error, Health, Host, Module, Result,
    Schema, Snapshot, Status, Values,
};
use std::fs;
use std::path::PathBuf;

struct Cards {
    host: Host,
    device_dir: PathBuf,
}

const MODES: &[Choice] = &[Choice::new("fast"), Choice::new("quiet")];
const FIELDS: &[&Declared] = &[&Declared::text("mode", "fast", "how the fans run").one_of(MODES)];

impl Module for Cards {
    const ID: &'static str = "com.example.@NAME@";
    const VERSION: &'static str = "1.0.0";
    const VENDOR: &'static str = "Example";
    const OPTIONS: &'static [&'static Declared] =
        &[&Declared::text("device_dir", "/run/@NAME@", "a folder with a file for each card")];
    const SCHEMAS: &'static [&'static Schema] = &[&Schema::new("@NAME@.example.com/v1", "CardConfig", FIELDS)];
    const CAUSES: &'static [&'static Cause] = &[&Cause::new("Fault", "what the card says of itself")];
    const CHECK: Option<DeviceAction<Self>> = Some(Self::check);

    fn create(_: &Call, host: Host, options: &Values) -> Result<Self> {
        Ok(Cards { host, device_dir: options.text("device_dir").into() })
    }

    /// Reports every card, each time. The id of a real card is its UUID, serial number or bus address.
    fn discover(&self, _: &Call, out: &mut Snapshot) -> Result {
        let folder = fs::read_dir(&self.device_dir).map_err(|error| {
            let text = format!("cannot read option 'device_dir', '{}': {}", self.device_dir.display(), error);
            Error::new(Status::Unavailable, text)
        })?;
        for entry in folder {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !name.starts_with("card") {
                continue;
            }
            if let Some(health) = self.read_health(&name) {
                out.add(&Device::new(name, "card").attribute("model", "@NAME@ 1").health(health));
            }
        }
        Ok(())
    }

    /// Replace: the node of a real card has a path of its own; /dev/null stands in for it. What prepare() changes on the
    /// card and unprepare() must undo, save it with edits.save(): memory does not survive a restart.
    fn prepare(&self, _: &Call, claim: &Claim, edits: &mut Edits) -> Result {
        for card in claim.allocations() {
            let name = card.device();
            if self.read_health(name).is_none() {
                return Err(Error::new(Status::NotFound, format!("card '{}' is gone; is it powered?", name)));
            }
            let node = DeviceNode {
                path: format!("/dev/@NAME@/{}", name),
                host_path: "/dev/null".to_string(),
                ..Default::default()
            };
            edits.of(&card).device_node(&node)?.env("CARD_MODE", card.params()?.text("mode"))?;
        }
        Ok(())
    }

    /// Succeeds for claims that were never prepared and for cards that are gone, too.
    fn unprepare(&self, _: &Call, _: &Claim) -> Result {
        Ok(()) // nothing of a claim stays on the card
    }
}

impl Cards {
    /// The host calls it for each card every 30 s.
    fn check(&self, _: &Call, device: &str) -> Result {
        match self.read_health(device) {
            Some(health) => self.host.health(device, &health),
            None => self.host.rescan(), // discover() leaves the card out
        }
        Ok(())
    }

    /// Replace: reads the first line of the card's file. Returns nothing if the card is gone.
    fn read_health(&self, card: &str) -> Option<Health> {
        let text = fs::read_to_string(self.device_dir.join(card)).ok()?;
        let line = text.lines().next().unwrap_or("");
        Some(if line == "ok" { Health::ok() } else { Health::bad("CardFault", line) }.about("Fault"))
    }
}

cardcage::export_module!(Cards);
