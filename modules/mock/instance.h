/* A running mock and its calls, which mock.c lists in the module's table. */
#ifndef MOCK_INSTANCE_H_
#define MOCK_INSTANCE_H_
#include "devices.h"
#include "faults.h"
#include "holds.h"
#include "script.h"
#include "settings.h"

enum { MOCK_STATE_VERSION = 1 };

struct cage_instance {
  const cage_host* host;
  struct settings settings;
  struct faults faults;
  struct devices devices;
  struct holds holds;
  struct script script;
  bool quiesced;
};

cage_status mock_prepare(cage_instance* mock, const cage_call* call, const cage_claim* claim, cage_edits* edits);
cage_status mock_unprepare(cage_instance* mock, const cage_call* call, const cage_claim* claim);
cage_status mock_bind(cage_instance* mock, const cage_call* call, const cage_claim* claim, cage_bind_sink* sink);
cage_status mock_pre_start(cage_instance* mock, const cage_call* call, const cage_claim* claim);
cage_status mock_reconcile(cage_instance* mock, const cage_call* call, const cage_claim* const* live,
                           uint32_t live_count);
cage_status mock_choose(cage_instance* mock, const cage_call* call, const cage_str* available, uint32_t available_count,
                        const cage_str* required, uint32_t required_count, uint32_t want, cage_id_sink* out);

/* With option `journal`: prepare journals the claim before it takes a device, and logs an earlier entry that came
 * back. unprepare of a prepared claim fails if the entry does not come back. */
cage_status mock_journal_write(const cage_instance* mock, const cage_call* call, const cage_claim* claim,
                               const char* uid, cage_edits* edits);
cage_status mock_journal_check(const cage_instance* mock, const cage_call* call, const cage_claim* claim,
                               const char* uid);

/* With option `exec`: runs that program and passes its outcome on as variable MOCK_EXEC. */
cage_status mock_exec_run(const cage_instance* mock, const cage_call* call, cage_edits* edits);
/* With option `service`: that program is the service `helper` of each claim. */
cage_status mock_service_start(const cage_instance* mock, const cage_call* call);
cage_status mock_service_stop(const cage_instance* mock, const cage_call* call);

/* Makes the accesses of option `write` or `write_back` for the first device of the claim, and passes the arguments of
 * ioctls on as variable MOCK_WRITE. `edits` may be NULL. */
cage_status mock_write(const cage_instance* mock, const cage_call* call, const cage_claim* claim,
                       const struct lines* lines, cage_edits* edits);
enum { MOCK_CAUSE_COUNT = 8 };
extern const cage_cause* const mock_causes[MOCK_CAUSE_COUNT];

enum { MOCK_METRIC_COUNT = 5 };
extern const cage_metric* const mock_metrics[MOCK_METRIC_COUNT];
cage_status mock_collect_metrics(cage_instance* mock, const cage_call* call, cage_metrics_sink* out);
cage_status mock_collect_labels(cage_instance* mock, const cage_call* call, cage_label_sink* out);

/* For cage.catalogue: lists the lines of option `catalogue`. */
cage_status mock_collect_catalogue(cage_instance* mock, const cage_call* call, cage_catalogue_sink* out);

/* For cage.watch. */
const cage_watch* mock_watch(void);

/* Adds to a variable that names all devices or claims of a container; an older host keeps only the last value. */
cage_status mock_list_env(cage_edits* edits, int32_t index, cage_str name, cage_str value);

/* Adds the container edits of one prepared device. */
cage_status mock_edit(const cage_instance* mock, const char* claim_uid, const cage_alloc* alloc, int32_t index,
                      const struct device* device, cage_edits* edits);

/* States the lines of option `statements` for one prepared device. A host without the families gets no statement. */
cage_status mock_state(const cage_instance* mock, int32_t index, cage_edits* edits);

#endif /* MOCK_INSTANCE_H_ */
