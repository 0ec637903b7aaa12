// The calls of a module and their replies as messages.
#pragma once

#include <optional>
#include <vector>

#include "host/model/module_call.h"
#include "host/wire/messages.h"

namespace cardcage {

// Everything that came back for one call: the last answer says how it went, and those before it carry parts.
using Answers = std::vector<wire::Answer>;

// The live claims of a reconcile are left out: each goes before the call, in a request of its own.
void write(const ModuleCall& from, wire::Request& to);
// Nothing if the request is not a call of the module. A reconcile comes without its live claims.
std::optional<ModuleCall> read_call(const wire::Request& from);

// All but a snapshot, which goes in parts.
void write(const ModuleReply& from, wire::Answer& to);
// The answers of a call that succeeded. `request` is what was asked, of a claim with `devices` devices if it was
// prepare.
Result<ModuleReply> read_reply(wire::Request::WhatCase request, std::size_t devices, const Answers& answers);

}  // namespace cardcage
