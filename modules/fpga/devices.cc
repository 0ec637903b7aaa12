#include "modules/fpga/devices.h"

#include <algorithm>
#include <map>

#include "modules/common/pci_function.h"
#include "modules/fpga/health/declared_causes.h"
#include "modules/fpga/inventory.h"

namespace cardcage::fpga {
namespace {

constexpr const char* kParts = "parts";  // the counter that the parts of a card share

std::string counter_set_of(const std::string& card) { return name_of_card(card) + "-" + kParts; }

cage::Device device_of(const Target& target, const Fences& fences, const IsChanging& is_changing) {
  const Identity& about = target.identity();
  cage::Device device(about.id, about.kind);
  device.name(about.name).health(region_health(target, fences, is_changing));
  if (!about.bus_id.empty()) device.pci(about.bus_id);
  device.attribute("type", about.kind).attribute("card", about.physical.empty() ? about.card : about.physical);
  if (!about.model.empty()) device.attribute("model", about.model);
  if (const std::string id = target.interface_id(); !id.empty()) device.attribute("interfaceId", id);
  if (const Function loaded = target.function(); !loaded.id.empty()) device.attribute("afuId", loaded.id);
  device.attribute("programmable", target.why_not_programmable().empty());
  target.describe(device);
  return device;
}

std::string detail_of(const Entry& entry) {
  std::string text = entry.description;
  if (!entry.card.empty()) text += (text.empty() ? "for " : ", for ") + entry.card;
  if (!entry.bitstream.function_id.empty())
    text += (text.empty() ? "" : ", ") + ("function " + entry.bitstream.function_id);
  return text.empty() ? entry.file.filename().native() : text;
}

}  // namespace

void report_catalogue(const Catalogue& from, cage::Catalogue& to) {
  for (const Entry& entry : from.all()) {
    cage::Entry line("bitstream", entry.name);
    if (!entry.fault.empty()) {
      to.add(line.refused(entry.fault));
      continue;
    }
    line.detail(detail_of(entry)).attribute("sha256", entry.sha256);
    if (!entry.bitstream.interface_id.empty()) line.attribute("interfaceId", entry.bitstream.interface_id);
    if (!entry.bitstream.function_id.empty()) line.attribute("afuId", entry.bitstream.function_id);
    if (!entry.card.empty()) line.attribute("card", entry.card);
    to.add(line);
  }
}

cage::Health region_health(const Target& target, const Fences& fences, const IsChanging& is_changing) {
  const std::string taint = taint_key_of(cause::kRegion);
  const auto bad = [&taint](const char* reason, std::string message) {
    return cage::Health::bad(reason, std::move(message)).about(cause::kRegion).tainted(cage::Taint::no_schedule, taint);
  };
  const auto fence = fences.find(target.identity());
  if (is_changing(target)) return cage::Health::ok().about(cause::kRegion);  // a device is fenced while it is changing
  if (fence)
    return bad("NotProgrammed",
               fence->why + "; a claim with a bitstream that tolerates the taint " + taint + " repairs it");
  const std::string function = target.function().id;
  if (!function.empty() && function.find_first_not_of('f') == std::string::npos)
    return bad("ShellCrashed", "the id of its function reads as all ones: its shell or firmware has crashed");
  return cage::Health::ok().about(cause::kRegion);
}

void report_devices(const Targets& targets, const Fences& fences, const IsChanging& is_changing,
                    cage::Snapshot& snapshot) {
  std::map<std::string, std::int64_t> parts;  // number of parts by card, for cards that are offered as a whole, too
  for (const auto& target : targets)
    if (target->identity().kind == "card") parts[target->identity().card] = 0;
  for (const auto& target : targets)
    if (const auto card = parts.find(target->identity().card); card != parts.end() && target->identity().kind != "card")
      ++card->second;
  if (snapshot.has_counters())
    for (const auto& [card, count] : parts)
      snapshot.counter_set(counter_set_of(card), {{kParts, cage::Quantity::count(count)}});
  for (const auto& target : targets) {
    const Identity& about = target->identity();
    const auto card = parts.find(about.card);
    const bool is_whole = about.kind == "card";
    // Without counters the scheduler could allocate the same hardware twice.
    if (is_whole && !snapshot.has_counters()) continue;
    if (!snapshot.add(device_of(*target, fences, is_changing)) || card == parts.end() || !snapshot.has_counters())
      continue;
    snapshot.consumes(about.id, counter_set_of(about.card),
                      {{kParts, cage::Quantity::count(is_whole ? card->second : 1)}});
  }
}

}  // namespace cardcage::fpga
