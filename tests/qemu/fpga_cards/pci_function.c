// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Configuration space of a card and of its virtual functions, and how a card comes and goes. */
#include <linux/pci.h>
#include <linux/unaligned.h>

#include "card.h"

enum {
  EXPRESS = 0x40, /* PCI Express capability */
  SRIOV = 0x100,
  VENDOR_SPECIFIC = 0x160, /* Intel's VSEC, which names the BARs that have a list of features */
  BAR_FLAGS = PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH,
  EIGHT_LANES_FAST = 0x83, /* 8 lanes at 8 GT/s */
};

static void put16(u8* function, int where, u16 value) { put_unaligned_le16(value, function + where); }
static void put32(u8* function, int where, u32 value) { put_unaligned_le32(value, function + where); }
static u16 get16(const u8* function, int where) { return get_unaligned_le16(function + where); }

u8 vfs_of(const struct card* card) { return card->features.ofs ? 3 : card->features.ports; }
static u8 first_vf_of(const struct card* card) { return card->features.ofs ? 5 : 1; }

/* Returns null if the card has no such function now. */
static u8* function_of(struct card* card, unsigned int number) {
  const u8 *sriov = card->config[0] + SRIOV, first = first_vf_of(card);
  const bool has_vfs = get16(sriov, PCI_SRIOV_CTRL) & PCI_SRIOV_CTRL_VFE;
  if (!card->plugged || number >= FUNCTIONS) return NULL;
  if (number && !(has_vfs && number >= first && number < first + get16(sriov, PCI_SRIOV_NUM_VF))) return NULL;
  return card->config[number];
}

static void describe_function(u8* function) {
  put32(function, PCI_CLASS_REVISION, 0x12000001); /* a processing accelerator */
  put16(function, PCI_STATUS, PCI_STATUS_CAP_LIST);
  function[PCI_CAPABILITY_LIST] = EXPRESS;
  function[EXPRESS] = PCI_CAP_ID_EXP;
  put16(function, EXPRESS + PCI_EXP_FLAGS, 2);
  put32(function, EXPRESS + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_FLR | PCI_EXP_DEVCAP_RBER);
  put32(function, EXPRESS + PCI_EXP_LNKCAP, EIGHT_LANES_FAST);
  put16(function, EXPRESS + PCI_EXP_LNKSTA, EIGHT_LANES_FAST);
  put32(function, EXPRESS + PCI_EXP_LNKCAP2, 0xe); /* up to 8 GT/s */
}

static void describe_sriov(const struct card* card, u8* function) {
  put32(function, SRIOV, PCI_EXT_CAP_ID_SRIOV | 1 << 16 | (card->features.ofs ? VENDOR_SPECIFIC << 20 : 0));
  put16(function, SRIOV + PCI_SRIOV_INITIAL_VF, vfs_of(card));
  put16(function, SRIOV + PCI_SRIOV_TOTAL_VF, vfs_of(card));
  put16(function, SRIOV + PCI_SRIOV_VF_OFFSET, first_vf_of(card));
  put16(function, SRIOV + PCI_SRIOV_VF_STRIDE, 1);
  put16(function, SRIOV + PCI_SRIOV_VF_DID, card->device + 1);
  put32(function, SRIOV + PCI_SRIOV_SUP_PGSIZE, 0x553);
  put32(function, SRIOV + PCI_SRIOV_SYS_PGSIZE, 1);
  put32(function, SRIOV + PCI_SRIOV_BAR, (card->window.start + VF_BARS) | BAR_FLAGS);
}

static void describe_configuration(struct card* card) {
  u8* first = card->config[0];
  memset(card->config, 0, sizeof card->config);
  for (unsigned int i = 0; i < FUNCTIONS; ++i) {
    put16(card->config[i], PCI_VENDOR_ID, i ? 0xffff : PCI_VENDOR_ID_INTEL); /* virtual functions read as ones */
    put16(card->config[i], PCI_DEVICE_ID, i ? 0xffff : card->device);
    put16(card->config[i], PCI_SUBSYSTEM_VENDOR_ID, PCI_VENDOR_ID_INTEL);
    put16(card->config[i], PCI_SUBSYSTEM_ID, card->subsystem);
    describe_function(card->config[i]);
  }
  put32(first, PCI_BASE_ADDRESS_0, card->window.start | BAR_FLAGS);
  describe_sriov(card, first);
  if (!card->features.ofs) return;
  put32(first, VENDOR_SPECIFIC, PCI_EXT_CAP_ID_VNDR | 1 << 16);
  put32(first, VENDOR_SPECIFIC + PCI_VNDR_HEADER, 0x43 | 0x10 << 20);
  put32(first, VENDOR_SPECIFIC + 0x8, 1); /* one list, at the beginning of BAR 0 */
}

