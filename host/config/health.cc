// [[module.health]] rules: how causes of devices' health are judged.
#include <charconv>
#include <cmath>

#include "host/config/sections.h"
#include "host/core/ascii.h"
#include "host/model/naming.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxHealthRules = 64;
constexpr std::size_t kMaxToken = 64;  // bytes of a cause or a reason that a module states
constexpr milliseconds kMaxTime = std::chrono::days(7);
constexpr std::uint32_t kMaxRelapses = 100;
constexpr std::uint32_t kMaxResets = 24;

bool is_glob(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

bool is_token_glob(std::string_view text) {
  return !text.empty() && text.size() <= kMaxToken &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '*' || c == '?'; });
}

std::string read_token(TableReader& table, std::string_view key, std::string_view example) {
  const auto text = table.string(key);
  if (!text) return {};
  if (!(is_glob(text->value) ? is_token_glob(text->value) : is_camel_case(text->value, kMaxToken)))
    table.refuse(key, text->position,
                 fmt::format("'{}' is neither a word in CamelCase, like \"{}\", nor such a word with * and ? in it",
                             text->value, example));
  return text->value;
}

struct Amount {
  double number = 0;
  std::string unit;  // empty: the declared one
};

// Reads "90 Cel".
std::optional<Amount> parse_amount(std::string_view text) {
  const auto space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  Amount amount{0, std::string(text.substr(space + 1))};
  const auto [end, error] = std::from_chars(text.data(), text.data() + space, amount.number);
  const bool is_unit =
      !amount.unit.empty() && std::ranges::all_of(amount.unit, [](char c) { return c > 0x20 && c < 0x7f; });
  if (error != std::errc{} || end != text.data() + space || !is_unit) return std::nullopt;
  return amount;
}

std::optional<Placed<Amount>> read_amount(TableReader& table, std::string_view key) {
  table.mark_known({&key, 1});
  if (!table.has(key)) return std::nullopt;
  const toml::node& node = *table.raw()->get(key);
  const auto position = table.position_of(key);
  std::optional<Amount> amount;
  if (const auto* text = node.as_string())
    amount = parse_amount(text->get());
  else if (const auto* whole = node.as_integer())
    amount = Amount{static_cast<double>(whole->get()), ""};
  else if (const auto* fraction = node.as_floating_point())
    amount = Amount{fraction->get(), ""};
  if (amount && std::isfinite(amount->number)) return Placed{std::move(*amount), position};
  const auto* text = node.as_string();
  table.refuse(
      key, position,
      fmt::format("{} is not a finite number with a unit; write one like \"90 Cel\", or 90 in the unit that the "
                  "module declares",
                  text ? fmt::format("'{}'", text->get()) : describe_value(node)));
  return std::nullopt;
}

std::optional<HealthRuleConfig::Limit> read_limit(TableReader& table) {
  using Side = ValueLimit::Side;
  const auto above = read_amount(table, "above"), below = read_amount(table, "below");
  const auto clear = read_amount(table, "clear_at");
  if (table.has("above") && table.has("below"))
    table.refuse("below", table.position_of("below"), "a cause has one limit; remove either 'above' or 'below'");
  if (table.has("clear_at") && !table.has("above") && !table.has("below"))
    table.refuse("clear_at", table.position_of("clear_at"), "it needs 'above' or 'below'; write one, or remove it");
  const auto& limit = above ? above : below;
  if (!limit) return std::nullopt;
  const Side side = above ? Side::kAbove : Side::kBelow;
  HealthRuleConfig::Limit read{{side, limit->value.number, limit->value.number}, limit->value.unit};
  if (!clear) return read;
  read.limit.clear = clear->value.number;
  if (read.unit.empty()) read.unit = clear->value.unit;
  if (!clear->value.unit.empty() && clear->value.unit != read.unit)
    table.refuse("clear_at", clear->position,
                 fmt::format("its unit '{}' is not '{}', that of the limit; write both in one unit", clear->value.unit,
                             read.unit));
  else if (above ? read.limit.clear > read.limit.limit : read.limit.clear < read.limit.limit)
    table.refuse("clear_at", clear->position,
                 fmt::format("{1} is {2} the limit {0}, so the cause could begin and be over at once; write {0} at {3}",
                             read.limit.limit, read.limit.clear, above ? "above" : "below", above ? "most" : "least"));
  return read;
}

std::optional<milliseconds> read_time(TableReader& table, std::string_view key, milliseconds least) {
  const auto given = table.duration(key, least, kMaxTime);
  if (!given) return std::nullopt;
  return given->value;
}

void read_recovery(TableReader& table, HealthRuleConfig& rule) {
  static constexpr std::pair<std::string_view, Recovery> kRecoveries[] = {{"report", Recovery::kReport},
                                                                          {"silence", Recovery::kSilence},
                                                                          {"stable", Recovery::kStable},
                                                                          {"operator", Recovery::kOperator}};
  rule.recovery = table.choice("recovery", kRecoveries);
  rule.recovery_time = read_time(table, "recovery_time", milliseconds(0));
  const auto refuse_time = [&](std::string_view why) {
    table.refuse("recovery_time", table.position_of("recovery_time"), why);
  };
  if (rule.recovery_time && rule.recovery == Recovery::kOperator)
    refuse_time("only an operator ends the cause, whenever that is; remove it, or write another recovery");
  const bool needs_time = rule.recovery == Recovery::kSilence || rule.recovery == Recovery::kStable;
  if (needs_time && rule.recovery_time == milliseconds(0))
    refuse_time("the cause would be over at once; write a longer time, like \"10m\"");
}

