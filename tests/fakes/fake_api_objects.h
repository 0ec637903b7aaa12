// Queries, labels and patches of the fake API server.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <string>
#include <string_view>

namespace cardcage::fake_api {

// "a=b&c=d", percent-encoded.
std::map<std::string, std::string> parse_pairs(std::string_view text, char separator);

boost::json::object labels_of(const boost::json::object& object);
// Whether the labelSelector of a query selects the labels. Knows selectors of the form "key=value,key=value".
bool has_labels(const std::map<std::string, std::string>& query, const boost::json::object& labels);

// Applies a merge patch (RFC 7386).
void merge(boost::json::object& object, const boost::json::object& changes);

}  // namespace cardcage::fake_api
