// A request of a browser, and the response to it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cardcage {

// A person who was admitted.
struct Visitor {
  std::string name;          // for records; empty = the operator who started the program
  bool may_command = false;  // may call routes that are not GET
  std::string why_not;       // remedy, if the visitor may not
  std::string subject;       // the user as SubjectAccessReview takes it, JSON; empty if the name is
};

// The server has checked the Host of a request, and the Origin and the headers against request forgery of one that is
// not GET or HEAD.
struct WebRequest {
  std::string method;  // "GET" also for HEAD
  bool head_only = false;
  std::string path;   // as sent, so without any decoding: "/api/v1/status"
  std::string query;  // as sent, without '?'
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string client;  // address of the peer: "127.0.0.1:41234"
  Visitor visitor;     // set for handlers

  // Returns the first header of this name; the case of letters does not matter. Empty without one.
  std::string_view header(std::string_view name) const;
  // Returns the decoded value of a query parameter; nothing without it.
  std::optional<std::string> parameter(std::string_view name) const;
  // Returns the value of a cookie; empty without it.
  std::string_view cookie(std::string_view name) const;
};

// A server-sent event. Neither text contains a line break.
struct WebEvent {
  std::string name;
  std::string data;
};

// [core] The events for one reader. The server takes the next one only when the previous one has been sent, so a source
// combines later changes instead of queueing them. It is destroyed when its reader has gone or is too slow.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // Returns the next event; nothing if none is due.
  virtual std::optional<WebEvent> take() = 0;
};

struct WebResponse {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string_view fixed_body;  // sent instead, if it is not empty; lives as long as the program
  std::vector<std::pair<std::string, std::string>> headers;  // beside those that every response has
  // Makes the response a stream of events, and ignores body and type. The function gets a callback, which the source
  // calls on the core whenever it has an event; the callback may be called at any time, also after the reader has gone.
  std::function<std::unique_ptr<EventSource>(std::function<void()> ready)> events;
};

// {"error": "..."}
WebResponse error_response(unsigned status, std::string_view message);
// A page of text for people.
WebResponse text_response(unsigned status, std::string text);

}  // namespace cardcage
