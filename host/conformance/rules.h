// The functions of the rules, by subject; rules.cc lists them.
#pragma once

#include "host/conformance/report.h"
#include "host/conformance/trial.h"

namespace cardcage::rules {

// The reason to skip a rule that needs a process of the module's own.
inline constexpr const char* kNoWorker = "--in-process: this needs a process that only the module uses";

// rules_file.cc
Task<Outcome> is_accepted(Trial& trial);
Task<Outcome> exports_only_its_entry(Trial& trial);
Task<Outcome> has_a_valid_table(Trial& trial);
Task<Outcome> loads_without_threads(Trial& trial);

// rules_life.cc
Task<Outcome> starts(Trial& trial);
Task<Outcome> stops_at_once(Trial& trial);
Task<Outcome> starts_again(Trial& trial);
Task<Outcome> starts_beside_another(Trial& trial);
Task<Outcome> lives(Trial& trial);

// rules_devices.cc
Task<Outcome> lists_devices(Trial& trial);
Task<Outcome> lists_valid_devices(Trial& trial);
Task<Outcome> lists_the_same_again(Trial& trial);
Task<Outcome> lists_the_same_after_a_restart(Trial& trial);

// rules_reports.cc
Task<Outcome> reports_valid_samples(Trial& trial);
Task<Outcome> reports_valid_labels(Trial& trial);
Task<Outcome> lists_a_valid_catalogue(Trial& trial);
Task<Outcome> handles_events(Trial& trial);

// rules_claims.cc
Task<Outcome> prepares(Trial& trial);
Task<Outcome> prepares_with_each_kind_of_params(Trial& trial);
Task<Outcome> prepares_two_devices(Trial& trial);
Task<Outcome> prepares_each_device(Trial& trial);
Task<Outcome> prepares_again(Trial& trial);
Task<Outcome> prepares_again_after_a_restart(Trial& trial);
Task<Outcome> prepares_after_a_failure(Trial& trial);
Task<Outcome> prepares_after_unprepare(Trial& trial);
Task<Outcome> unprepares_again(Trial& trial);
Task<Outcome> unprepares_unknown_claims(Trial& trial);
Task<Outcome> unprepares_without_the_device(Trial& trial);
Task<Outcome> unprepares_in_a_new_instance(Trial& trial);
Task<Outcome> unprepares_after_a_crash(Trial& trial);

// rules_plugin.cc
Task<Outcome> prefers_devices(Trial& trial);
Task<Outcome> allocates(Trial& trial);
Task<Outcome> survives_container_restarts(Trial& trial);

// rules_calls.cc
Task<Outcome> discover_ends_at_its_deadline(Trial& trial);
Task<Outcome> prepare_ends_at_its_deadline(Trial& trial);
Task<Outcome> explains_failures(Trial& trial);

// rules_process.cc
Task<Outcome> leaves_no_thread(Trial& trial);
Task<Outcome> leaves_no_descriptor(Trial& trial);
Task<Outcome> its_threads_block_signals(Trial& trial);
Task<Outcome> its_descriptors_close_on_exec(Trial& trial);
Task<Outcome> starts_no_process(Trial& trial);
Task<Outcome> changes_no_settings(Trial& trial);
Task<Outcome> prints_nothing(Trial& trial);

// rules_health.cc
Task<Outcome> states_health_of_listed_devices(Trial& trial);
Task<Outcome> states_declared_causes(Trial& trial);
Task<Outcome> resets_a_device(Trial& trial);

// rules_pods.cc
Task<Outcome> attaches(Trial& trial);
Task<Outcome> attaches_again(Trial& trial);
Task<Outcome> detaches_after_a_crash(Trial& trial);
Task<Outcome> unprepares_without_detach(Trial& trial);

// rules_quiesce.cc
Task<Outcome> releases_the_hardware(Trial& trial);
Task<Outcome> prepares_nothing_while_quiesced(Trial& trial);
Task<Outcome> quiesces_one_device(Trial& trial);
Task<Outcome> resumes(Trial& trial);

// rules_log.cc
Task<Outcome> breaks_no_other_rule(Trial& trial);

}  // namespace cardcage::rules
