/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A card of the emulated machine: a PCI function on the bus of a root port, and memory in which its BARs lie. */
#pragma once

#include <linux/ioport.h>
#include <linux/pci.h>

#include "features.h"

struct dentry;

enum {
  WINDOW = 0x400000,  /* bytes of memory per card */
  VF_BAR = 0x80000,   /* size for each virtual function */
  VF_BARS = 0x200000, /* place in the window */
  MOST_VFS = 4,
  MOST_PORTS = 4,
  FUNCTIONS = 8, /* functions per PCI device */
  CONFIG_SIZE = 4096,
  AFU_ID_SIZE = 16,
};

struct card {
  const char* name;
  u16 device, subsystem;    /* the device of virtual functions is one more */
  struct features features; /* an OFS card has its functions on virtual ones, and a VSEC that names the list */

  struct pci_bus* bus;
  struct resource window;
  u64* memory; /* the window, uncached as the drivers map it */
  u8 config[FUNCTIONS][CONFIG_SIZE];
  u32 plugged;

  /* Set and read by tests. */
  bool hold;  /* keeps programming from ending */
  u32 fail;   /* number of programmings that will fail */
  u32 words;  /* length of the last payload */
  u32 resets; /* number of function resets */
  u8 payload[AFU_ID_SIZE];
};

/* pci_function.c */
int plug_card(struct card* card);
void unplug_card(struct card* card);
u8 vfs_of(const struct card* card);

/* registers.c */
void describe_registers(struct card* card);
void copy_ports(struct card* card);
u64* register_of(const struct card* card, unsigned long place);

/* module.c */
struct card* card_of_bus(const struct pci_bus* bus);
struct card* card_of_address(phys_addr_t address);

/* control.c */
void add_control(struct card* card, struct dentry* folder);

/* manager.c */
int add_manager(struct dentry* folder);
