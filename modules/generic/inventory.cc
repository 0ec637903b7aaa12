#include "modules/generic/inventory.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <tuple>

namespace cardcage::generic {
namespace {

constexpr std::size_t kMaxName = 63;

bool matches(const std::string& pattern, const std::string& text) {
  return pattern.empty() || ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool is_selected(const Entry& entry, const Facts& facts) {
  const bool is_usb = entry.usb_vendor.empty() || !facts.usb_vendor.empty();
  return is_usb && matches(entry.subsystem, facts.subsystem) && matches(entry.usb_vendor, facts.usb_vendor) &&
         matches(entry.usb_product, facts.usb_product) && matches(entry.serial, facts.usb_serial) &&
         std::ranges::all_of(entry.properties, [&](const auto& wanted) {
           const auto known = facts.properties.find(wanted.first);
           return known != facts.properties.end() && matches(wanted.second, known->second);
         });
}

std::string why_not(const Entry& entry, const DeviceFile& file, const Facts& facts) {
  if (file.type == 'b' && !entry.block)
    return "it is a block device; if containers may have the disk, write block = true in the entry '" + entry.name +
           "'";
  const std::string danger = entry.unsafe ? "" : danger_of(file, facts.subsystem);
  if (danger.empty()) return {};
  return danger + "; narrow the paths of the entry '" + entry.name + "', or write unsafe = true there";
}

// Ids may not have spaces, which serial numbers do have.
std::string without_spaces(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return std::isgraph(c) == 0; }, '_');
  return text;
}

// USB devices keep their identity when they get another node; a clone without a serial number is known by its port.
std::string id_of(const Entry& entry, const DeviceFile& file, const Facts& facts) {
  const bool is_one = entry.paths.size() == 1 && !has_wildcard(entry.paths.front());
  if (entry.together || is_one) return entry.name;
  if (facts.usb_vendor.empty()) return entry.name + "-" + without_spaces(file.target.substr(5));
  const std::string which = facts.usb_serial.empty() ? facts.usb_port : facts.usb_serial;
  const std::string part = facts.usb_interface.empty() ? "" : "-if" + facts.usb_interface;
  return without_spaces(entry.name + "-" + facts.usb_vendor + "-" + facts.usb_product + "-" + which + part);
}

// The DNS label for an id: "serial-ttyUSB0" becomes "serial-ttyusb0". Empty if it would be too long.
std::string label_of(const std::string& id) {
  std::string label;
  for (const unsigned char c : id) label += std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '-';
  return label.size() <= kMaxName && label.back() != '-' ? label : std::string();
}

class Search {
 public:
  Search(const hardware::Node& node, const std::filesystem::path& udev)
      : node_(node), udev_(udev), paths_(node.devfs, kMaxFiles) {}

  void search(const Entry& entry) {
    std::size_t seen = 0;
    const std::size_t refused = result_.not_offered.size();
    std::vector<Found> found;
    std::vector<std::string> missing;
    for (const std::string& pattern : entry.paths) {
      const std::vector<std::string> paths = paths_.find(pattern);
      if (paths.empty()) missing.push_back(pattern);
      seen += paths.size();
      for (const std::string& path : paths) look_at(entry, path, has_wildcard(pattern), found);
    }
    if (paths_.has_more())
      refuse(entry.name, "the entries match more than " + std::to_string(kMaxFiles) + " files; write narrower paths");
    if (found.empty() || (entry.together && !missing.empty())) return report_nothing(entry, seen, missing);
    if (entry.together && result_.not_offered.size() > refused)
      return refuse(entry.name, "a part of it may not be offered; the reasons are beside this one");
    if (entry.together) {
      for (std::size_t i = 1; i < found.size(); ++i) found[0].files.push_back(found[i].files[0]);
      found.resize(1);
    }
    for (Found& one : found) result_.devices.push_back(std::move(one));
  }

  Inventory finish() {
    drop_contested();
    name_all();
    result_.folders = paths_.folders();
    return std::move(result_);
  }

 private:
  void refuse(const std::string& subject, std::string why) { result_.not_offered.try_emplace(subject, std::move(why)); }

  void look_at(const Entry& entry, const std::string& path, bool is_wild, std::vector<Found>& found) {
    auto file = look_up(node_.devfs, path);
    if (!file) {
      if (!file.error().empty()) return refuse(path, file.error());
      if (!is_wild)
        refuse(path, "it is not a device node; name nodes, or write '" + path + "/*' for those in a folder");
      return;
    }
    const bool is_new = known_.insert(entry.name + " " + file->numbers()).second;
    if (!is_new) return;  // another pattern of the entry led to it, such as the link of a node
    Facts facts = facts_of(node_.sysfs, udev_, *file);
    if (!is_selected(entry, facts)) return;
    if (std::string why = why_not(entry, *file, facts); !why.empty()) return refuse(file->target, std::move(why));
    std::string id = id_of(entry, *file, facts);
    found.push_back({entry, std::move(id), {}, {std::move(*file)}, std::move(facts)});
  }

  void report_nothing(const Entry& entry, std::size_t seen, const std::vector<std::string>& missing) {
    std::string list;
    for (const std::string& pattern : missing) list += (list.empty() ? "" : ", ") + pattern;
    if (!list.empty())
      refuse(entry.name, "nothing matches " + list + "; its devices appear with the first file that does");
    else
      refuse(entry.name,
             std::to_string(seen) + " files match its paths, but none may be offered or fits its selectors");
  }

  // A node in two entries would be given to more pods than each of them allows.
  void drop_contested() {
    std::map<std::string, std::set<std::string>> owners;
    for (const Found& one : result_.devices)
      for (const DeviceFile& file : one.files) owners[file.numbers()].insert(one.entry.name);
    std::erase_if(result_.devices, [&](const Found& one) {
      for (const DeviceFile& file : one.files) {
        const auto& names = owners.at(file.numbers());
        if (names.size() == 1) continue;
        std::string list;
        for (const std::string& name : names) list += (list.empty() ? "'" : "' and '") + name;
        refuse(file.target, "the entries " + list + "' all match it; change their paths so that one does");
        return true;
      }
      return false;
    });
  }

  void name_all() {
    std::ranges::sort(result_.devices, {}, [](const Found& one) {
      return std::tuple(one.id, one.files.front().major_number, one.files.front().minor_number);
    });
    std::map<std::string, int> ids;
    std::set<std::string> names;
    for (Found& one : result_.devices) {
      // A camera has two nodes for one interface, and the serial numbers of cheap devices repeat.
      if (const int before = ids[one.id]++; before > 0) one.id += "-" + std::to_string(before);
      std::string label = label_of(one.id);
      if (names.insert(label).second) one.name = std::move(label);
    }
  }

  const hardware::Node& node_;
  const std::filesystem::path& udev_;
  PathFinder paths_;
  std::set<std::string> known_;  // "serial c 188:0"
  Inventory result_;
};

}  // namespace

const Found* Inventory::find(std::string_view id) const {
  const auto found = std::ranges::find(devices, id, &Found::id);
  return found == devices.end() ? nullptr : &*found;
}

Inventory take_inventory(const hardware::Node& node, const std::filesystem::path& udev,
                         const std::vector<Entry>& entries) {
  Search search(node, udev);
  for (const Entry& entry : entries) search.search(entry);
  return search.finish();
}

}  // namespace cardcage::generic
