// SPDX-License-Identifier: Apache-2.0

use crate::{
    Call, Catalogue, Cause, Choice, Claim, Conditions, Declared, Edits, Events, Host, Labels, Metric, Pod, Result,
    Samples, Schema, Snapshot, Values, Watch,
};

/// One running module. One thread makes all calls; with `CAGE_MODULE_CONCURRENT` in `FLAGS`, calls for
/// different claims, such as `prepare`, overlap on threads of their own, also with `discover`, `check` and `prefer` [R8]. Every
/// argument is borrowed for the call; only `Host` may be kept.
///
/// The functions that are constants here are optional:
///
/// ```
/// # use cardcage::*;
/// # struct Acme { host: Host }
/// impl Acme {
///     fn check(&self, _: &Call, device: &str) -> Result {
///         self.host.health(device, &Health::bad("FanStuck", "the fan does not turn").about("Fan"));
///         Ok(())
///     }
/// }
/// impl Module for Acme {
///     const CAUSES: &'static [&'static Cause] = &[&Cause::new("Fan", "the fan of the card")];
///     const CHECK: Option<DeviceAction<Self>> = Some(Self::check);
///     // ...
/// #   const ID: &'static str = "com.acme.card";
/// #   const VERSION: &'static str = "1.0.0";
/// #   const VENDOR: &'static str = "Acme";
/// #   fn create(_: &Call, host: Host, _: &Values) -> Result<Self> { Ok(Acme { host }) }
/// #   fn discover(&self, _: &Call, _: &mut Snapshot) -> Result { Ok(()) }
/// #   fn prepare(&self, _: &Call, _: &Claim, _: &mut Edits) -> Result { Ok(()) }
/// #   fn unprepare(&self, _: &Call, _: &Claim) -> Result { Ok(()) }
/// }
/// ```
pub trait Module: Send + Sync + Sized + 'static {
    /// "com.example.fpga"
    const ID: &'static str;
    /// semver 2.0.0
    const VERSION: &'static str;
    /// The vendor's name, for people.
    const VENDOR: &'static str;
    /// The options of the operator's configuration.
    const OPTIONS: &'static [&'static Declared] = &[];
    /// The fields of the claims' opaque parameters, and the names that these must carry.
    /// Its kinds of parameters [R19].
    const SCHEMAS: &'static [&'static Schema] = &[];
    /// The causes of bad health and their rules. Without any, the module may state any cause [R23].
    const CAUSES: &'static [&'static Cause] = &[];
    /// The series that `COLLECT_METRICS` reports.
    const METRICS: &'static [&'static Metric] = &[];
    /// The texts that the daemon watches for `EVENTS`.
    const WATCH: Watch = Watch::new();
    /// With `raw::CAGE_MODULE_NO_PREPARE` kubelets may leave `prepare` and `unprepare` out: they do nothing [R26].
    const FLAGS: u32 = 0;
    /// Limit of `prepare` and `unprepare`, if it is longer than the host's own; at most an hour.
    const CLAIM_CALL_LIMIT_S: u32 = 0;
    /// Raise it when the layout of the saved state changes [R7].
    const STATE_VERSION: u32 = 0;
    /// The oldest minor of the host's ABI that the module works with. An older host ignores unknown members: a module
    /// that depends on `PRE_START` needs 2, one that depends on `CONFIGURE` or on `Device::name` needs 3.
    const MIN_HOST_MINOR: u32 = 0;
    /// Ids of families without which the module cannot work: `&[Choice::new(raw::CAGE_HOST_EXEC)]`. A host that lacks one
    /// refuses the file and names it [R5].
    const NEEDS: &'static [Choice] = &[];

    /// Checks one device and reports with `Host::health`.
    const CHECK: Option<DeviceAction<Self>> = None;
    /// Releases the hardware, and takes it back [R12].
    const QUIESCE: Option<Action<Self>> = None;
    /// Takes the hardware back.
    const RESUME: Option<Action<Self>> = None;
    /// Do the same for one device and its partitions while the others stay in use. The host needs both.
    const QUIESCE_DEVICE: Option<DeviceAction<Self>> = None;
    /// Takes one device back.
    const RESUME_DEVICE: Option<DeviceAction<Self>> = None;
    /// Resets the hardware of a device and of its partitions, which no claim holds, and states its causes again [R24].
    const RESET: Option<DeviceAction<Self>> = None;
    /// Replaces all options. Only those with `live()` may have changed. If it fails, the module keeps its old options.
    const CONFIGURE: Option<Configure<Self>> = None;
    /// A pod waits for devices of the claim that `Snapshot::binding` was called for: begins or continues to make them
    /// ready, and states their conditions. Called every few seconds; `unprepare` follows if no pod waits any more
    /// [R25].
    const BIND: Option<Bind<Self>> = None;
    /// A pod with the prepared claim has its sandbox, and ends: moves the devices into it, and takes them back. The
    /// host calls them only if both are there, `ATTACH` also again and again, `DETACH` not for every pod [R28].
    const ATTACH: Option<MoveDevices<Self>> = None;
    /// Takes the devices back from the pod.
    const DETACH: Option<MoveDevices<Self>> = None;
    /// Frees everything that no live claim holds.
    const RECONCILE: Option<Reconcile<Self>> = None;
    /// Device-plugin API: the devices that a container should get.
    const PREFER: Option<Prefer<Self>> = None;
    /// Device-plugin API: resets or scrubs the device of the claim before a container starts [R15].
    const PRE_START: Option<PreStart<Self>> = None;

    /// Reports every current sample of `METRICS` [R17].
    const COLLECT_METRICS: Option<CollectMetrics<Self>> = None;
    /// Reports every label that the node should have; called after each `discover` [R17].
    const COLLECT_LABELS: Option<CollectLabels<Self>> = None;
    /// Reports everything that claims may name in their parameters; called on an operator's request [R22].
    const COLLECT_CATALOGUE: Option<CollectCatalogue<Self>> = None;

    /// Handles events of `WATCH` or `Host::poll` [R20].
    const EVENTS: Option<HandleEvents<Self>> = None;

    /// Resources opened here are closed in `stop` or when the module is dropped.
    fn create(call: &Call, host: Host, options: &Values) -> Result<Self>;
    /// Reports every device, each time [R6].
    fn discover(&self, call: &Call, out: &mut Snapshot) -> Result;
    /// Makes the devices of the claim ready and the edits for its containers. May be repeated [R14].
    fn prepare(&self, call: &Call, claim: &Claim, edits: &mut Edits) -> Result;
    /// Undoes `prepare`; succeeds for a claim that is not prepared [R14].
    fn unprepare(&self, call: &Call, claim: &Claim) -> Result;
    /// Called once, before any other call but `create`.
    fn start(&self, _: &Call) -> Result {
        Ok(())
    }
    /// Ends threads and releases the hardware; claims stay prepared.
    fn stop(&self, _: &Call) -> Result {
        Ok(())
    }
}

