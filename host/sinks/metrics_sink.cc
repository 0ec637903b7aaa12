#include "host/sinks/metrics_sink.h"

#include <cmath>

#include "host/sinks/borrowed.h"
#include "host/sinks/left_out.h"

namespace cardcage {

std::size_t MetricsSink::SeriesHash::operator()(const MetricSample* sample) const {
  const std::hash<std::string_view> hash;
  std::size_t mixed = hash(sample->device_id) * 31 + sample->metric;
  for (const std::string& label : sample->labels) mixed = mixed * 31 + hash(label);
  return mixed;
}

bool MetricsSink::SameSeries::operator()(const MetricSample* a, const MetricSample* b) const {
  return a->metric == b->metric && a->device_id == b->device_id && a->labels == b->labels;
}

MetricsSink::MetricsSink(const std::string& module, const std::vector<MetricDeclaration>& declared)
    : SinkGuard(module, "cage_metrics_sink"), declared_(declared) {
  table_.struct_size = sizeof table_;
  table_.host_data = this;
  table_.sample = call<&MetricsSink::add>;
}

cage_metrics_sink* MetricsSink::open() {
  series_.clear();
  collected_ = {};
  text_ = 0;
  full_ = false;
  SinkGuard::open();
  return &table_;
}

MetricSamples MetricsSink::finish() {
  close();
  series_.clear();
  return std::exchange(collected_, {});
}

Status MetricsSink::add(std::uint32_t metric, cage_str device_id, const cage_str* label_values, double value) {
  if (full_) {  // a flood costs only the module's time
    ++collected_.left_out.count;
    return std::unexpected(Error{Code::kResourceExhausted, ""});
  }
  auto sample = copy(metric, device_id, label_values, value);
  const Status kept = sample ? keep(std::move(*sample)) : std::unexpected(std::move(sample.error()));
  if (kept) return {};
  full_ = kept.error().code == Code::kResourceExhausted;
  const std::string name = metric < declared_.size() ? declared_[metric].name : std::to_string(metric);
  return leave_out(collected_.left_out, module(), {"R17", "sample of metric"}, name, kept.error());
}

Result<MetricSample> MetricsSink::copy(std::uint32_t metric, cage_str device_id, const cage_str* label_values,
                                       double value) const {
  if (metric >= declared_.size())
    return fail(Code::kInvalidArgument, "the module declares {} metrics, and their indices begin with 0",
                declared_.size());
  const MetricDeclaration& declared = declared_[metric];
  MetricSample sample{.metric = metric, .device_id = {}, .labels = {}, .value = value};
  if (!std::isfinite(value)) return fail(Code::kInvalidArgument, "{} is not a number: leave the sample out", value);
  if (declared.type == MetricType::kCounter && value < 0)
    return fail(Code::kInvalidArgument, "{} is negative, and counters only rise", value);
  if (device_id.size > 0) {
    auto id = ruled_text(device_id, is_device_id, "device_id", "a device id");
    if (!id) return std::unexpected(std::move(id.error()));
    sample.device_id = std::move(*id);
  }
  const auto values =
      items_of(label_values, static_cast<std::uint32_t>(declared.labels.size()), kMaxMetricLabels, "label_values");
  if (!values) return std::unexpected(values.error());
  sample.labels.reserve(values->size());
  for (const cage_str& given : *values) {
    const auto text = text_of(given, kMaxLabelValue, "a label's value");
    if (!text) return std::unexpected(text.error());
    if (!is_utf8(*text)) return fail(Code::kInvalidArgument, "label '{}' is not UTF-8", printable(*text, kQuoted));
    sample.labels.emplace_back(*text);
  }
  return sample;
}

Status MetricsSink::keep(MetricSample sample) {
  std::size_t size = sample.device_id.size();
  for (const std::string& label : sample.labels) size += label.size();
  std::vector<MetricSample>& samples = collected_.samples;
  if (samples.size() == kMaxSamples || text_ + size > kMaxSampleText)
    return fail(Code::kResourceExhausted, "a collection has at most {} samples and {} MiB of text", kMaxSamples,
                kMaxSampleText >> 20);
  if (samples.capacity() == 0) samples.reserve(kMaxSamples);
  samples.push_back(std::move(sample));
  if (!series_.insert(&samples.back()).second) {
    samples.pop_back();
    return fail(Code::kAlreadyExists, "another sample has the same device and labels");
  }
  text_ += size;
  return {};
}

}  // namespace cardcage
