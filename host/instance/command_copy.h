// Copies and checks the program that a module wants to run.
#pragma once

#include "cardcage/module.h"
#include "host/core/result.h"
#include "host/model/module_ask.h"

namespace cardcage {

constexpr std::size_t kMaxCommandItems = 1024;       // arguments, and variables
constexpr std::size_t kMaxCommandText = 128u << 10;  // bytes of both together

// [any-thread] Errors name the wrong member.
Result<ExecAsk> copy_command(const cage_command* given);

}  // namespace cardcage