/// A function for one device, by its id.
pub type DeviceAction<T> = fn(&T, &Call, &str) -> Result;
/// A function of the whole module.
pub type Action<T> = fn(&T, &Call) -> Result;
/// The function for `CONFIGURE`.
pub type Configure<T> = fn(&T, &Call, &Values) -> Result;
/// The functions for `ATTACH` and `DETACH`.
pub type MoveDevices<T> = fn(&T, &Call, &Claim, &Pod) -> Result;
/// The function for `BIND`.
pub type Bind<T> = fn(&T, &Call, &Claim, &mut Conditions) -> Result;
/// The function for `RECONCILE`.
pub type Reconcile<T> = fn(&T, &Call, &[Claim]) -> Result;
/// The function for `PREFER`.
pub type Prefer<T> = fn(&T, &Call, &Wish) -> Result<Vec<String>>;
/// The function for `COLLECT_METRICS`.
pub type CollectMetrics<T> = fn(&T, &Call, &mut Samples) -> Result;
/// The function for `COLLECT_LABELS`.
pub type CollectLabels<T> = fn(&T, &Call, &mut Labels) -> Result;
/// The function for `COLLECT_CATALOGUE`.
pub type CollectCatalogue<T> = fn(&T, &Call, &mut Catalogue) -> Result;
/// The function for `EVENTS`.
pub type HandleEvents<T> = fn(&T, &Call, &Events) -> Result;
/// The function for `PRE_START`.
pub type PreStart<T> = fn(&T, &Call, &Claim) -> Result;

/// A request of the device-plugin API for the devices that a container should get.
pub struct Wish<'a> {
    /// Includes the required ones.
    pub available: Vec<&'a str>,
    /// The devices that the container must get.
    pub required: Vec<&'a str>,
    /// Including the required ones.
    pub count: u32,
}