static int read_configuration(struct pci_bus* bus, unsigned int number, int where, int size, u32* value) {
  const u8* function = function_of(card_of_bus(bus), number);
  *value = function ? 0 : ~0;
  if (!function) return PCIBIOS_DEVICE_NOT_FOUND;
  memcpy(value, function + where, size);
  return PCIBIOS_SUCCESSFUL;
}

/* Keeps only the address bits of a BAR of this size: the kernel writes ones to learn the size. */
static bool write_bar(u8* function, int bar, u32 size, int where, u32 value) {
  if (where == bar)
    put32(function, bar, (value & ~(size - 1)) | BAR_FLAGS);
  else if (where == bar + 4)
    put32(function, bar + 4, value);
  return where == bar || where == bar + 4;
}

static int write_configuration(struct pci_bus* bus, unsigned int number, int where, int size, u32 value) {
  struct card* card = card_of_bus(bus);
  u8* function = function_of(card, number);
  if (!function) return PCIBIOS_DEVICE_NOT_FOUND;
  if (number == 0 && (write_bar(function, PCI_BASE_ADDRESS_0, BAR_SIZE, where, value) ||
                      write_bar(function, SRIOV + PCI_SRIOV_BAR, VF_BAR, where, value)))
    return PCIBIOS_SUCCESSFUL;
  if (where == PCI_COMMAND) {
    put16(function, where, value);
  } else if (where == PCI_INTERRUPT_LINE) {
    function[where] = value;
  } else if (where == EXPRESS + PCI_EXP_DEVCTL) {
    if (value & PCI_EXP_DEVCTL_BCR_FLR) ++card->resets;
    put16(function, where, value & ~PCI_EXP_DEVCTL_BCR_FLR);
  } else if (number == 0 && (where == SRIOV + PCI_SRIOV_CTRL || where == SRIOV + PCI_SRIOV_NUM_VF)) {
    if (where == SRIOV + PCI_SRIOV_CTRL && (value & PCI_SRIOV_CTRL_VFE)) copy_ports(card);
    put16(function, where, value);
  } else if (number == 0 && where == SRIOV + PCI_SRIOV_SYS_PGSIZE) {
    put32(function, where, value);
  }
  return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops operations = {.read = read_configuration, .write = write_configuration};

/* The BARs stay where they were put: the kernel's own choice would be an address without memory. */
static int claim_bars(struct card* card, struct pci_dev* function) {
  struct resource *bar = &function->resource[0], *vf_bars = &function->resource[PCI_IOV_RESOURCES];
  if (bar->start != card->window.start || vf_bars->start != card->window.start + VF_BARS) return -ENXIO;
  return request_resource(&card->window, bar) ?: request_resource(&card->window, vf_bars);
}

int plug_card(struct card* card) {
  struct pci_dev* function;
  int error;
  describe_configuration(card);
  describe_registers(card);
  pci_bus_set_ops(card->bus, &operations);
  card->plugged = true;
  pci_lock_rescan_remove();
  pci_scan_slot(card->bus, 0);
  function = pci_get_slot(card->bus, 0);
  error = function ? claim_bars(card, function) : -ENODEV;
  if (!error) pci_bus_add_devices(card->bus);
  pci_unlock_rescan_remove();
  pci_dev_put(function);
  return error;
}

/* Pulls a card out: the drivers notice it while they are unbound. */
void unplug_card(struct card* card) {
  struct pci_dev* function = pci_get_slot(card->bus, 0);
  card->plugged = false;
  if (!function) return;
  function->error_state = pci_channel_io_perm_failure;
  pci_stop_and_remove_bus_device_locked(function);
  pci_dev_put(function);
}
