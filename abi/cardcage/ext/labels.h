/* SPDX-License-Identifier: Apache-2.0 */
/* cage.labels, offered by a module: labels of the node. */
#include "../module.h"
#ifndef CARDCAGE_EXT_LABELS_H_
#define CARDCAGE_EXT_LABELS_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EXT_LABELS "cage.labels/1"

typedef struct cage_label_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  cage_status (*label)(struct cage_label_sink *, cage_str name, cage_str value); /* "example.com/
                                      driver", a label value. Not OK: left out and logged; continue */
} cage_label_sink;

/* collect: reports every label that the node should have, each time; follows each discover(). The
 * host writes them for Node Feature Discovery, and removes them with the module. */
typedef struct cage_labels {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*collect)(cage_instance *, const cage_call *, cage_label_sink *);
} cage_labels;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_LABELS_H_ */
