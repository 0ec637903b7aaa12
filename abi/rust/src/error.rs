// SPDX-License-Identifier: Apache-2.0

use crate::raw;
use std::fmt;

pub type Result<T = ()> = std::result::Result<T, Error>;

/// The canonical status codes of a call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    Cancelled = raw::CAGE_CANCELLED,
    Unknown = raw::CAGE_UNKNOWN,
    InvalidArgument = raw::CAGE_INVALID_ARGUMENT,
    DeadlineExceeded = raw::CAGE_DEADLINE_EXCEEDED,
    NotFound = raw::CAGE_NOT_FOUND,
    AlreadyExists = raw::CAGE_ALREADY_EXISTS,
    PermissionDenied = raw::CAGE_PERMISSION_DENIED,
    ResourceExhausted = raw::CAGE_RESOURCE_EXHAUSTED,
    FailedPrecondition = raw::CAGE_FAILED_PRECONDITION,
    Aborted = raw::CAGE_ABORTED,
    OutOfRange = raw::CAGE_OUT_OF_RANGE,
    Unimplemented = raw::CAGE_UNIMPLEMENTED,
    Internal = raw::CAGE_INTERNAL,
    Unavailable = raw::CAGE_UNAVAILABLE,
    DataLoss = raw::CAGE_DATA_LOSS,
    Unauthenticated = raw::CAGE_UNAUTHENTICATED,
}

/// Why a call fails: a status, and a text for people with subject, cause and remedy. `?` turns every other error into
/// INTERNAL with its text.
pub struct Error {
    pub(crate) status: raw::cage_status,
    pub(crate) text: String,
}

impl Error {
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
