// SPDX-License-Identifier: Apache-2.0
//! The C functions of a module and the tables that list them. None lets a panic out [R9].

use crate::error::{Error, Result, Status};
use crate::module::{Module, Wish};
use crate::{
    panics, raw, text, Call, Catalogue, Claim, Conditions, Edits, Events, Host, Labels, Pod, Samples, Snapshot, Values,
};
use raw::{
    cage_bind_sink, cage_call, cage_catalogue_sink, cage_claim, cage_edits, cage_host, cage_id_sink, cage_instance,
    cage_label_sink, cage_metrics_sink, cage_pod, cage_snapshot, cage_status, cage_str, cage_values,
};
use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::raw::{c_char, c_void};

/// Defines the only symbol that a module exports. Use it once per module.
#[macro_export]
macro_rules! export_module {
    ($module:ty) => {
        #[no_mangle]
        pub extern "C" fn cage_module_v1(_host_minor: u32) -> *const $crate::raw::cage_module {
            $crate::Table::<$module>::TABLE
        }
    };
}

/// Turns a failure or a panic into a status and an explanation.
fn guarded(call: *const cage_call, body: impl FnOnce(&Call) -> Result) -> cage_status {
    let call = Call::new(call);
    let (status, why) = match panics::caught(|| body(&call)) {
        Ok(Ok(())) => return raw::CAGE_OK,
        Ok(Err(error)) => (error.status, error.text),
        Err(report) => (raw::CAGE_INTERNAL, report),
    };
    call.explain(&why);
    status
}

fn not_offered() -> Error {
    Error::new(Status::Unimplemented, "the module does not offer this function")
}

unsafe fn module<'a, T: Module>(instance: *mut cage_instance) -> &'a T {
    &*(instance as *const T)
}

