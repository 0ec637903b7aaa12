/* SPDX-License-Identifier: Apache-2.0 */
/* cage.write, offered by the host: writes to hardware that may block. */
#include "../module.h"
#ifndef CARDCAGE_EXT_WRITE_H_
#define CARDCAGE_EXT_WRITE_H_
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_HOST_WRITE "cage.write/1"

typedef struct cage_file_write {   /* a file of sysfs or procfs: "reset", "sriov_numvfs" */
  uint32_t struct_size;
  uint32_t timeout_ms;             /* 0 = until the deadline of the call */
  cage_str device_id;              /* the device that the hardware belongs to */
  cage_str path;                   /* must match a pattern of the key `writes` of the module's TOML */
  cage_bytes data;                 /* at most 4096 bytes, in one write(2) */
} cage_file_write;

typedef struct cage_ioctl {        /* an ioctl(2) of a device node */
  uint32_t struct_size;
  uint32_t timeout_ms;             /* 0 = until the deadline of the call */
  cage_str device_id;              /* the device that the hardware belongs to */
  cage_str path;                   /* must match a pattern of the key `writes` of the module's TOML */
  uint64_t request;
  void    *argument;               /* the request's argument, read and written back */
  uint32_t argument_size;          /* at most 4096 bytes */
  uint32_t data_offset;            /* if data_path is not empty: where in the argument the address
                                      of that file's bytes goes, 8 bytes */
  cage_str data_path;              /* a file to map, such as a bitstream; empty = none */
  cage_str data_sha256;            /* hash of the whole file, 64 digits as sha256sum prints it: the
                                      host copies the file, checks the copy, and passes the copy. The
                                      file belongs to root or to the host's user, who alone may
                                      write it, and is not a link; at most 1 GiB. Empty = unchecked */
  uint64_t data_start;             /* the address is that of this byte of the file, which may begin
                                      with a header for the module */
  uint32_t flags;
  uint32_t reserved;
} cage_ioctl;

enum { CAGE_IOCTL_EXCLUSIVE = 1u << 0 };  /* opens the node with O_EXCL: drivers that know it, such
                                             as DFL, refuse if another process has it open, and
                                             the call fails with FAILED_PRECONDITION */

/* Each blocks until a process of the daemon's own has done it, or until the limit: then the device
 * is stuck in it, and writes and prepare() for the device fail until it ends [R18]. OK = done;
 * otherwise the host has explained why. DATA_LOSS = the file at data_path lacks its SHA-256, and
 * the device was not opened. On the thread of `call` only. */
typedef struct cage_write {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*file)(const cage_host *, const cage_call *, const cage_file_write *);
  cage_status (*ioctl)(const cage_host *, const cage_call *, const cage_ioctl *);
  /* driver: binds the PCI function to the driver, "none" to no driver, empty to the driver that it
   * had before the first such call. The host remembers that one across restarts of this process and
   * of its own. */
  cage_status (*driver)(const cage_host *, const cage_call *, cage_str device_id,
                        cage_str pci_bus_id, cage_str driver);
} cage_write;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_EXT_WRITE_H_ */
