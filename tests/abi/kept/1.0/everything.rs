// SPDX-License-Identifier: Apache-2.0
// Uses all of the crate abi/rust, as sdk_everything.cc uses all of sdk.hpp, so that the same tests check both.
use cardcage::{
    raw, Attribute, Bind, Binding, Call, Catalogue, Cause, Choice, Claim, CollectCatalogue, CollectLabels,
    CollectMetrics, Condition, Conditions, Configure, Declared, Description, Device, DeviceAction, DeviceNode, Edits,
    Entry, Error, Event, Events, FileWrite, HandleEvents, Health, Hook, Host, Ioctl, Labels, Metric, Module, Mount,
    MoveDevices, NetworkData, Pod, PreStart, Prefer, Program, Quantity, Reconcile, Recovery, RequestPolicy, Result,
    Samples, Schema, Severity, Snapshot, Source, Status, Taint, Values, Watch, Wish,
};
use std::os::unix::io::AsRawFd;
use std::time::Duration;

struct Everything {
    host: Host,
    fault: String,
    pause: Duration,
}

const FAULTS: &[Choice] =
    &[Choice::new("none"), Choice::new("error"), Choice::new("standard"), Choice::new("panic"), Choice::new("odd")];

const LINK: &[Choice] = &[Choice::new("link"), Choice::new("way")];
const HEAT: Metric = Metric::gauge("temperature_celsius", "of the hottest sensor");
const ERRORS: Metric = Metric::counter("link_errors_total", "since the reset").labels(LINK);
const HOUR: Duration = Duration::from_secs(3600);
const HOT: Cause = Cause::new("Temperature", "the hottest sensor")
    .unit("Cel")
    .above(95.0, 90.5, Severity::Degraded)
    .hold_down(Duration::from_secs(30));
const FALLEN: Cause = Cause::new("Xid", "the driver reported an error")
    .event()
    .recovery(Recovery::Silence(HOUR))
    .relapses(3, Duration::from_secs(24 * 3600))
    .taint(Taint::NoSchedule, "example.com/xid", "seen");
const FIELDS: &[&Declared] = &[
    &Declared::text("mode", "fast", "a mode"),
    &Declared::map("limits.memory", "by container").range(0, 4).quantity(),
    &Declared::integer("limits.clock", "0", "in MHz").class_only(),
    &Declared::list("routes", "[]", "of the pod").objects(),
];
const GPUS: &[Choice] = &[Choice::new("gpu")];

