// Product names, from the list that distributions install as pci.ids.
//
// Source: the comment at the start of https://pci-ids.ucw.cz/v2.2/pci.ids.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace cardcage::hardware {

// Returns the names of a vendor's products by device id: {"0x2330", "GH100 [H100 SXM5 80GB]"}. Both ids have the
// kernel's form. Empty if no list below the root has the vendor.
std::map<std::string, std::string> products_of(const std::filesystem::path& driver_root, std::string_view vendor);

}  // namespace cardcage::hardware
