// Responses as HTTP messages, with the headers that all have.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/span_body.hpp>
#include <string>

#include "web/server/exchange.h"

namespace cardcage {

using ResponseMessage = boost::beast::http::response<boost::beast::http::span_body<const char>>;

// The message refers to the body of the response.
ResponseMessage response_message(const WebResponse& response, bool head_only, bool keep_alive);

// The header of a stream of events, as text.
std::string event_stream_head();

}  // namespace cardcage
