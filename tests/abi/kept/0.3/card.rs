// SPDX-License-Identifier: Apache-2.0
// A module in Rust that uses what the crate of 0.3 added. It behaves as card.c does.
use cardcage::{
    raw, Call, Choice, Claim, CollectLabels, CollectMetrics, Configure, Declared, Device, DeviceAction, Edits, Error,
    Event, Events, FileWrite, HandleEvents, Health, Host, Labels, Metric, Module, Program, Result, Samples, Schema,
    Snapshot, Source, Status, Taint, Values, Watch,
};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

const CARD: &str = "CARD-7f3a";
const FIELDS: &[&Declared] = &[
    &Declared::text("sharing.strategy", "none", "how it is shared"),
    &Declared::map("sharing.limits", "by process"),
    &Declared::integer("clock", "0", "MHz").class_only(),
];
const KINDS: &[Choice] = &[Choice::new("card")];
const LEVEL: Metric = Metric::gauge("level", "set");
const PLACES: &[Choice] = &[Choice::new("place")];
const ERRORS: Metric = Metric::counter("errors_total", "seen").labels(PLACES);

struct Card {
    host: Host,
    level: AtomicI64,
    program: String,
    reset_file: String,
    quiesced: AtomicBool,
}

impl Card {
    fn configure(&self, _: &Call, options: &Values) -> Result {
        self.level.store(options.integer("level"), Ordering::Relaxed);
        Ok(())
    }
    fn quiesce_device(&self, _: &Call, _: &str) -> Result {
        self.quiesced.store(true, Ordering::Relaxed);
        Ok(())
    }
    fn resume_device(&self, _: &Call, _: &str) -> Result {
        self.quiesced.store(false, Ordering::Relaxed);
        Ok(())
    }
    fn collect_metrics(&self, _: &Call, out: &mut Samples) -> Result {
        out.add(&LEVEL, "", self.level.load(Ordering::Relaxed) as f64, &[])?;
        out.add(&ERRORS, CARD, 3.0, &["dram"])?;
        Ok(())
    }
    fn collect_labels(&self, _: &Call, out: &mut Labels) -> Result {
        out.add("kept.cardcage.dev/driver", "1.2");
        Ok(())
    }
    fn events(&self, _: &Call, events: &Events) -> Result {
        for event in events.iter() {
            if let Event::KernelLog(text) = event {
                let health =
                    if events.lost() { Health::unknown("KernelSaid", text) } else { Health::bad("KernelSaid", text) };
                self.host.health(CARD, &health);
            }
        }
        Ok(())
    }
    fn use_the_node(&self, call: &Call, edits: &mut Edits) -> Result {
        let program = |argument: &str, limit| Program {
            name: self.program.clone(),
            arguments: vec![argument.to_string()],
            environment: vec!["PATH=/usr/bin:/bin".to_string()],
            limit,
            ..Program::default()
        };
        let result = self.host.run(call, &program("0", Duration::from_secs(5)))?;
        edits.of_claim().env("EXIT", &result.exit_status.to_string())?;
        self.host.start_service(call, "helper", &program("1000", Duration::ZERO))?;
        let write = FileWrite {
            device: CARD.to_string(),
            path: self.reset_file.clone(),
            data: b"1".to_vec(),
            limit: Duration::from_secs(5),
        };
        self.host.write_file(call, &write)
    }
}

impl Module for Card {
    const ID: &'static str = "kept.card";
    const VERSION: &'static str = "0.3.0";
    const VENDOR: &'static str = "Cardcage";
    const FLAGS: u32 = raw::CAGE_MODULE_CONCURRENT;
    const MIN_HOST_MINOR: u32 = 3;
    const CLAIM_CALL_LIMIT_S: u32 = 600;
    const OPTIONS: &'static [&'static Declared] = &[
        &Declared::integer("level", "1", "may change while it runs").live(),
        &Declared::text("program", "", "prepare runs it, and keeps it as a service with an argument"),
        &Declared::text("reset_file", "", "prepare writes 1 to it"),
    ];
    const SCHEMAS: &'static [&'static Schema] =
        &[&Schema::new("kept.cardcage.dev/v1", "CardConfig", FIELDS).devices(KINDS)];
    const METRICS: &'static [&'static Metric] = &[&LEVEL, &ERRORS];
    const WATCH: Watch = Watch::new().kernel_log(&[Choice::new("card: ")]).uevents(KINDS);
    const CONFIGURE: Option<Configure<Self>> = Some(Self::configure);
    const QUIESCE_DEVICE: Option<DeviceAction<Self>> = Some(Self::quiesce_device);
    const RESUME_DEVICE: Option<DeviceAction<Self>> = Some(Self::resume_device);
    const COLLECT_METRICS: Option<CollectMetrics<Self>> = Some(Self::collect_metrics);
    const COLLECT_LABELS: Option<CollectLabels<Self>> = Some(Self::collect_labels);
    const EVENTS: Option<HandleEvents<Self>> = Some(Self::events);

    fn create(_: &Call, host: Host, options: &Values) -> Result<Self> {
        Ok(Card {
            host,
            level: AtomicI64::new(options.integer("level")),
            program: options.text("program").to_string(),
            reset_file: options.text("reset_file").to_string(),
            quiesced: AtomicBool::new(false),
        })
    }

    fn discover(&self, _: &Call, out: &mut Snapshot) -> Result {
        let hot = Health::bad("TooHot", "93 degrees").about("Temperature").taint(Taint::Inform);
        let hot = hot.taint_key("kept.cardcage.dev/hot").taint_value("very");
        out.add(&Device::new(CARD, "card").name("card-0").health(hot));
        Ok(())
    }

    fn prepare(&self, call: &Call, claim: &Claim, edits: &mut Edits) -> Result {
        if self.quiesced.load(Ordering::Relaxed) {
            return Err(Error::new(Status::Unavailable, "the card is quiesced"));
        }
        edits.journal(b"begun")?;
        call.progress("writing the bitstream", Some(40));
        let cards = claim.allocations();
        let params = cards[0].params()?;
        let limits: String =
            params.map("sharing.limits").iter().map(|(key, value)| format!("{}={};", key, value)).collect();
        let from = if params.source("sharing.strategy") == Some(Source::Claim) { "claim" } else { "elsewhere" };
        let sysfs = unsafe { (*self.host.raw()).sysfs };
        let sysfs = unsafe { std::slice::from_raw_parts(sysfs.data as *const u8, sysfs.size) };
        let edit = edits.of(&cards[0]).env("LIMITS", &limits)?.env("STRATEGY", params.text("sharing.strategy"))?;
        let edit = edit.env("FROM", from)?.env("KIND", params.kind())?;
        edit.env("SYSFS", &String::from_utf8_lossy(sysfs))?.env_list("CARDS", cards[0].device())?;
        if self.program.is_empty() {
            return Ok(());
        }
        self.use_the_node(call, edits)
    }

    fn unprepare(&self, call: &Call, claim: &Claim) -> Result {
        if claim.journal() != b"begun" {
            return Err(Error::new(Status::FailedPrecondition, "the journal is lost"));
        }
        if self.program.is_empty() {
            return Ok(());
        }
        self.host.stop_service(call, "helper")
    }
}

cardcage::export_module!(Card);