unsafe extern "C" fn create<T: Module>(
    call: *const cage_call,
    host: *const cage_host,
    options: *const cage_values,
    out: *mut *mut cage_instance,
) -> cage_status {
    guarded(call, |call| {
        let created = T::create(call, Host::new(host), &Values::new(options))?;
        *out = Box::into_raw(Box::new(created)) as *mut cage_instance;
        Ok(())
    })
}
unsafe extern "C" fn destroy<T: Module>(instance: *mut cage_instance) {
    // No caller waits for a report.
    let _ = panics::caught(|| drop(Box::from_raw(instance as *mut T)));
}
unsafe extern "C" fn start<T: Module>(instance: *mut cage_instance, call: *const cage_call) -> cage_status {
    guarded(call, |call| module::<T>(instance).start(call))
}
unsafe extern "C" fn stop<T: Module>(instance: *mut cage_instance, call: *const cage_call) -> cage_status {
    guarded(call, |call| module::<T>(instance).stop(call))
}
unsafe extern "C" fn discover<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    sink: *mut cage_snapshot,
) -> cage_status {
    guarded(call, |call| module::<T>(instance).discover(call, &mut Snapshot::new(sink)))
}
unsafe extern "C" fn prepare<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    claim: *const cage_claim,
    sink: *mut cage_edits,
) -> cage_status {
    guarded(call, |call| module::<T>(instance).prepare(call, &Claim::new(claim), &mut Edits::new(sink)))
}
unsafe extern "C" fn unprepare<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    claim: *const cage_claim,
) -> cage_status {
    guarded(call, |call| module::<T>(instance).unprepare(call, &Claim::new(claim)))
}
unsafe extern "C" fn check<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    device: cage_str,
) -> cage_status {
    guarded(call, |call| T::CHECK.ok_or_else(not_offered)?(module(instance), call, text::view(device)))
}
unsafe extern "C" fn quiesce<T: Module>(instance: *mut cage_instance, call: *const cage_call) -> cage_status {
    guarded(call, |call| T::QUIESCE.ok_or_else(not_offered)?(module(instance), call))
}
unsafe extern "C" fn resume<T: Module>(instance: *mut cage_instance, call: *const cage_call) -> cage_status {
    guarded(call, |call| T::RESUME.ok_or_else(not_offered)?(module(instance), call))
}
unsafe extern "C" fn quiesce_device<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    device: cage_str,
) -> cage_status {
    guarded(call, |call| T::QUIESCE_DEVICE.ok_or_else(not_offered)?(module(instance), call, text::view(device)))
}
unsafe extern "C" fn resume_device<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    device: cage_str,
) -> cage_status {
    guarded(call, |call| T::RESUME_DEVICE.ok_or_else(not_offered)?(module(instance), call, text::view(device)))
}
unsafe extern "C" fn reset<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    device: cage_str,
) -> cage_status {
    guarded(call, |call| T::RESET.ok_or_else(not_offered)?(module(instance), call, text::view(device)))
}
unsafe extern "C" fn configure<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    options: *const cage_values,
) -> cage_status {
    guarded(call, |call| T::CONFIGURE.ok_or_else(not_offered)?(module(instance), call, &Values::new(options)))
}
unsafe extern "C" fn bind<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    claim: *const cage_claim,
    sink: *mut cage_bind_sink,
) -> cage_status {
    guarded(call, |call| {
        T::BIND.ok_or_else(not_offered)?(module(instance), call, &Claim::new(claim), &mut Conditions::new(sink))
    })
}
unsafe extern "C" fn keep<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    live: *const *const cage_claim,
    count: u32,
) -> cage_status {
    guarded(call, |call| {
        let claims: Vec<Claim> = text::list(live, count as usize).iter().map(|claim| Claim::new(*claim)).collect();
        T::RECONCILE.ok_or_else(not_offered)?(module(instance), call, &claims)
    })
}
unsafe extern "C" fn attach<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    claim: *const cage_claim,
    pod: *const cage_pod,
) -> cage_status {
    guarded(call, |call| T::ATTACH.ok_or_else(not_offered)?(module(instance), call, &Claim::new(claim), &Pod::new(pod)))
}
unsafe extern "C" fn detach<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    claim: *const cage_claim,
    pod: *const cage_pod,
) -> cage_status {
    guarded(call, |call| T::DETACH.ok_or_else(not_offered)?(module(instance), call, &Claim::new(claim), &Pod::new(pod)))
}
unsafe extern "C" fn pre_start<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    claim: *const cage_claim,
) -> cage_status {
    guarded(call, |call| T::PRE_START.ok_or_else(not_offered)?(module(instance), call, &Claim::new(claim)))
}
unsafe extern "C" fn choose<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    available: *const cage_str,
    available_count: u32,
    required: *const cage_str,
    required_count: u32,
    want: u32,
    sink: *mut cage_id_sink,
) -> cage_status {
    guarded(call, |call| {
        let wish = Wish {
            available: text::views(available, available_count),
            required: text::views(required, required_count),
            count: want,
        };
        for id in T::PREFER.ok_or_else(not_offered)?(module(instance), call, &wish)? {
            let add = (*sink).id.ok_or_else(not_offered)?;
            text::must(add(sink, text::to_raw(&id)))?;
        }
        Ok(())
    })
}

unsafe extern "C" fn collect_metrics<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    sink: *mut cage_metrics_sink,
) -> cage_status {
    guarded(call, |call| {
        T::COLLECT_METRICS.ok_or_else(not_offered)?(module(instance), call, &mut Samples::new(sink, T::METRICS))
    })
}
unsafe extern "C" fn collect_labels<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    sink: *mut cage_label_sink,
) -> cage_status {
    guarded(call, |call| T::COLLECT_LABELS.ok_or_else(not_offered)?(module(instance), call, &mut Labels::new(sink)))
}
unsafe extern "C" fn collect_catalogue<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    sink: *mut cage_catalogue_sink,
) -> cage_status {
    guarded(call, |call| {
        T::COLLECT_CATALOGUE.ok_or_else(not_offered)?(module(instance), call, &mut Catalogue::new(sink))
    })
}

