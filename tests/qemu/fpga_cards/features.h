/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The registers that a card has in BAR 0 after it was powered on: the lists of features that the drivers walk. User
 * space writes the same ones into plain memory.
 *
 * Source: drivers/fpga/dfl.h, dfl-fme-main.c, dfl-fme-mgr.c of Linux. */
#pragma once

#include <linux/types.h>
#ifndef __KERNEL__
#include <stdbool.h>
#endif

enum {
  FME = 0,
  THERMAL = 0x1000,
  POWER = 0x2000,
  FME_ERRORS = 0x3000,
  PROGRAMMING = 0x4000,
  PORTS = 0x40000,
  PORT_STRIDE = 0x20000,
  BAR_SIZE = 0x100000,
  /* Offsets from a port. */
  PORT_ERRORS = 0x1000,
  AFU = 0x10000,
};

struct features {
  unsigned int ports;
  bool ofs;                              /* the only port has no function, and is in the list of the engine */
  __u64 interface_id[2], function_id[2]; /* the high half first */
  __u64 shell[2];                        /* bitstream_id, bitstream_metadata */
};

enum feature_type { TYPE_AFU = 1, TYPE_PRIVATE = 3, TYPE_FIU = 4 };

/* Writes a header; the last header of a list has no next one. */
static inline void put_header(__u64* bar, unsigned long place, enum feature_type type, __u64 id, __u64 next) {
  bar[place / 8] = (__u64)type << 60 | (__u64)(next == 0) << 40 | next << 16 | id;
}

static inline void put_id(__u64* bar, unsigned long place, const __u64 id[2]) {
  bar[(place + 0x8) / 8] = id[1];
  bar[(place + 0x10) / 8] = id[0];
}

static inline void put_port(__u64* bar, const struct features* features, unsigned long port, unsigned int number) {
  put_header(bar, port, TYPE_FIU, 1, PORT_ERRORS);
  bar[(port + 0x18) / 8] = features->ofs ? 0 : AFU;
  bar[(port + 0x30) / 8] = 64 << 8 | number; /* 64 KiB of registers of the function */
  bar[(port + 0x38) / 8] = 0x11;             /* in reset */
  put_header(bar, port + PORT_ERRORS, TYPE_PRIVATE, 0x10, 0);
  if (features->ofs) return;
  put_header(bar, port + AFU, TYPE_AFU, 0, 0);
  put_id(bar, port + AFU, features->function_id);
}

/* Fills `bar`, which must contain zeros. */
static inline void put_features(__u64* bar, const struct features* features) {
  unsigned int i;
  put_header(bar, FME, TYPE_FIU, 0, THERMAL);
  bar[(FME + 0x30) / 8] = (__u64)features->ports << 17;
  bar[(FME + 0x60) / 8] = features->shell[0];
  bar[(FME + 0x68) / 8] = features->shell[1];
  put_header(bar, THERMAL, TYPE_PRIVATE, 1, POWER - THERMAL);
  bar[(THERMAL + 0x8) / 8] = 90 | 93 << 8 | 95 << 24;
  bar[(THERMAL + 0x10) / 8] = 47;
  put_header(bar, POWER, TYPE_PRIVATE, 2, FME_ERRORS - POWER);
  bar[(POWER + 0x8) / 8] = 33;
  bar[(POWER + 0x10) / 8] = 60 | 66 << 8;
  put_header(bar, FME_ERRORS, TYPE_PRIVATE, 4, PROGRAMMING - FME_ERRORS);
  put_header(bar, PROGRAMMING, TYPE_PRIVATE, 5, features->ofs ? PORTS - PROGRAMMING : 0);
  bar[(PROGRAMMING + 0x10) / 8] = 0x1ff; /* words that the engine takes at once */
  put_id(bar, PROGRAMMING + 0xa0, features->interface_id);
  for (i = 0; i < features->ports; ++i) {
    const unsigned long port = PORTS + (unsigned long)i * PORT_STRIDE;
    bar[(FME + 0x38) / 8 + i] = (__u64)1 << 60 | port;
    put_port(bar, features, port, i);
  }
}
