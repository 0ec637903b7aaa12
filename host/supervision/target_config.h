// The configuration that one module runs with, and the candidate to replace it.
//
//   no candidate --configure(another)--> candidate --begin_trial()--> on trial
//
//   on trial --accept_trial()--> no candidate: it runs; or, if another one is wanted by now, that one is the candidate
//            --refuse_trial()--> refused: kept as the candidate of the next trial, for which request_trial() asks
//            --drop_trial()----> as before the trial: another configuration is wanted, or the file is the same
//   accepted --take_back()----> refused: the one before runs again
//   any      --configure(the one that runs)--> no candidate
//
// A new module file is a trial of the configuration that runs: there is no candidate then.
#pragma once

#include <optional>

#include "host/config/config.h"
#include "host/core/result.h"

namespace cardcage {

class TargetConfig {
 public:
  explicit TargetConfig(ModuleConfig running) : running_(std::move(running)) {}

  const ModuleConfig& running() const { return running_; }
  const ModuleConfig& wanted() const { return candidate_ ? *candidate_ : running_; }
  bool has_candidate() const { return candidate_.has_value(); }
  // Explains why the wanted configuration does not run; nothing while it runs, or while that is not known yet.
  const std::optional<Error>& refused() const { return refused_; }
  bool trial_requested() const { return requested_; }
  bool undecided() const { return requested_ || trial_ || (candidate_ && !refused_); }
  // Returns true if the wanted configuration is not the one on trial any more.
  bool trial_is_outdated() const { return !same_instance(*trial_, wanted()); }

  // Sets the wanted configuration. Rules take effect at once; all else needs a new instance, and so a trial.
  void configure(ModuleConfig config);
  // The module's file may have changed, or an operator wants another try.
  void request_trial() { requested_ = true; }

  // Returns the configuration to try.
  const ModuleConfig& begin_trial();
  // Each of these three ends the trial.
  void accept_trial();
  void refuse_trial(const Error& why);
  void drop_trial() { trial_.reset(); }
  // The last accepted trial has failed after all. `before` ran until then.
  void take_back(ModuleConfig before, const Error& why);

  // While no instance runs, a start replaces a requested trial: there is nothing to lose. Returns the configuration to
  // start with.
  const ModuleConfig& begin_start();

 private:
  void adopt_candidate();

  ModuleConfig running_;
  std::optional<ModuleConfig> candidate_;  // never the same instance as running_
  std::optional<Error> refused_;           // refusal of candidate_
  std::optional<ModuleConfig> trial_;
  bool requested_ = false;
};

}  // namespace cardcage
