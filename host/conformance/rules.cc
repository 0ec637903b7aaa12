#include "host/conformance/rules.h"

#include "host/conformance/rule.h"

namespace cardcage {
namespace {

constexpr Rule kRules[] = {
    {"R1", "file", "the host accepts the file", "", rules::is_accepted},
    {"R1", "exports", "the file exports only its entry", "file", rules::exports_only_its_entry},
    {"R2", "table", "its table and options are valid", "file", rules::has_a_valid_table},
    {"R1", "load", "loading it starts no thread", "table", rules::loads_without_threads},

    {"R13", "start", "it starts", "table", rules::starts},
    {"R13", "stop", "it stops right after it started", "start", rules::stops_at_once},

    {"R6", "discover", "discover succeeds", "start", rules::lists_devices},
    {"R6", "devices", "the host accepts every device", "discover", rules::lists_valid_devices},
    {"R6", "discover-again", "a second discover gives the same", "discover", rules::lists_the_same_again},
    {"R6", "discover-restarted", "a new instance gives the same", "discover", rules::lists_the_same_after_a_restart},
    {"R4", "discover-deadline", "discover ends at its deadline", "discover", rules::discover_ends_at_its_deadline},
    {"R13", "start-again", "it starts again in the same process", "discover", rules::starts_again},
    {"R13", "beside", "a second instance starts beside it", "discover", rules::starts_beside_another},

    {"R17", "metrics", "the host accepts every sample", "discover", rules::reports_valid_samples},
    {"R17", "labels", "the host accepts every node label", "discover", rules::reports_valid_labels},

    {"R22", "catalogue", "the host accepts every catalogue entry", "discover", rules::lists_a_valid_catalogue},

    {"R20", "events", "it handles a loss of events", "discover", rules::handles_events},

    {"R6", "health", "it states the health of listed devices", "discover", rules::states_health_of_listed_devices},
    {"R23", "causes", "it states only declared causes", "discover", rules::states_declared_causes},

    {"R14", "prepare", "prepare and unprepare succeed", "discover", rules::prepares},
    {"R19", "params", "it takes each kind of parameters", "prepare", rules::prepares_with_each_kind_of_params},
    {"R14", "prepare-each", "each device is prepared", "prepare", rules::prepares_each_device},
    {"R15", "prepare-two", "two devices of a claim fit together", "prepare", rules::prepares_two_devices},
    {"R14", "prepare-again", "a repeated prepare gives the same", "prepare", rules::prepares_again},
    {"R14", "prepare-restarted", "a new instance prepares the same", "prepare", rules::prepares_again_after_a_restart},
    {"R14", "prepare-after", "prepare after unprepare succeeds", "prepare", rules::prepares_after_unprepare},
    {"R14", "prepare-failed", "a prepare that fails leaves nothing", "prepare", rules::prepares_after_a_failure},
    {"R14", "unprepare-again", "a repeated unprepare succeeds", "prepare", rules::unprepares_again},
    {"R14", "unprepare-unknown", "unprepare of an unknown claim succeeds", "prepare", rules::unprepares_unknown_claims},
    {"R14", "unprepare-gone", "unprepare of a lost device succeeds", "prepare", rules::unprepares_without_the_device},
    {"R7", "state-restarted", "a new instance unprepares the claim", "prepare", rules::unprepares_in_a_new_instance},
    {"R7", "state-crashed", "a new instance unprepares after a crash", "prepare", rules::unprepares_after_a_crash},
    {"R15", "prefer", "GetPreferredAllocation gets a choice", "discover", rules::prefers_devices},
    {"R15", "allocate", "Allocate gets a device", "prepare", rules::allocates},
    {"R15", "pre-start", "pre_start may be repeated", "prepare", rules::survives_container_restarts},
    {"R4", "prepare-deadline", "prepare ends at its deadline", "prepare", rules::prepare_ends_at_its_deadline},
    {"R4", "explain", "a prepare that fails is explained", "prepare", rules::explains_failures},

    {"R12", "quiesce", "quiesce releases the hardware", "discover", rules::releases_the_hardware},
    {"R12", "quiesce-prepare", "prepare is unavailable while quiesced", "prepare",
     rules::prepares_nothing_while_quiesced},
    {"R12", "quiesce-device", "one device can be quiesced alone", "prepare", rules::quiesces_one_device},
    {"R12", "resume", "resume brings the devices back", "quiesce", rules::resumes},

    {"R24", "reset", "a reset states the causes again", "prepare", rules::resets_a_device},

    {"R28", "attach", "attach and detach succeed", "prepare", rules::attaches},
    {"R28", "attach-again", "a repeated attach succeeds, for one pod", "attach", rules::attaches_again},
    {"R28", "attach-crashed", "a new instance detaches after a crash", "attach", rules::detaches_after_a_crash},

    {"R13", "life", "it ends after calls of each kind", "discover", rules::lives},
    {"R9", "threads", "no thread is left after stop", "life", rules::leaves_no_thread},
    {"R9", "descriptors", "no descriptor is left after destroy", "life", rules::leaves_no_descriptor},
    {"R9", "thread-signals", "its threads block all signals", "life", rules::its_threads_block_signals},
    {"R9", "cloexec", "its descriptors are O_CLOEXEC", "life", rules::its_descriptors_close_on_exec},
    {"R9", "processes", "it starts no process", "life", rules::starts_no_process},
    {"R9", "settings", "it leaves signals, umask and folder alone", "life", rules::changes_no_settings},
    {"R9", "output", "it prints nothing", "life", rules::prints_nothing},

    {"R28", "attach-released", "unprepare without detach succeeds", "attach", rules::unprepares_without_detach},

    {"", kLogRule, "the host logs no other breach", "", rules::breaks_no_other_rule},
};

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

}  // namespace cardcage
