// Rules for text that a module supplies. Rules for names that Kubernetes reads are in naming.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cardcage {

// RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool is_utf8(std::string_view text);
// UTF-8 without control characters: one line that can go into a log or into JSON as it is.
bool is_line(std::string_view text);
// Replaces each control character and invalid byte with '?', and cuts before the character that would exceed `max`
// bytes.
std::string printable(std::string_view text, std::size_t max);
// Does the same, but keeps line breaks.
std::string printable_lines(std::string_view text, std::size_t max);

bool is_device_id(std::string_view text);                    // printable ASCII without spaces, 1 to 253
bool is_entry_name(std::string_view text);                   // name of a catalogue entry: one line of 1 to 253 bytes
bool is_camel_case(std::string_view text, std::size_t max);  // "XidError"
bool is_env_name(std::string_view text);                     // as Kubernetes: [-._a-zA-Z][-._a-zA-Z0-9]*, at most 256
bool is_clean_path(std::string_view text);                   // absolute, not "/", no ".", "..", "//", no trailing "/"
bool is_interface_name(std::string_view text);               // a network interface: at most IFNAMSIZ - 1 = 15
bool is_option_name(std::string_view text);                  // [a-zA-Z][a-zA-Z0-9_]*, at most 32
bool is_param_path(std::string_view text);  // 1 to 8 names of up to 64 bytes joined with ".", at most 128
// [a-z][a-z0-9_]* or [A-Z][A-Z0-9_]*, at most 64, and not a series name of Prometheus itself.
bool is_metric_name(std::string_view text);
// [a-zA-Z][a-zA-Z0-9_]*, at most 64, that neither the host nor Prometheus uses.
bool is_metric_label(std::string_view text);

}  // namespace cardcage
