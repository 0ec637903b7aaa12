// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The folder of a card in debugfs, through which tests break the card, read what it received, and pull it out. */
#include <linux/debugfs.h>

#include "card.h"

static int get_plugged(void* data, u64* value) {
  *value = ((struct card*)data)->plugged;
  return 0;
}

static int set_plugged(void* data, u64 value) {
  struct card* card = data;
  if (!value == !card->plugged) return 0;
  if (value) return plug_card(card);
  unplug_card(card);
  return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(plugged, get_plugged, set_plugged, "%llu\n");

void add_control(struct card* card, struct dentry* folder) {
  struct dentry* own = debugfs_create_dir(card->name, folder);
  debugfs_create_file_unsafe("plugged", 0600, own, card, &plugged);
  debugfs_create_bool("hold", 0600, own, &card->hold);
  debugfs_create_u32("fail", 0600, own, &card->fail);
  debugfs_create_u32("words", 0400, own, &card->words);
  debugfs_create_u32("resets", 0400, own, &card->resets);
  for (u8 i = 0; i < card->features.ports; ++i) {
    char name[8];
    snprintf(name, sizeof name, "port%u", i);
    struct dentry* port = debugfs_create_dir(name, own);
    debugfs_create_x64("errors", 0600, port, register_of(card, PORTS + i * PORT_STRIDE + PORT_ERRORS + 0x10));
    debugfs_create_x64("afu_low", 0600, port, register_of(card, PORTS + i * PORT_STRIDE + AFU + 0x8));
    debugfs_create_x64("afu_high", 0600, port, register_of(card, PORTS + i * PORT_STRIDE + AFU + 0x10));
  }
}
