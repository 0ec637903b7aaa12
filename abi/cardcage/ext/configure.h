/* SPDX-License-Identifier: Apache-2.0 */
/* cage.configure, offered by a module: takes new values of live options. */
#include "../module.h"
#ifndef CARDCAGE_EXT_CONFIGURE_H_
#define CARDCAGE_EXT_CONFIGURE_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EXT_CONFIGURE "cage.configure/1"

/* configure: replaces all options. Only options with CAGE_OPTION_LIVE may have changed. Unless the
 * call returns OK, the instance keeps its old options. */
typedef struct cage_configure {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*configure)(cage_instance *, const cage_call *, const cage_values *options);
} cage_configure;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_CONFIGURE_H_ */
