// SPDX-License-Identifier: Apache-2.0
//! The pod that `ATTACH` and `DETACH` are for.

use crate::{raw, text};
use std::os::unix::io::BorrowedFd;

/// A pod whose sandbox exists. The descriptors are open during the call: clone what must stay open.
pub struct Pod {
    raw: *const raw::cage_pod,
}

impl Pod {
    pub(crate) fn new(raw: *const raw::cage_pod) -> Pod {
        Pod { raw }
    }

    /// The pod's UID.
    pub fn uid(&self) -> &str {
        unsafe { text::view((*self.raw).uid) }
    }
    /// The pod's namespace.
    pub fn name_space(&self) -> &str {
        unsafe { text::view((*self.raw).name_space) }
    }
    /// The pod's name.
    pub fn name(&self) -> &str {
        unsafe { text::view((*self.raw).name) }
    }
    /// Its network namespace, which is never that of the node.
    pub fn network_namespace(&self) -> BorrowedFd<'_> {
        unsafe { BorrowedFd::borrow_raw((*self.raw).network_namespace) }
    }
    /// A path of the namespace on the node, for programs; empty if the container runtime did not report it.
    pub fn network_namespace_path(&self) -> &str {
        unsafe { text::view((*self.raw).network_namespace_path) }
    }
    /// A NETLINK_ROUTE socket in there, for modules that may not call setns(2).
    pub fn route_socket(&self) -> BorrowedFd<'_> {
        unsafe { BorrowedFd::borrow_raw((*self.raw).route_socket) }
    }
}
