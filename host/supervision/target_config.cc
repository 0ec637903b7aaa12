#include "host/supervision/target_config.h"

#include <utility>

namespace cardcage {

void TargetConfig::configure(ModuleConfig config) {
  copy_rules(config, running_);
  if (same_instance(config, running_)) {
    running_.options = std::move(config.options);  // takes their new positions in the file
    candidate_.reset();
    refused_.reset();
    return;
  }
  if (candidate_ && same_instance(*candidate_, config)) {
    copy_rules(config, *candidate_);
    return;
  }
  candidate_ = std::move(config);
  refused_.reset();
  requested_ = true;
}

const ModuleConfig& TargetConfig::begin_trial() {
  requested_ = false;
  refused_.reset();
  return trial_.emplace(wanted());
}

void TargetConfig::accept_trial() {
  ModuleConfig wanted_now = wanted();
  running_ = *std::exchange(trial_, std::nullopt);
  candidate_.reset();
  configure(std::move(wanted_now));
}

void TargetConfig::refuse_trial(const Error& why) {
  trial_.reset();
  if (candidate_) refused_ = why;
}

// Another configuration may be wanted by now.
void TargetConfig::take_back(ModuleConfig before, const Error& why) {
  copy_rules(running_, before);
  ModuleConfig failed = std::exchange(running_, std::move(before));
  if (candidate_ && same_instance(*candidate_, running_)) candidate_.reset();
  if (candidate_ || requested_ || same_instance(failed, running_)) return;
  candidate_ = std::move(failed);
  refused_ = why;
}

const ModuleConfig& TargetConfig::begin_start() {
  if (std::exchange(requested_, false)) adopt_candidate();
  return running_;
}

// Uses the candidate instead of the trial: its rules may have changed since the trial began.
void TargetConfig::adopt_candidate() {
  if (candidate_) running_ = *std::exchange(candidate_, std::nullopt);
  refused_.reset();
}

}  // namespace cardcage
