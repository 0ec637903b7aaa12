// Converts a module's requests to the host, and the replies, to messages and back.
#pragma once

#include <optional>

#include "host/model/module_ask.h"
#include "host/wire/messages.h"

namespace cardcage {

void write(const ModuleAsk& from, std::uint64_t number, std::uint64_t call, wire::Ask& to);
// Returns nothing for an unknown request.
std::optional<ModuleAsk> read(const wire::Ask& from);
void write(const Result<AskReply>& from, std::uint64_t number, wire::Told& to);
Result<AskReply> read(const wire::Told& from);

void write(const FileWriteAsk& from, wire::FileWrite& to);
void write(const IoctlAsk& from, wire::Ioctl& to);

}  // namespace cardcage