fn words(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

impl Everything {
    fn fail_if_told(&self) -> Result {
        match self.fault.as_str() {
            "error" => Err(Error::new(Status::Unavailable, "told to fail")),
            "standard" => Ok("seven".parse::<u32>().map(|_| ())?),
            "panic" => panic!("told to {}", self.fault),
            "odd" => std::panic::panic_any(42),
            _ => Ok(()),
        }
    }
    /// Logs the errors.
    fn check(&self, call: &Call, device: &str) -> Result {
        self.try_check(call, device).map_err(|error| {
            self.host.info(format_args!("{error:?}"));
            error
        })
    }
    /// Runs a program for a device "run:<program>" and logs its outcome, starts and stops a service for
    /// "keep:<program>", and accesses the hardware of the device for "write:<device>".
    fn try_check(&self, call: &Call, device: &str) -> Result {
        if let Some(name) = device.strip_prefix("keep:") {
            let program = Program {
                name: name.to_string(),
                arguments: words(&["-q", "all"]),
                environment: words(&["A=b"]),
                ..Program::default()
            };
            self.host.start_service(call, "helper", &program)?;
            return self.host.stop_service(call, "helper");
        }
        if let Some(name) = device.strip_prefix("run:") {
            let program = Program {
                name: name.to_string(),
                arguments: words(&["-q", "all"]),
                environment: words(&["A=b"]),
                limit: Duration::from_millis(1500),
                input: b"in".to_vec(),
            };
            let ran = self.host.run(call, &program)?;
            self.host.info(format_args!(
                "exit {} cut {} late {}: {}",
                ran.exit_status,
                ran.cut as i32,
                ran.timed_out as i32,
                String::from_utf8_lossy(&ran.out)
            ));
            return Ok(());
        }
        if device == "causes" {
            let link = Health::unmonitored("NoEvents", "no events").about("Link").taint(Taint::Inform);
            self.host.health(device, &link);
            let ecc = Health::bad("Dbe", "bank 3").about("Ecc").taint(Taint::NoSchedule);
            self.host.health(device, &ecc.taint_key("example.com/ecc").taint_value("bank-3"));
            self.host.health(device, &Health::degraded("Hot", "96 degrees").about("Temperature").value(96.5));
            return Ok(());
        }
        if let Some(device) = device.strip_prefix("write:") {
            return self.write(call, device);
        }
        self.host.health(device, &Health::ok());
        Ok(())
    }
    fn write(&self, call: &Call, device: &str) -> Result {
        let file = FileWrite {
            device: device.to_string(),
            path: "/sys/reset".to_string(),
            data: b"1".to_vec(),
            limit: Duration::from_millis(1500),
        };
        self.host.write_file(call, &file)?;
        let ioctl = Ioctl {
            device: device.to_string(),
            path: "/dev/card".to_string(),
            request: 0x5413,
            argument: 7u64.to_le_bytes().to_vec(),
            data_path: "/lib/bits".to_string(),
            data_sha256: "4a5e".to_string(),
            data_start: 128,
            exclusive: true,
            ..Ioctl::default()
        };
        let argument = self.host.ioctl(call, &ioctl)?;
        self.host.info(format_args!("the argument is {}", argument[0]));
        self.host.bind_driver(call, device, "0000:3b:00.0", "vfio-pci")?;
        self.host.restore_driver(call, device, "0000:3b:00.0")
    }
    fn configure(&self, _: &Call, options: &Values) -> Result {
        self.host.info(format_args!("number is {}", options.integer("number")));
        Ok(())
    }
    fn reconcile(&self, _: &Call, live: &[Claim]) -> Result {
        for claim in live {
            self.host.error(format_args!("live {}", claim.uid()));
        }
        self.host.rescan();
        Ok(())
    }
    fn prefer(&self, _: &Call, wish: &Wish) -> Result<Vec<String>> {
        Ok(wish.available.iter().rev().take(wish.count as usize).map(|id| id.to_string()).collect())
    }
    fn quiesce_device(&self, call: &Call, device: &str) -> Result {
        call.checkpoint()?;
        self.host.info(format_args!("released {}", device));
        Ok(())
    }
    fn resume_device(&self, _: &Call, device: &str) -> Result {
        self.host.info(format_args!("took back {}", device));
        Ok(())
    }
    fn bind(&self, call: &Call, claim: &Claim, out: &mut Conditions) -> Result {
        call.checkpoint()?;
        for device in claim.allocations() {
            out.state(&device, &Condition::yes("Ready", "Loaded"))?;
            let asked = Condition::unknown("example.com/Attached", "Asked").message("the fabric has not answered");
            out.state(&device, &asked)?;
            out.state(&device, &Condition::no("Failed", "NoFault"))?;
        }
        Ok(())
    }
    fn reset(&self, call: &Call, device: &str) -> Result {
        call.checkpoint()?;
        self.host.health(device, &Health::ok().about("Ecc"));
        self.host.info(format_args!("reset {}", device));
        Ok(())
    }
    fn collect_metrics(&self, _: &Call, out: &mut Samples) -> Result {
        out.add(&HEAT, "whole", 41.5, &[])?;
        if !out.add(&ERRORS, "whole", 3.0, &["0", "up"])? {
            self.host.warn("refused");
        }
        out.add(&HEAT, "", 20.0, &[])?;
        Ok(())
    }
    fn collect_labels(&self, _: &Call, out: &mut Labels) -> Result {
        if !out.add("test.example.com/driver", "1.2.3") {
            self.host.warn("refused");
        }
        Ok(())
    }
    fn collect_catalogue(&self, call: &Call, out: &mut Catalogue) -> Result {
        call.checkpoint()?;
        let aes = Entry::new("bitstream", "aes").detail("AES at 300 MHz").attribute("part", "xcu250");
        out.add(&aes.attribute("clocks", vec![300, 500]).attribute("shell", Attribute::Version("1.2.3".to_string())));
        if !out.add(&Entry::new("bitstream", "old").refused("old.toml: key 'part' is missing; add it")) {
            self.host.warn("refused");
        }
        Ok(())
    }
    fn events(&self, _: &Call, events: &Events) -> Result {
        if events.lost() {
            self.host.warn("lost");
        }
        for event in events.iter() {
            match event {
                Event::KernelLog(text) => self.host.info(format_args!("message {}", text)),
                Event::Descriptor(descriptor) => {
                    self.host.poll(descriptor)?;
                    self.host.stop_polling(descriptor)?;
                }
                Event::Uevent(_) | Event::Other(_) => {}
            }
        }
        Ok(())
    }
    fn attach(&self, call: &Call, claim: &Claim, pod: &Pod) -> Result {
        call.checkpoint()?;
        self.host.info(format_args!(
            "attach {} of '{}' to {}/{} ({}) in {} at {} by {}",
            claim.uid(),
            claim.resource(),
            pod.name_space(),
            pod.name(),
            pod.uid(),
            pod.network_namespace().as_raw_fd(),
            pod.network_namespace_path(),
            pod.route_socket().as_raw_fd()
        ));
        Ok(())
    }

    fn detach(&self, call: &Call, claim: &Claim, pod: &Pod) -> Result {
        call.checkpoint()?;
        self.host.info(format_args!("detach {} from {}", claim.uid(), pod.name()));
        Ok(())
    }

    fn pre_start(&self, call: &Call, claim: &Claim) -> Result {
        call.checkpoint()?;
        let state = String::from_utf8_lossy(claim.state());
        let device = claim.allocations()[0].device();
        self.host.info(format_args!("about to start {} of {} with {}", device, claim.uid(), state));
        Ok(())
    }
}

impl Module for Everything {
    const ID: &'static str = "test.everything";
    const VERSION: &'static str = "1.2.3";
    const VENDOR: &'static str = "Tests";
    const STATE_VERSION: u32 = 7;
    const NEEDS: &'static [Choice] = &[Choice::new(raw::CAGE_HOST_EXEC), Choice::new(raw::CAGE_EXT_PRE_START)];
    const FLAGS: u32 = raw::CAGE_MODULE_PROCESS_ONLY;
    const OPTIONS: &'static [&'static Declared] = &[
        &Declared::text("fault", "none", "which failure").one_of(FAULTS),
        &Declared::integer("number", "5", "a number").range(1, 9).live(),
        &Declared::boolean("flag", "true", "a flag"),
        &Declared::duration("pause", "250ms", "how long prepare sleeps"),
        &Declared::list("names", "[\"a\", \"b\"]", "some names"),
        &Declared::text("token", "", "a password").secret(),
    ];
    const SCHEMAS: &'static [&'static Schema] = &[
        &Schema::new("test/v1", "Everything", FIELDS).devices(GPUS).by_default(),
        &Schema::new("test/v1", "Little", &[&Declared::boolean("quiet", "false", "less noise")]).whole(),
    ];
    const CAUSES: &'static [&'static Cause] =
        &[&HOT, &FALLEN, &Cause::new("Ecc", "errors in memory"), &Cause::new("Link", "the link")];
    const METRICS: &'static [&'static Metric] = &[&HEAT, &ERRORS];
    const COLLECT_METRICS: Option<CollectMetrics<Self>> = Some(Self::collect_metrics);
    const COLLECT_LABELS: Option<CollectLabels<Self>> = Some(Self::collect_labels);
    const COLLECT_CATALOGUE: Option<CollectCatalogue<Self>> = Some(Self::collect_catalogue);
    const WATCH: Watch =
        Watch::new().kernel_log(&[Choice::new("test: one"), Choice::new("test: two")]).uevents(&[Choice::new("pci")]);
    const EVENTS: Option<HandleEvents<Self>> = Some(Self::events);
    const CHECK: Option<DeviceAction<Self>> = Some(Self::check);
    const QUIESCE_DEVICE: Option<DeviceAction<Self>> = Some(Self::quiesce_device);
    const RESUME_DEVICE: Option<DeviceAction<Self>> = Some(Self::resume_device);
    const RESET: Option<DeviceAction<Self>> = Some(Self::reset);
    const BIND: Option<Bind<Self>> = Some(Self::bind);
    const CONFIGURE: Option<Configure<Self>> = Some(Self::configure);
    const RECONCILE: Option<Reconcile<Self>> = Some(Self::reconcile);
    const PREFER: Option<Prefer<Self>> = Some(Self::prefer);
    const PRE_START: Option<PreStart<Self>> = Some(Self::pre_start);
    const ATTACH: Option<MoveDevices<Self>> = Some(Self::attach);
    const DETACH: Option<MoveDevices<Self>> = Some(Self::detach);

    fn create(call: &Call, host: Host, options: &Values) -> Result<Self> {
        host.info(format_args!(
            "call {} number {} flag {} names {} given {}",
            call.id(),
            options.integer("number"),
            options.boolean("flag") as u32,
            options.list("names").len(),
            options.given("number") as u32
        ));
        let created = Everything { host, fault: options.text("fault").to_string(), pause: options.duration("pause") };
        created.fail_if_told()?;
        Ok(created)
    }
    fn start(&self, _: &Call) -> Result {
        self.host.debug("started");
        Ok(())
    }
    fn stop(&self, _: &Call) -> Result {
        self.host.warn("stopped");
        Ok(())
    }

    fn discover(&self, _: &Call, out: &mut Snapshot) -> Result {
        self.fail_if_told()?;
        let health = Health::bad("Fan", "the fan is stuck").taint(Taint::NoExecute);
        let whole = Device::new("whole", "gpu").pci("0000:3b:00.0").numa(0).numa(1).health(health);
        let whole = whole
            .attribute("model", "X1")
            .attribute("owned", "x".repeat(63) + "\u{e9} and more")
            .attribute("cores", 64u32)
            .attribute("signed", -1i64)
            .attribute("ecc", true)
            .attribute("driver", Attribute::Version("1.2.3".to_string()))
            .attribute("lanes", vec![4, 8])
            .attribute("ports", vec![true, false])
            .attribute("modes", words(&["fast", "quiet\n"]))
            .attribute("firmwares", Attribute::Versions(words(&["1.0.0", "2.0.0"])))
            .capacity("memory", Quantity::gib(2))
            .capacity("slots", Quantity::count(3));
        out.add(&whole);
        let part = Device::new("part", "gpu").name("half").parent("whole").shared();
        out.add(&part.capacity("memory", Quantity::bytes(8)).capacity("cores", Quantity::count(2)));
        if out.has_policies() {
            let memory = RequestPolicy::new(Quantity::bytes(2)).range(Quantity::bytes(1), Some(Quantity::bytes(4)));
            out.policy("part", "memory", &memory.step(Quantity::bytes(1)))?;
            let cores = [Quantity::milli(500), Quantity::count(1)];
            out.policy("part", "cores", &RequestPolicy::new(Quantity::count(1)).values(&cores))?;
        }
        if out.has_bindings() {
            out.binding("whole", &Binding::new(&["Ready", "example.com/Attached"], &["Failed"]).to_node())?;
        }
        if out.has_counters() {
            out.counter_set("whole", &[("memory", Quantity::bytes(2))])?;
            out.consumes("part", "whole", &[("memory", Quantity::bytes(1))])?;
        }
        Ok(())
    }

    fn prepare(&self, call: &Call, claim: &Claim, edits: &mut Edits) -> Result {
        call.progress("sleeping", Some(10));
        call.sleep(self.pause)?;
        self.fail_if_told()?;
        let place = format!("{}/{}", claim.name_space(), claim.name());
        edits.of_claim().env("CLAIM", claim.uid())?.env("PLACE", &place)?;
        for device in claim.allocations() {
            let node = DeviceNode {
                path: format!("/dev/{}", device.device()),
                host_path: "/dev/null".to_string(),
                permissions: "rw".to_string(),
                ..Default::default()
            };
            let second = DeviceNode { path: "/dev/second".to_string(), ..Default::default() };
            let mount = Mount {
                host_path: "/host".to_string(),
                container_path: "/inside".to_string(),
                options: words(&["ro", "bind"]),
                ..Default::default()
            };
            let hook = Hook {
                name: "createContainer".to_string(),
                path: "/bin/hook".to_string(),
                args: words(&["hook", "now"]),
                ..Default::default()
            };
            let edit =
                edits.of(&device).device_node(&node)?.device_node(&second)?.net_device("eth9", "net0")?.group(44)?;
            let edit = edit.locked_memory(1 << 20)?;
            let edit = edit.ld_path("/lib", "")?.ld_path("/compat", "libcuda.so.580")?.proc_text("/proc/x", "1\n")?;
            let edit =
                edit.mount(&mount)?.hook(&hook)?.env("REQUEST", device.request())?.env("SHARE", device.share())?;
            let edit = edit.env("ADMIN", if device.admin() { "yes" } else { "no" })?;
            let params = device.params()?;
            let from = if params.source("mode") == Some(Source::Claim) { "claim" } else { "other" };
            let mut edit = edit.env("MODE", params.text("mode"))?.env("KIND", params.kind())?;
            edit = edit.env_list("ALL", device.device())?.env("FROM", from)?;
            for (name, limit) in params.map("limits.memory") {
                edit = edit.env(name, limit)?;
            }
            for (name, amount) in device.consumed() {
                edit = edit.env(name, &amount.value.to_string())?;
            }
            let network = NetworkData {
                interface_name: "net1".to_string(),
                ips: words(&["10.1.2.3/24", "::1/64"]),
                hardware_address: "02:00".to_string(),
            };
            edit = edit.condition(&Condition::yes("Ready", "Linked").message("up"))?;
            edit = edit.condition(&Condition::no("Busy", "Idle"))?;
            edit = edit.data(r#"{"a":1}"#)?.network(&network)?;
            edit.describe(&Description::new().attribute("model", "X1").attribute("slot", 3))?;
        }
        if edits.has_journal() {
            let earlier = String::from_utf8_lossy(claim.journal());
            edits.journal(format!("undo {} after {}", claim.uid(), earlier).as_bytes())?;
        }
        edits.save(format!("state of {}", claim.uid()).as_bytes())
    }

    fn unprepare(&self, call: &Call, claim: &Claim) -> Result {
        call.checkpoint()?;
        let saved = format!("state of {}", claim.uid());
        if claim.state() != saved.as_bytes() || claim.state_version() != Self::STATE_VERSION {
            return Err(Error::new(Status::FailedPrecondition, "not the state that was saved"));
        }
        Ok(())
    }
}

cardcage::export_module!(Everything);
