// Writes the statuses of a claim's devices to a file beside the claim's.
#include "host/apiserver/claim_status_json.h"
#include "host/apiserver/embedded_node.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxStatusFile = std::size_t{4} << 20;

// Returns the entries of other drivers. A file of an earlier claim of the same name, or an unreadable one, has none.
json::array entries_of_others(const std::filesystem::path& file, const ClaimRef& claim, std::string_view driver) {
  json::array others;
  const auto text = read_file(file, kMaxStatusFile);
  const auto known = text ? parse_json(*text, file.native()) : std::unexpected(text.error());
  if (!known || text_at(object_at(as_object(*known), "metadata"), "uid") != claim.uid) return others;
  for (const auto& entry : array_at(object_at(as_object(*known), "status"), "devices"))
    if (text_at(as_object(entry), "driver") != driver) others.push_back(entry);
  return others;
}

}  // namespace

Task<Status> EmbeddedNode::apply_claim_status(ClaimRef claim, StatusOwner owner, std::vector<DeviceStatus> devices,
                                              Instant deadline) {
  if (auto valid = check_claim_status(claim, owner.driver, devices); !valid) co_return valid;
  const auto stored = co_await get_claim(claim.name_space, claim.name, deadline);
  if (!stored) co_return std::unexpected(stored.error());
  if (stored->ref.uid != claim.uid)
    co_return fail(Code::kAborted, "ResourceClaim '{}/{}' was replaced: its UID is {}, not {}", claim.name_space,
                   claim.name, stored->ref.uid, claim.uid);
  const auto file = folder_ / "statuses" / fmt::format("{}_{}.json", claim.name_space, claim.name);
  json::array entries = entries_of_others(file, claim, owner.driver);
  auto own = claim_status_to_json(devices);
  if (!own) co_return std::unexpected(own.error());
  for (auto& entry : *own) entries.push_back(std::move(entry));
  if (entries.empty()) {
    std::error_code failure;
    std::filesystem::remove(file, failure);
    if (failure) co_return fail_errno(failure.value(), fmt::format("cannot delete '{}'", file.native()));
    co_return Status{};
  }
  const auto text = json::serialize(claim_status_patch(claim, std::move(entries), ResourceApi::kV1)) + "\n";
  const auto written = write_file_atomically(file, text, 0644, false);
  if (!written) co_return within(written.error(), "status of ResourceClaim '{}/{}'", claim.name_space, claim.name);
  co_return Status{};
}

}  // namespace cardcage
