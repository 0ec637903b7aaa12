// What a module asks of the host during a call, and the answers, as messages.
#pragma once

#include <optional>

#include "host/model/module_ask.h"
#include "host/wire/messages.h"

namespace cardcage {

void write(const ModuleAsk& from, std::uint64_t number, std::uint64_t call, wire::Ask& to);
// Nothing if it asks for nothing that we know.
std::optional<ModuleAsk> read(const wire::Ask& from);
void write(const Result<AskReply>& from, std::uint64_t number, wire::Told& to);
Result<AskReply> read(const wire::Told& from);

}  // namespace cardcage
