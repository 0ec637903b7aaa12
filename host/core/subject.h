// Errors about a subject that the caller names as well.
#pragma once

#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// The message with "it" in place of the subject that it begins with.
inline std::string with_pronoun(const std::string& message, const std::string& subject) {
  return message.starts_with(subject + " ") ? "it" + message.substr(subject.size()) : message;
}

// "module 'x' does not start: REASON" for the error "module 'x' cannot start: REASON", and like within() for other
// errors, which call the subject "it".
inline std::unexpected<Error> within_subject(Error error, const std::string& subject, std::string_view what) {
  const std::size_t colon = error.message.find(": ");
  const bool says_so = error.message.starts_with(subject + " cannot ") && colon != std::string::npos;
  const std::string reason = says_so ? error.message.substr(colon + 2) : with_pronoun(error.message, subject);
  error.message = fmt::format("{} {}: {}", subject, what, reason);
  return std::unexpected(std::move(error));
}

}  // namespace cardcage
