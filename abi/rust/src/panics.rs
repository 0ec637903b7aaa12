// SPDX-License-Identifier: Apache-2.0
//! No panic leaves the module [R9], and its text and place reach the people who read the failure.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::Once;

thread_local! {
    static CATCHING: Cell<bool> = Cell::new(false);
    static REPORT: RefCell<String> = RefCell::new(String::new());
}

fn report(payload: &(dyn Any + Send), place: Option<&Location<'_>>) -> String {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ => "with something other than a text",
    };
    match place {
        Some(place) => format!("the module panicked at {}:{}: {}", place.file(), place.line(), text),
        None => format!("the module panicked: {}", text),
    }
}

/// The standard library is linked into each module, so the hook is the module's own. The threads that the module starts
/// keep the usual one, which writes to stderr.
fn replace_hook() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if CATCHING.with(Cell::get) {
            REPORT.with(|last| *last.borrow_mut() = report(info.payload(), info.location()));
        } else {
            usual(info);
        }
    }));
}

/// Runs `body`; a panic becomes its report.
pub(crate) fn caught<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(replace_hook);
    let outer = CATCHING.with(|catching| catching.replace(true));
    let result = panic::catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let report = REPORT.with(|last| last.take());
        // The payload of a panic may panic again when it is dropped; then it is left alone.
        panic::catch_unwind(AssertUnwindSafe(|| drop(payload))).unwrap_or_else(std::mem::forget);
        report
    });
    CATCHING.with(|catching| catching.set(outer));
    result
}
