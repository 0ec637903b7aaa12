// The kubelet's checkpoint of claims, as a kubelet writes it.
#pragma once

#include <boost/crc.hpp>
#include <boost/json.hpp>
#include <fstream>
#include <set>
#include <string>

#include "sim/scratch_folder.h"

namespace cardcage {

inline std::string claim_checkpoint_of(const std::string& data) {
  boost::crc_32_type crc;
  crc.process_bytes(data.data(), data.size());
  return boost::json::serialize(boost::json::object{{"Data", data}, {"Checksum", crc.checksum()}});
}

inline void write_claim_checkpoint(const std::filesystem::path& kubelet_root, const std::set<std::string>& uids) {
  boost::json::array entries;
  for (const auto& uid : uids) entries.push_back({{"ClaimUID", uid}, {"ClaimName", "name"}, {"Namespace", "team"}});
  boost::json::object data{{"kind", "DRACheckpoint"}, {"apiVersion", "checkpoint.dra.kubelet.k8s.io/v1"}};
  data["ClaimInfoStateList"] = uids.empty() ? boost::json::value() : boost::json::value(std::move(entries));
  std::ofstream(kubelet_root / "dra_manager_state") << claim_checkpoint_of(boost::json::serialize(data));
}

}  // namespace cardcage
