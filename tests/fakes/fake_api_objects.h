// Objects, queries and patches of the fake API server.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <string>
#include <string_view>

namespace cardcage::fake_api {

// "a=b&c=d", percent-encoded.
std::map<std::string, std::string> parse_pairs(std::string_view text, char separator);

// Returns object[outer][inner]; empty without such a text.
std::string text_of(const boost::json::object& object, const char* outer, const char* inner);
bool has_finalizers(const boost::json::object& object);
// Whether the collection is one of all namespaces in `wanted`: "namespaces/ns/resourceclaims" is in "resourceclaims".
bool is_part_of(const std::string& collection, const std::string& wanted);

boost::json::object labels_of(const boost::json::object& object);
// Whether the labelSelector of a query selects the labels. Knows selectors of the form "key=value,key".
bool has_labels(const std::map<std::string, std::string>& query, const boost::json::object& labels);

// Returns the error of a real API server for an Event of core/v1; empty if it accepts the Event. The limits are those
// of events.k8s.io, to which it converts the Event (pkg/apis/core/validation/events.go).
std::string refusal_of_event(const std::string& collection, const boost::json::object& event);

// Applies a merge patch (RFC 7386).
void merge(boost::json::object& object, const boost::json::object& changes);

}  // namespace cardcage::fake_api