void read_relapses(TableReader& table, HealthRuleConfig& rule) {
  rule.relapses = table.count("relapses", 0, kMaxRelapses);
  rule.window = read_time(table, "window", std::chrono::seconds(1));
  const auto refuse = [&](std::string_view key, std::string_view why) {
    table.refuse(key, table.position_of(key), why);
  };
  const bool counts = table.has("relapses") && rule.relapses != 0;
  if (counts && !table.has("window"))
    refuse("relapses", "'window' is missing, within which they count; write it, too, like \"1h\"");
  if (!counts && table.has("window"))
    refuse("window", "it counts relapses, and there are none to count; write 'relapses', too, or remove it");
  if (counts && rule.recovery == Recovery::kOperator)
    refuse("relapses", "only an operator ends the cause anyway; remove it and 'window', or write another recovery");
}

void read_taint(TableReader table, HealthRuleConfig& rule) {
  static constexpr std::pair<std::string_view, TaintEffect> kEffects[] = {{"none", TaintEffect::kNone},
                                                                          {"None", TaintEffect::kInform},
                                                                          {"NoSchedule", TaintEffect::kNoSchedule},
                                                                          {"NoExecute", TaintEffect::kNoExecute}};
  const auto key = table.string("key"), value = table.string("value");
  const auto effect = table.choice("effect", kEffects);
  table.refuse_unknown_keys();
  if (!table.raw()) return;
  if (!table.has("effect"))
    table.refuse("effect", table.position(), "missing; write \"none\", \"None\", \"NoSchedule\" or \"NoExecute\"");
  if (key && !is_label_key(key->value))
    table.refuse("key", key->position,
                 fmt::format("'{}' is not the key of a taint; write one like \"example.com/hot\": letters, digits, "
                             "'-', '_' and '.', at most 63 bytes, after a domain in lower case",
                             key->value));
  if (value && !is_label_value(value->value))
    table.refuse("value", value->position,
                 fmt::format("'{}' is not the value of a taint; write letters, digits, '-', '_' and '.', with a letter "
                             "or digit at both ends, at most 63 bytes",
                             value->value));
  if (effect && *effect == TaintEffect::kNone && (key || value))
    table.refuse(
        key ? "key" : "value", key ? key->position : value->position,
        "effect = \"none\" sets no taint; remove it, or write effect = \"None\" for a taint that only informs");
  if (effect) rule.taint = TaintRule{*effect, key ? key->value : "", value ? value->value : ""};
}

void read_remedy(TableReader& table, HealthRuleConfig& rule) {
  static constexpr std::pair<std::string_view, bool> kRemedies[] = {{"reset", true}};
  const auto resets = table.choice("remedy", kRemedies);
  const auto number = table.count("resets_per_day", 1, kMaxResets);
  if (table.has("resets_per_day") && !table.has("remedy"))
    table.refuse("resets_per_day", table.position_of("resets_per_day"),
                 "nothing resets the device; write remedy = \"reset\", too, or remove it");
  if (resets) rule.resets_per_day = number.value_or(1);
}

// An ignored cause never counts, so every other key is without effect.
void check_ignored(TableReader& table, const HealthRuleConfig& rule) {
  if (rule.severity != HealthState::kHealthy) return;
  for (const std::string_view key : {"above", "below", "clear_at", "hold_down", "recovery", "recovery_time", "relapses",
                                     "window", "taint", "kubelet", "remedy", "resets_per_day"})
    if (table.has(key))
      table.refuse(key, table.position_of(key),
                   "severity = \"ok\" ignores the cause, so this has no effect; remove one of the two");
}

HealthRuleConfig read_rule(TableReader table) {
  static constexpr std::pair<std::string_view, HealthState> kSeverities[] = {{"ok", HealthState::kHealthy},
                                                                             {"degraded", HealthState::kDegraded},
                                                                             {"unmonitored", HealthState::kUnmonitored},
                                                                             {"bad", HealthState::kUnhealthy}};
  static constexpr std::pair<std::string_view, KubeletHealth> kKubelet[] = {{"healthy", KubeletHealth::kHealthy},
                                                                            {"unhealthy", KubeletHealth::kUnhealthy},
                                                                            {"unknown", KubeletHealth::kUnknown}};
  HealthRuleConfig rule;
  rule.position = {table.position()};
  if (!table.has("cause"))
    table.refuse("cause", table.position(),
                 "missing; write the cause that the rule judges, like \"Temperature\", or \"*\" for all");
  rule.cause = read_token(table, "cause", "Temperature");
  rule.reason = read_token(table, "reason", "Xid79");
  if (rule.reason == "*") rule.reason.clear();
  rule.limit = read_limit(table);
  rule.severity = table.choice("severity", kSeverities);
  rule.hold_down = read_time(table, "hold_down", milliseconds(0));
  read_recovery(table, rule);
  read_relapses(table, rule);
  read_taint(table.table("taint"), rule);
  rule.kubelet = table.choice("kubelet", kKubelet);
  read_remedy(table, rule);
  check_ignored(table, rule);
  table.refuse_unknown_keys();
  return rule;
}

}  // namespace

void read_health(TableReader& parent, std::string_view key, std::vector<HealthRuleConfig>& rules) {
  for (TableReader& table : parent.tables(key)) {
    if (rules.size() == kMaxHealthRules) {
      table.reading().error(table.position(),
                            "{}: a module has at most {} rules; join some with * in their cause or reason",
                            table.path(), kMaxHealthRules);
      break;
    }
    rules.push_back(read_rule(std::move(table)));
  }
}

}  // namespace cardcage
