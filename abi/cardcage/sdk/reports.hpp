// SPDX-License-Identifier: Apache-2.0
// Figures for Prometheus and labels of the node. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_REPORTS_HPP_
#define CARDCAGE_SDK_REPORTS_HPP_

#include <cardcage/sdk/text.hpp>

#include <array>
#include <tuple>

namespace cage {

// One declared metric with the names of its labels. The host prefixes the name, unless it is in upper case, and adds
// the labels module, device, namespace, pod, container and claim [R17]:
//
//   static constexpr auto temperature = cage::gauge("temperature_celsius", "of the hottest sensor");
//   static constexpr auto errors = cage::counter("link_errors_total", "since the reset", "link");
//   static constexpr auto declared_metrics = std::tie(temperature, errors);
template <std::size_t Labels>
struct Metric {
  std::uint32_t type;
  std::string_view name, help;
  std::array<cage_str, Labels> labels;
};

template <class... Label>
constexpr Metric<sizeof...(Label)> gauge(std::string_view name, std::string_view help, Label... labels) {
  return {CAGE_METRIC_GAUGE, name, help, {detail::raw(labels)...}};
}
// It only rises while the instance runs, and its name ends in _total, unless it is in upper case.
template <class... Label>
constexpr Metric<sizeof...(Label)> counter(std::string_view name, std::string_view help, Label... labels) {
  return {CAGE_METRIC_COUNTER, name, help, {detail::raw(labels)...}};
}

// Every current sample, each time.
class Samples {
 public:
  // `declared` are the addresses of the metrics, in the order in which the module declares them.
  Samples(cage_metrics_sink* sink, const void* const* declared, std::size_t count)
      : sink_(sink), declared_(declared), count_(count) {}

  // Adds a sample of a device, with a value for each label of the metric. Returns false if the host refused it and
  // logged why; the other samples still count.
  template <std::size_t Labels, class... Value>
  bool add(const Metric<Labels>& metric, std::string_view device, double value, const Value&... labels) {
    static_assert(sizeof...(Value) == Labels, "give one value for each label of the metric");
    const std::array<cage_str, Labels> values{detail::raw(labels)...};
    return sink_->sample(sink_, index_of(&metric), detail::raw(device), values.data(), value) == CAGE_OK;
  }
  // Adds a sample of the module itself.
  template <std::size_t Labels, class... Value>
  bool add_own(const Metric<Labels>& metric, double value, const Value&... labels) {
    return add(metric, std::string_view(), value, labels...);
  }

 private:
  std::uint32_t index_of(const void* metric) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (declared_[i] == metric) return static_cast<std::uint32_t>(i);
    throw Error(CAGE_INVALID_ARGUMENT, "the metric of a sample is not in declared_metrics");
  }

  cage_metrics_sink* sink_;
  const void* const* declared_;
  std::size_t count_;
};

// Every label that the node should have, each time.
class Labels {
 public:
  explicit Labels(cage_label_sink* sink) : sink_(sink) {}

  // Returns false if the host refused the label and logged why; the others still count.
  bool add(std::string_view name, std::string_view value) {
    return sink_->label(sink_, detail::raw(name), detail::raw(value)) == CAGE_OK;
  }

 private:
  cage_label_sink* sink_;
};

}  // namespace cage

#endif  // CARDCAGE_SDK_REPORTS_HPP_
