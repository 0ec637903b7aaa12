// Errors about a subject that the caller names, too.
#pragma once

#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// "module 'x' does not start: REASON" for the error "module 'x' cannot start: REASON", and as within() for others.
inline std::unexpected<Error> within_subject(Error error, const std::string& subject, std::string_view what) {
  std::string_view reason = error.message;
  const std::size_t colon = reason.find(": ");
  if (reason.starts_with(subject + " cannot ") && colon != std::string_view::npos) reason.remove_prefix(colon + 2);
  error.message = fmt::format("{} {}: {}", subject, what, reason);
  return std::unexpected(std::move(error));
}

// The message with "it" in place of the subject that it begins with.
inline std::string with_pronoun(const std::string& message, const std::string& subject) {
  return message.starts_with(subject + " ") ? "it" + message.substr(subject.size()) : message;
}

}  // namespace cardcage
