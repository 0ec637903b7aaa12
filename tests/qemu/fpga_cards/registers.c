// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The registers of a card: the effects of reads and writes.
 *
 * Source: drivers/fpga/dfl.h, dfl-fme-mgr.c, dfl-afu-error.c of Linux. */
#include <linux/bits.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/unaligned.h>
#include <linux/vmalloc.h>

#include "card.h"

enum { CRC_ERROR = 0x2, FULL_CREDIT = 0x1ff };
/* Offsets from PROGRAMMING, and bits of its control register. */
enum { PR_CONTROL = 0x8, PR_STATUS = 0x10, PR_DATA = 0x18, PR_ERROR = 0x20 };
#define PR_REGION(control) ((control) >> 7 & 7)
#define PR_START BIT_ULL(12)
#define PR_COMPLETE BIT_ULL(13)
#define PR_FAILED BIT_ULL(16) /* bit of the status register */
/* Ports and the programming engine: bit 0 requests a reset, and bit 4 acknowledges it. */
#define RESET BIT_ULL(0)
#define RESET_DONE BIT_ULL(4)
#define PORT_OF_VF BIT_ULL(55) /* bit of the register that tells where a port is */

static DEFINE_SPINLOCK(lock);

u64* register_of(const struct card* card, unsigned long place) { return card->memory + place / 8; }

static void set(struct card* card, unsigned long place, u64 value) { *register_of(card, place) = value; }

void describe_registers(struct card* card) {
  memset_io((void __iomem*)card->memory, 0, WINDOW);
  put_features(card->memory, &card->features);
  for (unsigned int i = 0; card->features.ofs && i < vfs_of(card); ++i) {
    put_header(card->memory, VF_BARS + i * VF_BAR, TYPE_AFU, 0, 0);
    put_id(card->memory, VF_BARS + i * VF_BAR, card->features.function_id);
  }
}

/* Finds the port whose registers are in the BAR of a virtual function: functions get the released ports in order. */
static unsigned long place_in_port(const struct card* card, unsigned long place) {
  unsigned long number = (place - VF_BARS) / VF_BAR;
  for (unsigned int i = 0; i < card->features.ports; ++i)
    if ((*register_of(card, FME + 0x38 + 8 * i) & PORT_OF_VF) && number-- == 0)
      return PORTS + i * PORT_STRIDE + (place - VF_BARS) % VF_BAR;
  return place;
}

/* Users of VFIO read the memory itself. */
void copy_ports(struct card* card) {
  for (unsigned long place = VF_BARS; !card->features.ofs && place < VF_BARS + MOST_VFS * VF_BAR; place += VF_BAR)
    if (place_in_port(card, place) != place)
      memcpy(register_of(card, place), register_of(card, place_in_port(card, place)), PORT_STRIDE);
}

static struct card* card_at(const volatile void __iomem* address, unsigned long* place) {
  const void* plain = (const void __force*)address;
  const phys_addr_t physical = ((phys_addr_t)vmalloc_to_pfn(plain) << PAGE_SHIFT) + offset_in_page(plain);
  struct card* card = card_of_address(physical);
  if (WARN_ON_ONCE(!card)) return NULL;
  *place = physical - card->window.start;
  if (*place >= VF_BARS && !card->features.ofs) *place = place_in_port(card, *place);
  return card;
}

static void end_programming(struct card* card) {
  u64* control = register_of(card, PROGRAMMING + PR_CONTROL);
  const u64 id[2] = {get_unaligned_be64(card->payload), get_unaligned_be64(card->payload + 8)};
  if (card->hold || !(*control & PR_COMPLETE)) return;
  *control &= ~(PR_START | PR_COMPLETE);
  if (card->fail) {
    --card->fail;
    *register_of(card, PROGRAMMING + PR_STATUS) |= PR_FAILED;
    set(card, PROGRAMMING + PR_ERROR, CRC_ERROR);
  } else if (card->features.ofs) {
    for (unsigned int i = 0; i < vfs_of(card); ++i) put_id(card->memory, VF_BARS + i * VF_BAR, id);
  } else {
    put_id(card->memory, PORTS + PR_REGION(*control) * PORT_STRIDE + AFU, id);
  }
}

static u64 acknowledged(u64 control) { return (control & ~RESET_DONE) | (control & RESET ? RESET_DONE : 0); }

static void write_engine(struct card* card, unsigned long place, u64 value) {
  if (place == PROGRAMMING + PR_CONTROL) {
    set(card, place, acknowledged(value));
    if (!(value & RESET)) return;
    set(card, place, RESET | RESET_DONE);
    set(card, PROGRAMMING + PR_STATUS, FULL_CREDIT);
    set(card, PROGRAMMING + PR_ERROR, 0);
    card->words = 0;
  } else if (place == PROGRAMMING + PR_DATA) {
    if (card->words < AFU_ID_SIZE / 4) put_unaligned_le32(value, card->payload + 4 * card->words);
    ++card->words;
  } else if (place == PROGRAMMING + PR_ERROR) {
    set(card, place, *register_of(card, place) & ~value);
  }
}

static bool is_cleared_by_ones(unsigned long place) {
  if (place >= PORTS) {
    const unsigned long in_port = (place - PORTS) % PORT_STRIDE;
    return in_port == PORT_ERRORS + 0x10 || in_port == PORT_ERRORS + 0x18 || in_port == 0x40;
  }
  return place == FME_ERRORS + 0x10 || place == FME_ERRORS + 0x20 || place == FME_ERRORS + 0x30;
}

u64 fpga_cards_read(const volatile void __iomem* address) {
  unsigned long place, state;
  struct card* card = card_at(address, &place);
  u64 value;
  if (!card || !card->plugged) return ~0ULL;
  spin_lock_irqsave(&lock, state);
  end_programming(card);
  value = *register_of(card, place);
  spin_unlock_irqrestore(&lock, state);
  return value;
}
EXPORT_SYMBOL_GPL(fpga_cards_read);

void fpga_cards_write(u64 value, volatile void __iomem* address) {
  unsigned long place, state;
  struct card* card = card_at(address, &place);
  if (!card || !card->plugged) return;
  spin_lock_irqsave(&lock, state);
  if (place >= PROGRAMMING && place < PROGRAMMING + 0x1000)
    write_engine(card, place, value);
  else if (is_cleared_by_ones(place))
    set(card, place, *register_of(card, place) & ~value);
  else if (place >= PORTS && (place - PORTS) % PORT_STRIDE == 0x38)
    set(card, place, acknowledged(value));
  else
    set(card, place, value);
  spin_unlock_irqrestore(&lock, state);
}
EXPORT_SYMBOL_GPL(fpga_cards_write);