unsafe extern "C" fn events<T: Module>(
    instance: *mut cage_instance,
    call: *const cage_call,
    events: *const *const raw::cage_event,
    count: u32,
    flags: u32,
) -> cage_status {
    guarded(call, |call| {
        let events = Events::new(text::list(events, count as usize), flags);
        T::EVENTS.ok_or_else(not_offered)?(module(instance), call, &events)
    })
}

unsafe extern "C" fn extension<T: Module>(id: *const c_char) -> *const c_void {
    let id = CStr::from_ptr(id).to_bytes();
    if T::PREFER.is_some() && id == raw::CAGE_EXT_PREFERRED.as_bytes() {
        return Table::<T>::PREFERRED as *const _ as *const c_void;
    }
    if T::ATTACH.is_some() && T::DETACH.is_some() && id == raw::CAGE_EXT_SANDBOX.as_bytes() {
        return Table::<T>::SANDBOX as *const _ as *const c_void;
    }
    if T::PRE_START.is_some() && id == raw::CAGE_EXT_PRE_START.as_bytes() {
        return Table::<T>::PRE_START as *const _ as *const c_void;
    }
    if T::CONFIGURE.is_some() && id == raw::CAGE_EXT_CONFIGURE.as_bytes() {
        return Table::<T>::CONFIGURE as *const _ as *const c_void;
    }
    if T::QUIESCE_DEVICE.is_some() && T::RESUME_DEVICE.is_some() && id == raw::CAGE_EXT_QUIESCE.as_bytes() {
        return Table::<T>::QUIESCE as *const _ as *const c_void;
    }
    if T::RESET.is_some() && id == raw::CAGE_EXT_RESET.as_bytes() {
        return Table::<T>::RESET as *const _ as *const c_void;
    }
    if T::BIND.is_some() && id == raw::CAGE_EXT_BIND.as_bytes() {
        return Table::<T>::BIND as *const _ as *const c_void;
    }
    if T::RECONCILE.is_some() && id == raw::CAGE_EXT_RECONCILE.as_bytes() {
        return Table::<T>::RECONCILE as *const _ as *const c_void;
    }
    if T::COLLECT_METRICS.is_some() && id == raw::CAGE_EXT_METRICS.as_bytes() {
        return Table::<T>::COLLECT_METRICS as *const _ as *const c_void;
    }
    if T::COLLECT_LABELS.is_some() && id == raw::CAGE_EXT_LABELS.as_bytes() {
        return Table::<T>::COLLECT_LABELS as *const _ as *const c_void;
    }
    if T::COLLECT_CATALOGUE.is_some() && id == raw::CAGE_EXT_CATALOGUE.as_bytes() {
        return Table::<T>::COLLECT_CATALOGUE as *const _ as *const c_void;
    }
    if T::EVENTS.is_some() && id == raw::CAGE_EXT_WATCH.as_bytes() {
        return Table::<T>::WATCH as *const _ as *const c_void;
    }
    std::ptr::null()
}

/// For `export_module!`.
pub struct Table<T>(PhantomData<T>);

