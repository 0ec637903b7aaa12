#include "ctl/claim_file.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <iostream>
#include <iterator>

#include "host/core/file.h"

namespace cardcage {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxFileSize = 64u << 20;

// Returns the member, or null if `value` is not an object or lacks it.
const json::value& member(const json::value& value, std::string_view name) {
  static const json::value nothing;
  const auto* object = value.if_object();
  const auto* found = object ? object->if_contains(name) : nullptr;
  return found ? *found : nothing;
}

std::string text_of(const json::value& value) {
  const auto* text = value.if_string();
  return text ? std::string(*text) : std::string();
}

std::vector<std::string> drivers_of(const json::value& claim) {
  std::vector<std::string> drivers;
  const auto& devices = member(member(member(claim, "status"), "allocation"), "devices");
  if (const auto* results = member(devices, "results").if_array()) {
    for (const json::value& result : *results) {
      const std::string driver = text_of(member(result, "driver"));
      if (!driver.empty() && std::ranges::find(drivers, driver) == drivers.end()) drivers.push_back(driver);
    }
  }
  return drivers;
}

Result<FileClaim> claim_of(const json::value& object) {
  const std::string kind = text_of(member(object, "kind"));
  if (kind != "ResourceClaim")
    return fail(Code::kInvalidArgument, "expected a ResourceClaim, found {}",
                kind.empty() ? "an object without a kind" : fmt::format("a '{}'", kind));
  const auto& metadata = member(object, "metadata");
  FileClaim claim{.ref = {.name_space = text_of(member(metadata, "namespace")),
                          .name = text_of(member(metadata, "name")),
                          .uid = text_of(member(metadata, "uid"))},
                  .drivers = drivers_of(object)};
  if (claim.ref.name.empty()) return fail(Code::kInvalidArgument, "a ResourceClaim has no metadata.name");
  if (claim.ref.name_space.empty()) claim.ref.name_space = "default";
  if (claim.ref.uid.empty())
    return fail(Code::kInvalidArgument, "claim {}/{} has no metadata.uid", claim.ref.name_space, claim.ref.name);
  return claim;
}

}  // namespace

Result<std::vector<FileClaim>> parse_claims(std::string_view text) {
  boost::system::error_code problem;
  const json::value document = json::parse(text, problem);
  if (problem)
    return fail(Code::kInvalidArgument, "not JSON ({}); write it with 'kubectl get resourceclaim -o json'",
                problem.message());
  std::vector<FileClaim> claims;
  const auto* items = member(document, "items").if_array();
  const json::array single = items ? json::array() : json::array{document};
  for (const json::value& item : items ? *items : single) {
    auto claim = claim_of(item);
    if (!claim) return std::unexpected(claim.error());
    claims.push_back(std::move(*claim));
  }
  return claims;
}

Result<std::vector<FileClaim>> read_claims(const std::filesystem::path& file) {
  Result<std::string> text;
  if (file == "-")
    text = std::string(std::istreambuf_iterator<char>(std::cin), {});
  else
    text = read_file(file, kMaxFileSize);
  if (!text) return std::unexpected(text.error());
  auto claims = parse_claims(*text);
  if (!claims) return within(claims.error(), "'{}'", file.native());
  return claims;
}

}  // namespace cardcage
