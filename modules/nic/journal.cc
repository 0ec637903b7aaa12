#include "modules/nic/journal.h"

#include <sstream>

namespace cardcage::nic {
namespace {

constexpr std::string_view kBound = "bound ", kIpam = "ipam ";

}  // namespace

Journal journal_of(const cage::Claim& claim) {
  Journal journal;
  std::istringstream lines{std::string(claim.journal())};
  for (std::string line; std::getline(lines, line);) {
    if (auto change = change_from(line)) {
      if (!claim.other_boot()) journal.changes.push_back(std::move(*change));
    } else if (line.starts_with(kBound)) {
      if (!claim.other_boot()) journal.bound.insert(line.substr(kBound.size()));
    } else if (line.starts_with(kIpam)) {
      const auto end = line.find(' ', kIpam.size());
      if (end != std::string::npos)
        journal.leases.push_back({line.substr(kIpam.size(), end - kIpam.size()), line.substr(end + 1)});
    } else {
      std::istringstream words(line);
      std::string device, function;
      if (words >> device >> function) journal.functions.emplace_back(device, function);
    }
  }
  return journal;
}

std::string journal_line(const VfChange& change) { return to_line(change) + "\n"; }

std::string bound_line(const std::string& device) { return std::string(kBound) + device + "\n"; }

std::string function_line(std::string_view device, const std::string& function) {
  return std::string(device) + " " + function + "\n";
}

std::string journal_line(const Lease& lease) {
  return std::string(kIpam) + lease.interface + " " + lease.config + "\n";
}

}  // namespace cardcage::nic
