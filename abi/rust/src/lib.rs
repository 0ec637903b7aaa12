// SPDX-License-Identifier: Apache-2.0
//! Modules for Cardcage in Rust 1.63 or later, without dependencies.
//!
//! Implement [`Module`] and export it:
//!
//! ```
//! use cardcage::{Call, Claim, Device, DeviceNode, Edits, Host, Module, Result, Snapshot, Values};
//!
//! struct Acme {
//!     host: Host,
//! }
//!
//! impl Module for Acme {
//!     const ID: &'static str = "com.acme.card";
//!     const VERSION: &'static str = "1.0.0";
//!     const VENDOR: &'static str = "Acme";
//!
//!     fn create(_: &Call, host: Host, _: &Values) -> Result<Self> {
//!         Ok(Acme { host })
//!     }
//!     fn discover(&self, _: &Call, out: &mut Snapshot) -> Result {
//!         self.host.info("looking for cards");
//!         out.add(&Device::new("serial-7", "card").attribute("model", "Acme 9"));
//!         Ok(())
//!     }
//!     fn prepare(&self, _: &Call, claim: &Claim, edits: &mut Edits) -> Result {
//!         let node = DeviceNode { path: "/dev/acme0".into(), ..Default::default() };
//!         for card in claim.allocations() {
//!             edits.of(&card).device_node(&node)?.env("ACME_CARD", card.device())?;
//!         }
//!         Ok(())
//!     }
//!     fn unprepare(&self, _: &Call, _: &Claim) -> Result {
//!         Ok(())
//!     }
//! }
//! cardcage::export_module!(Acme);
//! ```
//!
//! Failures are [`Error`]s with a text for people: subject, cause, remedy. A panic becomes INTERNAL with its text and place;
//! none leaves the module, so build it with `panic = "unwind"`, which is the default. `abi/RULES.md` has the rules, cited
//! here as R4.

#![warn(missing_docs)]
#![allow(rustdoc::broken_intra_doc_links)] // [R4] names a rule

#[cfg(panic = "abort")]
compile_error!("a panic must not end the host's process [R9]: build the module with panic = \"unwind\"");

pub mod raw;

/// Whether the side that filled the struct knew this member [R2].
macro_rules! has {
    ($raw:expr, $member:ident) => {{
        let end = std::ptr::addr_of!((*$raw).$member).add(1) as usize - $raw as usize;
        (*$raw).struct_size as usize >= end
    }};
}

mod binding;
mod call;
mod catalogue;
mod cause;
mod claim;
mod declared;
mod device;
mod edits;
mod error;
mod health;
mod host;
mod module;
mod panics;
mod program;
mod reports;
mod sandbox;
mod snapshot;
mod statement;
mod table;
mod text;
mod values;
mod watch;
mod write;

pub use binding::{Binding, Conditions};
pub use call::Call;
pub use catalogue::{Catalogue, Entry};
pub use cause::{Cause, Recovery, Severity};
pub use claim::{Allocation, Claim, Params};
pub use declared::{Choice, Declared, Schema};
pub use device::{Attribute, Device, Quantity, RequestPolicy};
pub use edits::{DeviceNode, Edit, Edits, Hook, Mount};
pub use error::{Error, Result, Status};
pub use health::{Health, Taint};
pub use host::Host;
pub use module::{
    Action, Bind, CollectCatalogue, CollectLabels, CollectMetrics, Configure, DeviceAction, HandleEvents, Module,
    MoveDevices, PreStart, Prefer, Reconcile, Wish,
};
pub use program::{Program, ProgramResult};
pub use reports::{Labels, Metric, Samples};
pub use sandbox::Pod;
pub use snapshot::Snapshot;
pub use statement::{Condition, Description, NetworkData};
#[doc(hidden)]
pub use table::Table;
pub use values::{Source, Values};
pub use watch::{Event, Events, Watch};
pub use write::{FileWrite, Ioctl};
