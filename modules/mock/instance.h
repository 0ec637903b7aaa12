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
cage_status mock_pre_start(cage_instance* mock, const cage_call* call, const cage_claim* claim);
cage_status mock_reconcile(cage_instance* mock, const cage_call* call, const cage_claim* const* live,
                           uint32_t live_count);
cage_status mock_choose(cage_instance* mock, const cage_call* call, const cage_str* available, uint32_t available_count,
                        const cage_str* required, uint32_t required_count, uint32_t want, cage_id_sink* out);

/* Adds the container edits of one prepared device. */
cage_status mock_edit(const cage_instance* mock, const char* claim_uid, const cage_alloc* alloc, int32_t index,
                      const struct device* device, cage_edits* edits);

#endif /* MOCK_INSTANCE_H_ */
