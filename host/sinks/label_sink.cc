#include "host/sinks/label_sink.h"

#include "host/model/naming.h"
#include "host/sinks/borrowed.h"
#include "host/sinks/left_out.h"

namespace cardcage {

LabelSink::LabelSink(const std::string& module) : SinkGuard(module, "cage_label_sink") {
  table_.struct_size = sizeof table_;
  table_.host_data = this;
  table_.label = call<&LabelSink::add>;
}

cage_label_sink* LabelSink::open() {
  collected_ = {};
  SinkGuard::open();
  return &table_;
}

NodeLabels LabelSink::finish() {
  close();
  return std::exchange(collected_, {});
}

Status LabelSink::add(cage_str name, cage_str value) {
  const Status kept = keep(name, value);
  if (kept) return {};
  return leave_out(collected_.left_out, module(), {"R17", "node label"}, shown_name(name), kept.error());
}

Status LabelSink::keep(cage_str name, cage_str value) {
  auto key = ruled_text(name, is_module_label, "name",
                        "a label's name with a domain outside kubernetes.io and k8s.io, such as example.com/driver");
  if (!key) return std::unexpected(std::move(key.error()));
  auto text = ruled_text(value, is_label_value, "value",
                         "a label's value: at most 63 letters, digits, '-', '_' and '.', the first and last a letter "
                         "or digit");
  if (!text) return std::unexpected(std::move(text.error()));
  if (collected_.values.size() == kMaxNodeLabels)
    return fail(Code::kResourceExhausted, "a module has at most {} labels", kMaxNodeLabels);
  if (!collected_.values.emplace(std::move(*key), std::move(*text)).second)
    return fail(Code::kAlreadyExists, "it is reported twice");
  return {};
}

}  // namespace cardcage
