/* The declared options, read once in create(). */
#ifndef MOCK_SETTINGS_H_
#define MOCK_SETTINGS_H_
#include "devices.h"
#include "faults.h"

struct settings {
  struct hardware hardware; /* which devices exist */
  char device_node[256];    /* the host's device node behind every /dev/mock/<id> */
  char mount_dir[256];      /* empty = no files */
  char script_file[256];    /* empty = none */
};

enum { MOCK_OPTION_COUNT = 23, MOCK_PARAM_COUNT = 3 };
extern const cage_option* const mock_options[MOCK_OPTION_COUNT];
extern const cage_option* const mock_params[MOCK_PARAM_COUNT];

/* Reads `options` into settings, devices and faults, and keeps no pointer to them. */
cage_status settings_read(const cage_call* call, const cage_values* options, struct settings* settings,
                          struct devices* devices, struct faults* faults);

#endif /* MOCK_SETTINGS_H_ */
