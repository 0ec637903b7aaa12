#include "host/model/image_library.h"

#include <charconv>
#include <optional>

namespace cardcage {
namespace {

// Parses the number at the start of the text if `rest` follows it.
std::optional<unsigned> leading_number(std::string_view text, std::string_view rest) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view left = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || !left.starts_with(rest) || left.empty() != rest.empty()) return std::nullopt;
  return number;
}

std::optional<unsigned> version_of(std::string_view file, std::string_view stem) {
  return file.starts_with(stem) ? leading_number(file.substr(stem.size()), ".") : std::nullopt;
}

}  // namespace

bool ImageLibrary::names(std::string_view file) const { return version_of(file, stem).has_value(); }
bool ImageLibrary::is_older_than(std::string_view file) const { return version_of(file, stem).value_or(0) > version; }

Result<ImageLibrary> image_library_from(std::string_view newer_than) {
  const std::size_t length = newer_than.rfind('.') + 1;
  const std::string_view stem = newer_than.substr(0, length);
  const auto version = leading_number(newer_than.substr(length), "");
  if (!version || !stem.ends_with(".so.") || stem.find('/') != std::string_view::npos)
    return fail(Code::kInvalidArgument,
                "'{}' is not the name of a library with the first number of its version, such as 'libexample.so.5'",
                newer_than);
  return ImageLibrary{.stem = std::string(stem), .version = *version};
}

}  // namespace cardcage
