/* SPDX-License-Identifier: Apache-2.0 */
/* cage.edits.metadata, offered by the host in prepare(): files for containers. */
#include "../module.h"
#ifndef CARDCAGE_EXT_METADATA_H_
#define CARDCAGE_EXT_METADATA_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EDITS_METADATA "cage.edits.metadata/1"

/* describe: containers with the device get a file that describes it (KEP-5304): the attributes that
 * discover() reported and those of the host, these ones, which replace others of the same name, and
 * the network data of cage.edits.status. `alloc` is an index; the last call counts. With the
 * device-plugin API there is no such file. */
typedef struct cage_edits_metadata {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*describe)(cage_edits *, int32_t alloc, const cage_attr *attrs, uint32_t count);
} cage_edits_metadata;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_METADATA_H_ */
