/* SPDX-License-Identifier: Apache-2.0 */
/* cage.preferred, offered by a module: the device plugin's GetPreferredAllocation. */
#include "../module.h"
#ifndef CARDCAGE_EXT_PREFERRED_H_
#define CARDCAGE_EXT_PREFERRED_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EXT_PREFERRED "cage.preferred/1"

typedef struct cage_id_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  cage_status (*id)(struct cage_id_sink *, cage_str device_id);
} cage_id_sink;

/* choose: names the available devices that a container should get, `want` in all, including
 * the required ones. The host adds devices if these are too few, and chooses by itself if the
 * call fails. No id comes twice, all are available, and they name devices, not replicas. */
typedef struct cage_preferred {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*choose)(cage_instance *, const cage_call *, const cage_str *available,
                        uint32_t available_count, const cage_str *required,
                        uint32_t required_count, uint32_t want, cage_id_sink *out);
} cage_preferred;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_PREFERRED_H_ */
