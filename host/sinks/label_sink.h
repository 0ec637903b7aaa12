// Collects a module's labels for the node: copies and checks each, and leaves out those that break a rule [R17].
#pragma once

#include <string>

#include "cardcage/module.h"
#include "host/model/report.h"
#include "host/sinks/sink_guard.h"

namespace cardcage {

// [module thread] between open() and finish(); its C function refuses other threads and other times.
class LabelSink : public SinkGuard {
 public:
  explicit LabelSink(const std::string& module);

  cage_label_sink* open();
  NodeLabels finish();

 private:
  Status add(cage_str name, cage_str value);
  Status keep(cage_str name, cage_str value);

  cage_label_sink table_{};
  NodeLabels collected_;
};

}  // namespace cardcage
