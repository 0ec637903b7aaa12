#include "ctl/import/sriov_selectors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bitset>
#include <set>

#include "ctl/import/toml.h"
#include "host/core/ascii.h"
#include "host/core/glob.h"
#include "host/core/number.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxTables = 256;
constexpr std::size_t kMaxVirtualFunctions = 4096;

using Numbers = std::bitset<kMaxVirtualFunctions>;
using GivenTexts = Given<std::vector<std::string>>;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return to_lower(c); });
  return text;
}

// Form of the node's own values, with which the plugin compares a text as it is written.
struct Form {
  const char* pattern;
  const char* name;
};
constexpr Form kIds{"[0-9a-f][0-9a-f][0-9a-f][0-9a-f]", "four hexadecimal digits in lower case, such as 15b3"};
constexpr Form kAddresses{"*[0-9a-f][0-9a-f][0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]:[01][0-9a-f].[0-7]",
                          "full addresses in lower case, such as 0000:3b:0a.0"};
constexpr Form kDrivers{"*", "names of drivers"};

// Returns a pattern that matches only this text.
std::string exact(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[]\\").contains(c)) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

// Adds 0, 2, 3 and 4 for "0,2-4". Returns false for any other text.
bool add_numbers(std::string_view text, Numbers& numbers) {
  for (bool more = true; more;) {
    const std::string_view part = text.substr(0, text.find(','));
    more = part.size() < text.size();
    text.remove_prefix(part.size() + (more ? 1 : 0));
    const auto dash = part.find('-');
    const auto first = number_from<std::size_t>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number_from<std::size_t>(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= numbers.size()) return false;
    for (std::size_t number = *first; number <= *last; ++number) numbers.set(number);
  }
  return true;
}

std::vector<SelectValue> values_of(const Numbers& numbers) {
  std::vector<SelectValue> values;
  for (std::size_t number = 0; number < numbers.size(); ++number)
    if (numbers.test(number)) values.emplace_back(static_cast<std::int64_t>(number));
  return values;
}

// Returns whether one value selects the other. Texts are exact, and some are patterns of one text.
bool agree(const SelectValue& value, const SelectValue& pattern) {
  const auto *text = std::get_if<std::string>(&value), *other = std::get_if<std::string>(&pattern);
  return text != nullptr && other != nullptr ? *text == *other || matches_glob(*other, *text) : value == pattern;
}

// Returns the table with the conditions of both; nothing if no device can meet both.
std::optional<SelectTable> both(const SelectTable& a, const SelectTable& b) {
  SelectTable table = a;
  for (const auto& [key, patterns] : b) {
    const auto [entry, is_new] = table.emplace(key, patterns);
    if (is_new) continue;
    std::erase_if(entry->second, [&](const SelectValue& value) {
      return std::ranges::none_of(patterns, [&](const SelectValue& pattern) { return agree(value, pattern); });
    });
    if (entry->second.empty()) return std::nullopt;
  }
  return table;
}

// One object of selectors; a device must match each of them.
class Selectors {
 public:
  explicit Selectors(SettingMap settings) : settings_(std::move(settings)), record_(settings_.record()) {}

  Select read() {
    add_values("vendors", "attributes.vendor", kIds, "0x");
    add_values("devices", "attributes.device", kIds, "0x");
    add_values("drivers", "attributes.driver", kDrivers);
    add_values("pciAddresses", "pci", kAddresses);
    add_acpi_indexes();
    add_link_types();
    add_functions("pfNames", "attributes.pfName");
    add_functions("rootDevices", "attributes.pfPciAddress");
    add_rdma();
    for (const char* key : {"ddpProfiles", "pKeys"})
      if (const auto given = texts(key)) lose(*given);
    if (const auto given = settings_.choice("vdpaType", {"", "vhost", "virtio"}); given && !given->value.empty())
      lose(*given);
    settings_.pass({"auxTypes"}, "without effect: deviceType is not auxNetDevice");
    settings_.lose_if_on("needVhostNet",
                         "containers of resources get no /dev/vhost-net and /dev/net/tun; use a claim whose NicConfig "
                         "has vhostNet");
    settings_.finish();
    return is_lost_ ? Select() : select_;
  }

 private:
  // Returns nothing for a list without texts, which selects every device.
  std::optional<GivenTexts> texts(std::string_view key) {
    auto given = settings_.texts(key);
    if (!given) return std::nullopt;
    if (given->value.empty()) record_.say(Fate::kNotNeeded, *given, "empty");
    if (std::ranges::find(given->value, "") != given->value.end())
      record_.error(*given, "a value is empty; write what it is to select, or remove it");
    for (const YamlNode& item : settings_.any(key)->value->items)
      if (!item.quoted && number_from<std::int64_t>(item.text))
        record_.error(*given, fmt::format("the plugin leaves a resource out that has the number {} here; write it in "
                                          "quotes",
                                          item.text));
    return given->value.empty() ? std::nullopt : std::move(given);
  }

  // Each device must also be selected by one of these tables.
  template <class T>
  void demand(const Given<T>& given, const Select& choices) {
    if (select_.size() * choices.size() > kMaxTables)
      return record_.error(given, fmt::format("the selectors make more than {} tables; name fewer cards with numbers "
                                              "of virtual functions in one object",
                                              kMaxTables));
    Select narrowed;
    for (const SelectTable& table : select_)
      for (const SelectTable& choice : choices)
        if (auto merged = both(table, choice)) narrowed.push_back(*std::move(merged));
    if (narrowed.empty() && !select_.empty())
      record_.say(Fate::kNote, given,
                  "no device can match it and the selectors before it, so these selectors are left out");
    select_ = std::move(narrowed);
  }

  void add_values(std::string_view key, const char* condition, const Form& form, const char* prefix = "") {
    const auto given = texts(key);
    if (!given) return;
    std::vector<SelectValue> values;
    for (const std::string& value : given->value) {
      if (matches_glob(form.pattern, value))
        values.emplace_back(prefix + exact(value));
      else
        record_.say(
            Fate::kNote, *given,
            fmt::format("'{}' selects no device, as in the plugin, which compares it with {}", value, form.name));
    }
    demand_one(*given, condition, std::move(values));
  }

  // Each device must have one of these values.
  void demand_one(const GivenTexts& given, const char* condition, std::vector<SelectValue> values) {
    Select choices;
    if (!values.empty()) choices.push_back({{condition, std::move(values)}});
    demand(given, choices);
    record_.say(Fate::kTranslated, given);
  }

  void add_acpi_indexes() {
    const auto given = texts("acpiIndexes");
    if (!given) return;
    std::vector<SelectValue> values;
    for (const std::string& value : given->value) {
      const auto number = number_from<std::uint32_t>(value);
      if (!number || std::to_string(*number) != value)
        record_.error(*given,
                      fmt::format("'{}' is not a number as the kernel writes it; write one like \"101\"", value));
      values.emplace_back(static_cast<std::int64_t>(number.value_or(0)));
    }
    demand_one(*given, "attributes.acpiIndex", std::move(values));
  }

  void add_link_types() {
    const auto given = texts("linkTypes");
    if (!given) return;
    std::vector<SelectValue> values;
    for (const std::string& value : given->value) {
      if (value == "ether" || value == "infiniband")
        values.emplace_back(value);
      else
        record_.say(
            Fate::kNoCounterpart, *given,
            fmt::format("'{}' selects no device: the links that can be selected are ether and infiniband", value));
    }
    demand_one(*given, "attributes.encapsulation", std::move(values));
  }

  void add_rdma() {
    const GivenBool given = settings_.boolean("isRdma");
    if (!given) return;
    record_.say(given->value ? Fate::kTranslated : Fate::kNotNeeded, *given, given->value ? "" : "off");
    if (given->value) demand(*given, {{{"attributes.rdma", {true}}}});
  }

  // Reads functions: "ens1f0" is every virtual function of the card, "ens1f0#0,2-4" are those with these numbers. The
  // plugin compares whole names and ignores the case; the first entry for a card counts.
  void add_functions(std::string_view key, const char* of_virtual) {
    const auto given = texts(key);
    if (!given) return;
    std::vector<SelectValue> cards;
    std::set<std::string> seen;
    Select choices;
    for (const std::string& value : given->value) {
      const std::string_view text = value;
      const auto hash = text.find('#');
      const std::string card(text.substr(0, hash));
      Numbers numbers;
      if (hash != std::string_view::npos && !add_numbers(text.substr(hash + 1), numbers))
        record_.error(*given, fmt::format("'{}' does not end in numbers of virtual functions; write them like #0,2-4, "
                                          "each less than {}",
                                          value, kMaxVirtualFunctions));
      if (!seen.insert(lower(card)).second) {
        record_.say(Fate::kNote, *given,
                    fmt::format("the plugin uses the first entry for '{}' alone, and so does this", card));
        continue;
      }
      const std::vector<SelectValue> spellings = spellings_of(card);
      if (hash == std::string_view::npos)
        std::ranges::copy(spellings, std::back_inserter(cards));
      else
        choices.push_back({{of_virtual, spellings}, {"attributes.vfIndex", values_of(numbers)}});
    }
    if (!cards.empty()) choices.insert(choices.begin(), {{of_virtual, cards}});
    demand(*given, choices);
    record_.say(Fate::kTranslated, *given);
  }

  // Returns the name unchanged, and in lower case, as the kernel and udev name cards.
  static std::vector<SelectValue> spellings_of(const std::string& card) {
    std::vector<SelectValue> spellings{exact(card)};
    if (lower(card) != card) spellings.emplace_back(exact(lower(card)));
    return spellings;
  }

  template <class T>
  void lose(const Given<T>& given) {
    record_.say(Fate::kNoCounterpart, given,
                "devices cannot be selected by this, so these selectors are left out; a later resource may take their "
                "devices");
    is_lost_ = true;
  }

  SettingMap settings_;
  ImportRecord& record_;
  Select select_ = Select(1);
  bool is_lost_ = false;
};

std::string toml_value(const SelectValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return toml_string(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *number);
  return std::get<bool>(value) ? "true" : "false";
}

std::string toml_table(const SelectTable& table) {
  std::vector<std::string> conditions;
  for (const auto& [key, values] : table) {
    std::vector<std::string> texts;
    std::ranges::transform(values, std::back_inserter(texts), toml_value);
    conditions.push_back(
        fmt::format(fmt::runtime(values.size() == 1 ? "{} = {}" : "{} = [{}]"), key, fmt::join(texts, ", ")));
  }
  return fmt::format("{{ {} }}", fmt::join(conditions, ", "));
}

}  // namespace

Select import_selectors(SettingMap selectors) { return Selectors(std::move(selectors)).read(); }

std::string toml_select(const Select& select) {
  if (select.size() == 1) return toml_table(select.front());
  std::string text = "[\n";
  for (const SelectTable& table : select) text += "  " + toml_table(table) + ",\n";
  return text + "]";
}

}  // namespace cardcage
