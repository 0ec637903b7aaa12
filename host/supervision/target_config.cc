#include "host/supervision/target_config.h"

#include <utility>

namespace cardcage {

void TargetConfig::configure(ModuleConfig config) {
  running_.serve = config.serve;
  running_.health = config.health;
  running_.position = config.position;
  if (same_instance(config, running_)) {
    running_.options = std::move(config.options);  // for their positions in the file
    candidate_.reset();
    refused_.reset();
    return;
  }
  if (candidate_ && same_instance(*candidate_, config)) {
    candidate_->serve = std::move(config.serve);
    candidate_->health = std::move(config.health);
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
  before.serve = running_.serve;
  before.health = running_.health;
  before.position = running_.position;
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

// The candidate and not the trial: its rules may have changed since the trial began.
void TargetConfig::adopt_candidate() {
  if (candidate_) running_ = *std::exchange(candidate_, std::nullopt);
  refused_.reset();
}

}  // namespace cardcage
