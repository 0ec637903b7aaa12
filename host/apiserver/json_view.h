// Reads JSON from untrusted sources: a member may be missing, of another type, or large.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

namespace json = boost::json;

// Fails with kInvalidArgument. `what` begins the message: "{what} is not JSON: ...".
Result<json::value> parse_json(std::string_view text, std::string_view what);

// The member if it exists and has that type; otherwise an empty one, "" or the given default.
const json::object& object_at(const json::object& object, std::string_view key);
const json::array& array_at(const json::object& object, std::string_view key);
std::string_view text_at(const json::object& object, std::string_view key);
std::int64_t int_at(const json::object& object, std::string_view key, std::int64_t otherwise = 0);
bool bool_at(const json::object& object, std::string_view key);

const json::object& as_object(const json::value& value);
// The items of a list that the API server sent. kUnavailable for any other object, which is not an empty list.
Result<const json::array*> items_of(const json::object& list);

}  // namespace cardcage
