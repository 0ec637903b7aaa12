// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The registers of a card: the lists of features that the drivers walk, and what reading and writing does.
 * Source: drivers/fpga/dfl.h, dfl-fme-mgr.c, dfl-fme-main.c, dfl-afu-error.c of Linux. */
#include <linux/bits.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/unaligned.h>
#include <linux/vmalloc.h>

#include "card.h"

enum {
  TYPE_AFU = 1,
  TYPE_PRIVATE = 3,
  TYPE_FIU = 4,
  NO_NEXT = 0,
  FULL_CREDIT = 0x1ff, /* words that the engine takes at once */
  CRC_ERROR = 0x2,
};
/* Places behind PROGRAMMING, and bits of its control register. */
enum { PR_CONTROL = 0x8, PR_STATUS = 0x10, PR_DATA = 0x18, PR_ERROR = 0x20 };
#define PR_REGION(control) ((control) >> 7 & 7)
#define PR_START BIT_ULL(12)
#define PR_COMPLETE BIT_ULL(13)
#define PR_FAILED BIT_ULL(16) /* of the status */
/* Ports, and the engine that programs: a reset that is asked for with bit 0 is acknowledged with bit 4. */
#define RESET BIT_ULL(0)
#define RESET_DONE BIT_ULL(4)
#define PORT_OF_VF BIT_ULL(55) /* of the register that tells where a port is */

static DEFINE_SPINLOCK(lock);

u64* register_of(const struct card* card, unsigned long place) { return (u64*)(card->memory + place); }

static void set(struct card* card, unsigned long place, u64 value) { *register_of(card, place) = value; }

static void set_id(struct card* card, unsigned long place, const u64 id[2]) {
  set(card, place + 0x8, id[1]);
  set(card, place + 0x10, id[0]);
}

static void set_header(struct card* card, unsigned long place, u64 type, u64 id, u64 next) {
  set(card, place, type << 60 | (u64)(next == NO_NEXT) << 40 | next << 16 | id);
}

static void describe_port(struct card* card, unsigned long port, unsigned int number) {
  set_header(card, port, TYPE_FIU, 1, PORT_ERRORS);
  set(card, port + 0x18, card->ofs ? 0 : AFU);
  set(card, port + 0x30, 64 << 8 | number); /* 64 KiB of registers of the function */
  set(card, port + 0x38, RESET | RESET_DONE);
  set_header(card, port + PORT_ERRORS, TYPE_PRIVATE, 0x10, NO_NEXT);
  if (card->ofs) return;
  set_header(card, port + AFU, TYPE_AFU, 0, NO_NEXT);
  set_id(card, port + AFU, card->afu);
}

void describe_registers(struct card* card) {
  memset_io((void __iomem*)card->memory, 0, WINDOW);
  set_header(card, FME, TYPE_FIU, 0, THERMAL);
  set(card, FME + 0x30, (u64)card->ports << 17);
  set(card, FME + 0x60, card->shell[0]);
  set(card, FME + 0x68, card->shell[1]);
  set_header(card, THERMAL, TYPE_PRIVATE, 1, POWER - THERMAL);
  set(card, THERMAL + 0x8, 90 | 93 << 8 | 95 << 24);
  set(card, THERMAL + 0x10, 47);
  set_header(card, POWER, TYPE_PRIVATE, 2, FME_ERRORS - POWER);
  set(card, POWER + 0x8, 33);
  set(card, POWER + 0x10, 60 | 66 << 8);
  set_header(card, FME_ERRORS, TYPE_PRIVATE, 4, PROGRAMMING - FME_ERRORS);
  set_header(card, PROGRAMMING, TYPE_PRIVATE, 5, card->ofs ? PORTS - PROGRAMMING : NO_NEXT);
  set(card, PROGRAMMING + PR_STATUS, FULL_CREDIT);
  set_id(card, PROGRAMMING + 0xa0, card->interface);
  for (unsigned int i = 0; i < card->ports; ++i) {
    const u64 place = PORTS + i * PORT_STRIDE;
    set(card, FME + 0x38 + 8 * i, BIT_ULL(60) | place);
    describe_port(card, place, i);
  }
  for (unsigned int i = 0; card->ofs && i < vfs_of(card); ++i) {
    set_header(card, VF_BARS + i * VF_BAR, TYPE_AFU, 0, NO_NEXT);
    set_id(card, VF_BARS + i * VF_BAR, card->afu);
  }
}

/* The port whose registers are in the BAR of a virtual function: functions get the released ports in order. */
static unsigned long place_in_port(const struct card* card, unsigned long place) {
  unsigned long number = (place - VF_BARS) / VF_BAR;
  for (unsigned int i = 0; i < card->ports; ++i)
    if ((*register_of(card, FME + 0x38 + 8 * i) & PORT_OF_VF) && number-- == 0)
      return PORTS + i * PORT_STRIDE + (place - VF_BARS) % VF_BAR;
  return place;
}

static struct card* card_at(const volatile void __iomem* address, unsigned long* place) {
  const void* plain = (const void __force*)address;
  const phys_addr_t physical = ((phys_addr_t)vmalloc_to_pfn(plain) << PAGE_SHIFT) + offset_in_page(plain);
  struct card* card = card_of_address(physical);
  if (WARN_ON_ONCE(!card)) return NULL;
  *place = physical - card->window.start;
  if (*place >= VF_BARS && !card->ofs) *place = place_in_port(card, *place);
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
  } else if (card->ofs) {
    for (unsigned int i = 0; i < vfs_of(card); ++i) set_id(card, VF_BARS + i * VF_BAR, id);
  } else {
    set_id(card, PORTS + PR_REGION(*control) * PORT_STRIDE + AFU, id);
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
