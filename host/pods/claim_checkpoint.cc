#include "host/pods/claim_checkpoint.h"

#include <boost/crc.hpp>
#include <boost/json.hpp>

#include "host/core/file.h"

namespace cardcage {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxBytes = 64u << 20;

std::uint32_t crc32(std::string_view text) {
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  return crc.checksum();
}

Result<std::set<std::string>> uids_of(const json::value& file) {
  const auto& data = file.at("Data").as_string();
  if (crc32(data) != file.at("Checksum").to_number<std::uint32_t>())
    return fail(Code::kDataLoss, "its checksum is wrong");
  const json::value content = json::parse(data);
  if (content.at("kind").as_string() != "DRACheckpoint") return fail(Code::kDataLoss, "it is of another kind");
  std::set<std::string> uids;
  const json::value& entries = content.at("ClaimInfoStateList");
  if (entries.is_null()) return uids;  // Go's empty list
  for (const json::value& entry : entries.as_array()) uids.emplace(entry.at("ClaimUID").as_string());
  return uids;
}

}  // namespace

Result<std::set<std::string>> parse_claim_checkpoint(std::string_view text) {
  try {
    return uids_of(json::parse(text));
  } catch (const std::exception& malformed) {
    return fail(Code::kDataLoss, "it is not a checkpoint of claims: {}", malformed.what());
  }
}

Result<std::set<std::string>> read_claim_checkpoint(const std::filesystem::path& kubelet_root) {
  const std::filesystem::path file = kubelet_root / kClaimCheckpoint;
  const auto text = read_file(file, kMaxBytes);
  std::error_code ignored;
  if (!text && text.error().code == Code::kNotFound && std::filesystem::is_directory(kubelet_root / "pods", ignored))
    return std::set<std::string>();
  if (!text && text.error().code == Code::kNotFound)
    return fail(Code::kFailedPrecondition,
                "'{}' has no folder 'pods': set node.kubelet_root to the kubelet's --root-dir, and mount that folder "
                "where the daemon runs in a container",
                kubelet_root.native());
  if (!text) return std::unexpected(text.error());
  auto uids = parse_claim_checkpoint(*text);
  if (!uids) return within(uids.error(), "the kubelet's checkpoint '{}'", file.native());
  return uids;
}

}  // namespace cardcage
