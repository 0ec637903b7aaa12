// SPDX-License-Identifier: Apache-2.0

use crate::call::Call;
use crate::error::{Error, Result, Status};
use crate::host::Host;
use crate::{raw, text};
use std::ffi::CString;
use std::os::raw::c_void;
use std::time::Duration;

/// A program of the node; the key `programs` of the module's configuration must contain its path.
#[derive(Clone, Default)]
pub struct Program {
    /// "nvidia-smi"
    pub name: String,
    /// Without the name.
    pub arguments: Vec<String>,
    /// "NAME=value"; the whole environment.
    pub environment: Vec<String>,
    /// Zero = until the deadline of the call.
    pub limit: Duration,
    /// The standard input; a service has none.
    pub input: Vec<u8>,
}

/// How a program ended, and what it printed.
#[derive(Clone, Default)]
pub struct ProgramResult {
    /// -1 if a signal ended it.
    pub exit_status: i32,
    /// The signal that ended it, or 0.
    pub signal: i32,
    /// It was killed.
    pub timed_out: bool,
    /// It printed more than 1 MiB.
    pub cut: bool,
    /// Its standard output.
    pub out: Vec<u8>,
    /// Its standard error.
    pub err: Vec<u8>,
}

impl Host {
    /// Whether the host runs programs.
    pub fn has_programs(&self) -> bool {
        self.exec().is_some()
    }
    /// Runs the program as a child of the daemon and waits for its end. Fails if it does not start. On the call's thread.
    ///
    /// ```
    /// # use cardcage::*;
    /// fn reset(host: &Host, call: &Call, card: &str) -> Result {
    ///     let program = Program { name: "acme-reset".into(), arguments: vec![card.into()], ..Default::default() };
    ///     let done = host.run(call, &program)?;
    ///     match done.exit_status {
    ///         0 => Ok(()),
    ///         status => Err(Error::new(Status::Internal, format!("acme-reset of {} exits with {}", card, status))),
    ///     }
    /// }
    /// ```
    pub fn run(&self, call: &Call, program: &Program) -> Result<ProgramResult> {
        let run = self
            .exec()
            .and_then(|exec| exec.run)
            .ok_or_else(|| Error::new(Status::Unimplemented, "running a program needs a host with cage.exec/1"))?;
        let mut result = ProgramResult::default();
        let user = &mut result as *mut ProgramResult as *mut c_void;
        with_command(call, program, |command| unsafe {
            run(self.raw(), call.raw(), command, user, Some(take_result))
        })?;
        Ok(result)
    }

    /// Whether the host keeps services running.
    pub fn has_services(&self) -> bool {
        self.services().is_ok()
    }
    /// The daemon keeps the program running for the claim of the call until the claim is released, beyond the end of
    /// this process. Does nothing if it runs already with the same arguments. Fails if it does not start. On the call's
    /// thread.
    pub fn start_service(&self, call: &Call, name: &str, program: &Program) -> Result<()> {
        let start = self.services()?.start.ok_or_else(no_services)?;
        with_command(call, program, |command| unsafe { start(self.raw(), call.raw(), text::to_raw(name), command) })
    }
    /// Returns once it has ended; the host does this after `unprepare`.
    pub fn stop_service(&self, call: &Call, name: &str) -> Result<()> {
        let stop = self.services()?.stop.ok_or_else(no_services)?;
        call.must(unsafe { stop(self.raw(), call.raw(), text::to_raw(name)) })
    }

    fn services(&self) -> Result<&raw::cage_service> {
        let id = CString::new(raw::CAGE_HOST_SERVICE).expect("a constant without a zero byte");
        let family = unsafe { (*self.raw()).extension.map(|extension| extension(self.raw(), id.as_ptr())) };
        unsafe { (family.unwrap_or(std::ptr::null()) as *const raw::cage_service).as_ref() }.ok_or_else(no_services)
    }

    fn exec(&self) -> Option<&raw::cage_exec> {
        let id = CString::new(raw::CAGE_HOST_EXEC).expect("a constant without a zero byte");
        unsafe {
            let family = (*self.raw()).extension.map(|extension| extension(self.raw(), id.as_ptr()))?;
            (family as *const raw::cage_exec).as_ref()
        }
    }
}

fn no_services() -> Error {
    Error::new(Status::Unimplemented, "a service needs a host with cage.service/1")
}

fn with_command(
    call: &Call,
    program: &Program,
    run: impl FnOnce(*const raw::cage_command) -> raw::cage_status,
) -> Result<()> {
    let (arguments, environment) = (text::to_raw_list(&program.arguments), text::to_raw_list(&program.environment));
    let command = raw::cage_command {
        struct_size: std::mem::size_of::<raw::cage_command>() as u32,
        timeout_ms: program.limit.as_millis() as u32,
        program: text::to_raw(&program.name),
        args: text::first(&arguments),
        env: text::first(&environment),
        arg_count: arguments.len() as u32,
        env_count: environment.len() as u32,
        input: raw::cage_bytes { data: program.input.as_ptr() as *const c_void, size: program.input.len() },
    };
    call.must(run(&command))
}

unsafe extern "C" fn take_result(user: *mut c_void, from: *const raw::cage_command_result) {
    let (to, from) = (&mut *(user as *mut ProgramResult), &*from);
    to.exit_status = from.exit_status;
    to.signal = from.signal;
    to.timed_out = from.flags & raw::CAGE_COMMAND_TIMED_OUT != 0;
    to.cut = from.flags & raw::CAGE_COMMAND_CUT != 0;
    to.out = text::list(from.out.data as *const u8, from.out.size).to_vec();
    to.err = text::list(from.err.data as *const u8, from.err.size).to_vec();
}
