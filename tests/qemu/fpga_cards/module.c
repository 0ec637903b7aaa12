// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* FPGA cards for the kernel's own drivers: each is plugged into the next empty root port, in memory that memmap= keeps
 * from the kernel. The module stays for the life of the machine. */
#include <linux/debugfs.h>
#include <linux/module.h>

#include "card.h"

static unsigned long base;
module_param(base, ulong, 0444);
MODULE_PARM_DESC(base, "address of the memory that is kept for the cards");

/* The ids match sim/fpga/cards.cc. */
static struct card cards[] = {
    {.name = "n3000",
     .device = 0x0b30,
     .features = {.ports = 1,
                  .interface_id = {0xa5d72a3cc8b04939, 0x912cf715e5dc10ca},
                  .function_id = {0x9aeffe5f84570612, 0xc000c9660d824272},
                  .shell = {0x23000410010310, 0x1904190}}},
    {.name = "four-ports",
     .device = 0x09c4,
     .features = {.ports = MOST_PORTS,
                  .interface_id = {0x69528db6eb31577a, 0x8c3668f9faa081f6},
                  .function_id = {0xd8424dc4a4a3c413, 0xf89e433683f9040b},
                  .shell = {0x122000200000185, 0x18061410}}},
    {.name = "n6001",
     .device = 0xbcce,
     .subsystem = 0x1771,
     .features = {.ports = 1,
                  .ofs = true,
                  .interface_id = {0xce3139c959cf528c, 0xa27751c50829797a},
                  .function_id = {0xd8424dc4a4a3c413, 0xf89e433683f9040b},
                  .shell = {0x5010202aecbd6e5, 0x2205041}}},
};

struct card* card_of_bus(const struct pci_bus* bus) {
  for (size_t i = 0; i < ARRAY_SIZE(cards); ++i)
    if (cards[i].bus == bus) return &cards[i];
  return NULL;
}

struct card* card_of_address(phys_addr_t address) {
  const size_t i = (address - base) / WINDOW;
  return address >= base && i < ARRAY_SIZE(cards) ? &cards[i] : NULL;
}

static struct pci_bus* empty_root_port(void) {
  struct pci_dev* port = NULL;
  while ((port = pci_get_device(PCI_VENDOR_ID_REDHAT, 0x000c, port)))
    if (port->subordinate && list_empty(&port->subordinate->devices) && !card_of_bus(port->subordinate)) {
      struct pci_bus* bus = port->subordinate;
      pci_dev_put(port);
      return bus;
    }
  return NULL;
}

static int add_card(struct card* card, phys_addr_t place, struct dentry* folder) {
  card->window = (struct resource){.name = card->name,
                                   .start = place,
                                   .end = place + WINDOW - 1,
                                   .flags = IORESOURCE_MEM | IORESOURCE_MEM_64 | IORESOURCE_PREFETCH};
  card->memory = (u64 __force*)ioremap(place, WINDOW);
  if (!card->memory) return -ENOMEM;
  card->bus = empty_root_port();
  if (!card->bus) return -ENODEV;
  add_control(card, folder);
  return plug_card(card);
}

static int __init start(void) {
  struct dentry* folder = debugfs_create_dir("fpga-cards", NULL);
  if (!base) return -EINVAL;
  for (size_t i = 0; i < ARRAY_SIZE(cards); ++i) {
    const int error = add_card(&cards[i], base + i * WINDOW, folder);
    if (error) {
      pr_err("fpga-cards: %s: error %d\n", cards[i].name, error);
      return error;
    }
  }
  return add_manager(folder);
}
module_init(start);

MODULE_DESCRIPTION("FPGA cards for tests");
MODULE_LICENSE("GPL");
