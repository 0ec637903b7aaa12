/* What the operator asked for: the declared options, read once at create(). */
#ifndef MOCK_SETTINGS_H_
#define MOCK_SETTINGS_H_
#include "devices.h"
#include "faults.h"

struct settings {
  struct make make;      /* which devices there are */
  char device_node[256]; /* node of the host that every device shows as /dev/mock/<id> */
  char mount_dir[256];   /* empty = devices leave no files */
  char script_file[256]; /* empty = none */
};

enum { MOCK_OPTION_COUNT = 23, MOCK_PARAM_COUNT = 3 };
extern const cage_option* const mock_options[MOCK_OPTION_COUNT];
extern const cage_option* const mock_params[MOCK_PARAM_COUNT];

/* Reads `options` into settings, devices and faults. Nothing of `options` is kept. */
cage_status settings_read(const cage_call* call, const cage_values* options, struct settings* settings,
                          struct devices* devices, struct faults* faults);

#endif /* MOCK_SETTINGS_H_ */
