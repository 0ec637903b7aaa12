// The calls of a module and their replies as messages.
#pragma once

#include <optional>
#include <vector>

#include "host/core/descriptors.h"
#include "host/model/module_call.h"
#include "host/wire/messages.h"

namespace cardcage {

// The live claims of a reconcile are left out: each goes before the call, in a request of its own.
void write(const ModuleCall& from, wire::Request& to);
// Nothing if the request is not a call of the module. A reconcile comes without its live claims.
std::optional<ModuleCall> read_call(const wire::Request& from);

// What goes along with the call, and what came along with one that was read.
Descriptors descriptors_of(const ModuleCall& call);
Status take_descriptors(Descriptors descriptors, ModuleCall& call);

// All but a snapshot, samples and a catalogue, which go in parts.
void write(const ModuleReply& from, wire::Answer& to);

// Reads what comes back for one call, answer by answer, so that the core has little to do at the end of a large one.
class ReplyReader {
 public:
  // `request` is what was asked, for so many devices if it was prepare or check.
  ReplyReader(wire::Request::WhatCase request, std::size_t devices) : request_(request), devices_(devices) {}

  // An answer that carries a part of the reply.
  void take(const wire::Answer& part);
  // The last answer, of a call that succeeded.
  Result<ModuleReply> finish(const wire::Answer& last);

 private:
  const wire::Request::WhatCase request_;
  const std::size_t devices_;
  Snapshot snapshot_;
  MetricSamples samples_;
  Catalogue catalogue_;
  std::optional<Error> broken_;  // the first part that cannot be read
};

}  // namespace cardcage
