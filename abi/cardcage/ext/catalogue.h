/* SPDX-License-Identifier: Apache-2.0 */
/* cage.catalogue, offered by a module: entries that claims may name. */
#include "../module.h"
#ifndef CARDCAGE_EXT_CATALOGUE_H_
#define CARDCAGE_EXT_CATALOGUE_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EXT_CATALOGUE "cage.catalogue/1"

enum { CAGE_CATALOGUE_REFUSED = 1u << 0 };  /* claims cannot name it; `detail` says why */
typedef struct cage_catalogue_entry {
  uint32_t struct_size;
  uint32_t flags;
  cage_str kind;                   /* "bitstream", a DNS label */
  cage_str name;                   /* used in claim parameters; one line, at most 253 bytes */
  cage_str detail;                 /* for people: a description, or why claims cannot name it:
                                      subject, cause, remedy; at most 1024 bytes */
  const cage_attr *attrs;          /* as those of devices */
  uint32_t attr_count;
  uint32_t reserved;
} cage_catalogue_entry;

typedef struct cage_catalogue_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  cage_status (*entry)(struct cage_catalogue_sink *, const cage_catalogue_entry *); /* not OK: left
                                      out and logged; continue */
} cage_catalogue_sink;

/* collect: reports every entry, each time, when an operator asks; responds within seconds. [R22] */
typedef struct cage_catalogue {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*collect)(cage_instance *, const cage_call *, cage_catalogue_sink *);
} cage_catalogue;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_CATALOGUE_H_ */