impl<T: Module> Table<T> {
    const PREFERRED: &'static raw::cage_preferred = &raw::cage_preferred {
        struct_size: size_of::<raw::cage_preferred>() as u32,
        reserved: 0,
        choose: Some(choose::<T>),
    };
    const SANDBOX: &'static raw::cage_sandbox = &raw::cage_sandbox {
        struct_size: size_of::<raw::cage_sandbox>() as u32,
        reserved: 0,
        attach: Some(attach::<T>),
        detach: Some(detach::<T>),
    };
    const PRE_START: &'static raw::cage_pre_start = &raw::cage_pre_start {
        struct_size: size_of::<raw::cage_pre_start>() as u32,
        reserved: 0,
        pre_start: Some(pre_start::<T>),
    };
    const CONFIGURE: &'static raw::cage_configure = &raw::cage_configure {
        struct_size: size_of::<raw::cage_configure>() as u32,
        reserved: 0,
        configure: Some(configure::<T>),
    };
    const QUIESCE: &'static raw::cage_quiesce = &raw::cage_quiesce {
        struct_size: size_of::<raw::cage_quiesce>() as u32,
        reserved: 0,
        quiesce: Some(quiesce_device::<T>),
        resume: Some(resume_device::<T>),
    };
    const RESET: &'static raw::cage_reset =
        &raw::cage_reset { struct_size: size_of::<raw::cage_reset>() as u32, reserved: 0, reset: Some(reset::<T>) };
    const BIND: &'static raw::cage_bind =
        &raw::cage_bind { struct_size: size_of::<raw::cage_bind>() as u32, reserved: 0, bind: Some(bind::<T>) };
    const RECONCILE: &'static raw::cage_reconcile = &raw::cage_reconcile {
        struct_size: size_of::<raw::cage_reconcile>() as u32,
        reserved: 0,
        keep: Some(keep::<T>),
    };
    const COLLECT_METRICS: &'static raw::cage_metrics = &raw::cage_metrics {
        struct_size: size_of::<raw::cage_metrics>() as u32,
        metric_count: T::METRICS.len() as u32,
        // A Metric is a cage_metric, and a reference a pointer.
        metrics: text::first(T::METRICS),
        collect: Some(collect_metrics::<T>),
    };
    const COLLECT_LABELS: &'static raw::cage_labels = &raw::cage_labels {
        struct_size: size_of::<raw::cage_labels>() as u32,
        reserved: 0,
        collect: Some(collect_labels::<T>),
    };
    const COLLECT_CATALOGUE: &'static raw::cage_catalogue = &raw::cage_catalogue {
        struct_size: size_of::<raw::cage_catalogue>() as u32,
        reserved: 0,
        collect: Some(collect_catalogue::<T>),
    };

    const WATCH: &'static raw::cage_watch = &raw::cage_watch {
        struct_size: size_of::<raw::cage_watch>() as u32,
        reserved: 0,
        // A Choice is a cage_str.
        kernel_log: text::first(T::WATCH.kernel_log),
        uevents: text::first(T::WATCH.uevents),
        kernel_log_count: T::WATCH.kernel_log.len() as u32,
        uevent_count: T::WATCH.uevents.len() as u32,
        events: Some(events::<T>),
    };

    /// The table that the entry returns.
    pub const TABLE: &'static raw::cage_module = &raw::cage_module {
        magic: raw::CAGE_MAGIC,
        struct_size: size_of::<raw::cage_module>() as u32,
        abi_minor: raw::CAGE_ABI_MINOR,
        min_host_minor: T::MIN_HOST_MINOR,
        flags: T::FLAGS,
        state_version: T::STATE_VERSION,
        id: text::to_raw(T::ID),
        version: text::to_raw(T::VERSION),
        vendor: text::to_raw(T::VENDOR),
        // A Declared is a cage_option, and a reference a pointer.
        options: text::first(T::OPTIONS),
        schemas: text::first(T::SCHEMAS),
        // A Cause is a cage_cause, and a reference a pointer.
        causes: text::first(T::CAUSES),
        // A Choice is a cage_str.
        needs: text::first(T::NEEDS),
        option_count: T::OPTIONS.len() as u32,
        schema_count: T::SCHEMAS.len() as u32,
        cause_count: T::CAUSES.len() as u32,
        need_count: T::NEEDS.len() as u32,
        claim_call_limit_s: T::CLAIM_CALL_LIMIT_S,
        reserved: 0,
        create: Some(create::<T>),
        start: Some(start::<T>),
        discover: Some(discover::<T>),
        prepare: Some(prepare::<T>),
        unprepare: Some(unprepare::<T>),
        check: if T::CHECK.is_some() { Some(check::<T>) } else { None },
        quiesce: if T::QUIESCE.is_some() { Some(quiesce::<T>) } else { None },
        resume: if T::RESUME.is_some() { Some(resume::<T>) } else { None },
        stop: Some(stop::<T>),
        destroy: Some(destroy::<T>),
        extension: Some(extension::<T>),
    };
}
