// The entries that claims may name in their parameters, as a module lists them [R22].
#pragma once

#include <string>
#include <vector>

#include "host/model/device.h"
#include "host/model/report.h"

namespace cardcage {

constexpr std::size_t kMaxCatalogueEntries = 4096;   // per module
constexpr std::size_t kMaxCatalogueText = 8u << 20;  // names, details and attributes of all entries of a module
constexpr std::size_t kMaxEntryDetail = 1024;

struct CatalogueEntry {
  std::string kind;      // "bitstream"
  std::string name;      // name in the parameters of claims
  bool refused = false;  // claims cannot name it
  std::string detail;    // description, or the reason for the refusal, for people
  Attributes attributes;
  friend bool operator==(const CatalogueEntry&, const CatalogueEntry&) = default;
};

struct Catalogue {
  std::vector<CatalogueEntry> entries;  // in the order in which the module reported
  LeftOut left_out;
  friend bool operator==(const Catalogue&, const Catalogue&) = default;
};

}  // namespace cardcage
