// SPDX-License-Identifier: Apache-2.0

use crate::raw;
use std::fmt;

/// The result of every call that may fail.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// The canonical status codes of a call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// The caller has given up.
    Cancelled = raw::CAGE_CANCELLED,
    /// Another error.
    Unknown = raw::CAGE_UNKNOWN,
    /// The request is wrong, whatever the state of the device.
    InvalidArgument = raw::CAGE_INVALID_ARGUMENT,
    /// The deadline has passed.
    DeadlineExceeded = raw::CAGE_DEADLINE_EXCEEDED,
    /// The thing does not exist.
    NotFound = raw::CAGE_NOT_FOUND,
    /// The thing exists already.
    AlreadyExists = raw::CAGE_ALREADY_EXISTS,
    /// The right is missing.
    PermissionDenied = raw::CAGE_PERMISSION_DENIED,
    /// Something is used up.
    ResourceExhausted = raw::CAGE_RESOURCE_EXHAUSTED,
    /// The state does not allow it; the text says what to change first.
    FailedPrecondition = raw::CAGE_FAILED_PRECONDITION,
    /// Something changed meanwhile.
    Aborted = raw::CAGE_ABORTED,
    /// A value is out of bounds.
    OutOfRange = raw::CAGE_OUT_OF_RANGE,
    /// The module or the device cannot do that.
    Unimplemented = raw::CAGE_UNIMPLEMENTED,
    /// A fault of the module or of its hardware.
    Internal = raw::CAGE_INTERNAL,
    /// It may succeed later.
    Unavailable = raw::CAGE_UNAVAILABLE,
    /// Data is lost.
    DataLoss = raw::CAGE_DATA_LOSS,
    /// The identity of the caller is not known.
    Unauthenticated = raw::CAGE_UNAUTHENTICATED,
}

/// Why a call fails: a status, and a text for people with subject, cause and remedy. `?` turns every other error into
/// INTERNAL with its text.
pub struct Error {
    pub(crate) status: raw::cage_status,
    pub(crate) text: String,
}

impl Error {
    /// A failure with a text for people: subject, cause, remedy.
    pub fn new(status: Status, text: impl Into<String>) -> Error {
        Error { status: status as raw::cage_status, text: text.into() }
    }
    /// The host has explained the failure already.
    pub(crate) fn explained(status: raw::cage_status) -> Error {
        Error { status, text: String::new() }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (status {})", self.text, self.status)
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Error {
        Error::new(Status::Internal, error.to_string())
    }
}
