// Converts the calls of a module and their replies to messages and back.
#pragma once

#include <optional>
#include <vector>

#include "host/core/descriptors.h"
#include "host/model/module_call.h"
#include "host/wire/messages.h"

namespace cardcage {

// Omits the live claims of a reconcile: each is sent before the call, in a request of its own.
void write(const ModuleCall& from, wire::Request& to);
// Returns nothing if the request is not a call of the module. A reconcile comes without its live claims.
std::optional<ModuleCall> read_call(const wire::Request& from);

// The descriptors sent with a call, and those received with one.
Descriptors descriptors_of(const ModuleCall& call);
Status take_descriptors(Descriptors descriptors, ModuleCall& call);

// Writes all replies but a snapshot, samples and a catalogue, which are sent in parts.
void write(const ModuleReply& from, wire::Answer& to);

// Reads the answers of one call one by one, so that the end of a large reply costs the core little.
class ReplyReader {
 public:
  // `request` is the kind of the call; `devices` is its number of devices for prepare and check.
  ReplyReader(wire::Request::WhatCase request, std::size_t devices) : request_(request), devices_(devices) {}

  // Takes an answer with a part of the reply.
  void take(const wire::Answer& part);
  // Takes the last answer of a call that succeeded.
  Result<ModuleReply> finish(const wire::Answer& last);

 private:
  const wire::Request::WhatCase request_;
  const std::size_t devices_;
  Snapshot snapshot_;
  MetricSamples samples_;
  Catalogue catalogue_;
  std::optional<Error> broken_;  // error of the first unreadable part
};

}  // namespace cardcage
