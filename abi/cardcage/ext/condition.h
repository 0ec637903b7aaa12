/* SPDX-License-Identifier: Apache-2.0 */
/* A condition of a claim's device, stated by cage.bind and cage.edits.status. */
#include "../module.h"
#ifndef CARDCAGE_EXT_CONDITION_H_
#define CARDCAGE_EXT_CONDITION_H_
#ifdef __cplusplus
extern "C" {
#endif

enum { CAGE_CONDITION_FALSE = 0, CAGE_CONDITION_TRUE = 1, CAGE_CONDITION_UNKNOWN = 2 };
typedef struct cage_condition {    /* for a claim's device; the host adds times */
  uint32_t struct_size;
  uint32_t status;                 /* CAGE_CONDITION_* */
  cage_str type;                   /* "Ready", "example.com/Attached"; at most 8 per device */
  cage_str reason;                 /* CamelCase token, never empty */
  cage_str message;                /* for people; at most 1024 bytes */
} cage_condition;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_CONDITION_H_ */
