#include "host/metrics/text_format.h"

#include <charconv>
#include <cmath>
#include <iterator>

namespace cardcage {
namespace {

std::string_view word(FamilyType type) {
  switch (type) {
    case FamilyType::kCounter: return "counter";
    case FamilyType::kGauge: return "gauge";
    case FamilyType::kHistogram: return "histogram";
  }
  return "untyped";
}

void append_escaped(std::string& page, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\')
      page += "\\\\";
    else if (c == '\n')
      page += "\\n";
    else if (c == '"' && quotes)
      page += "\\\"";
    else
      page += c;
  }
}

}  // namespace

void append_head(std::string& page, std::string_view name, std::string_view help, FamilyType type) {
  page += "# HELP ";
  page += name;
  page += ' ';
  append_escaped(page, help, false);
  page += "\n# TYPE ";
  page += name;
  page += ' ';
  page += word(type);
  page += '\n';
}

void append_label(std::string& labels, std::string_view name, std::string_view value) {
  if (!labels.empty()) labels += ',';
  labels += name;
  labels += "=\"";
  append_escaped(labels, value, true);
  labels += '"';
}

void append_value(std::string& page, double value) {
  if (std::isnan(value)) {
    page += "NaN";
  } else if (std::isinf(value)) {
    page += value > 0 ? "+Inf" : "-Inf";
  } else {
    char text[32];
    const auto end = std::to_chars(std::begin(text), std::end(text), value);
    page.append(std::begin(text), end.ptr);
  }
}

void append_family(std::string& page, const MetricFamily& family) {
  append_head(page, family.name, family.help, family.type);
  for (const MetricFamily::Sample& sample : family.samples) {
    page += family.name;
    page += sample.suffix;
    if (!sample.labels.empty()) {
      std::string labels;
      for (const auto& [name, value] : sample.labels) append_label(labels, name, value);
      page += '{' + labels + '}';
    }
    page += ' ';
    append_value(page, sample.value);
    page += '\n';
  }
}

}  // namespace cardcage
