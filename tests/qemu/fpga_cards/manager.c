// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The FPGA of a system on chip, with the files `firmware` and `flags` that AMD's kernel adds to the class of managers.
 */
#include <linux/debugfs.h>
#include <linux/firmware.h>
#include <linux/fpga/fpga-mgr.h>
#include <linux/platform_device.h>

#include "card.h"

static bool fails;
static u32 bytes; /* size of the last file */
static unsigned long flags;

static int start_writing(struct fpga_manager* manager, struct fpga_image_info* info, const char* data, size_t size) {
  bytes = 0;
  return 0;
}

static int write_part(struct fpga_manager* manager, const char* data, size_t size) {
  bytes += size;
  return fails ? -EIO : 0;
}

static int end_writing(struct fpga_manager* manager, struct fpga_image_info* info) { return 0; }

static enum fpga_mgr_states first_state(struct fpga_manager* manager) { return FPGA_MGR_STATE_OPERATING; }

static ssize_t firmware_store(struct device* device, struct device_attribute* attribute, const char* text,
                              size_t size) {
  struct fpga_manager* manager = container_of(device, struct fpga_manager, dev);
  struct fpga_image_info* info = fpga_image_info_alloc(device);
  int error;
  if (!info) return -ENOMEM;
  info->flags = flags;
  info->firmware_name = devm_kasprintf(device, GFP_KERNEL, "%.*s", (int)strcspn(text, "\n"), text);
  error = fpga_mgr_lock(manager);
  if (!error) {
    error = fpga_mgr_load(manager, info);
    fpga_mgr_unlock(manager);
  }
  fpga_image_info_free(info);
  return error ? error : (ssize_t)size;
}
static DEVICE_ATTR_WO(firmware);

static ssize_t flags_show(struct device* device, struct device_attribute* attribute, char* text) {
  return sysfs_emit(text, "%lx\n", flags);
}
static ssize_t flags_store(struct device* device, struct device_attribute* attribute, const char* text, size_t size) {
  const int error = kstrtoul(text, 16, &flags);
  return error ? error : (ssize_t)size;
}
static DEVICE_ATTR_RW(flags);

static struct attribute* soc_attrs[] = {&dev_attr_firmware.attr, &dev_attr_flags.attr, NULL};
ATTRIBUTE_GROUPS(soc);

static const struct fpga_manager_ops operations = {.write_init = start_writing,
                                                   .write = write_part,
                                                   .write_complete = end_writing,
                                                   .state = first_state,
                                                   .groups = soc_groups};

int add_manager(struct dentry* folder) {
  struct dentry* own = debugfs_create_dir("manager", folder);
  struct platform_device* soc =
      platform_device_register_simple("firmware:zynqmp-firmware:pcap", PLATFORM_DEVID_NONE, NULL, 0);
  if (IS_ERR(soc)) return PTR_ERR(soc);
  debugfs_create_bool("fail", 0600, own, &fails);
  debugfs_create_u32("bytes", 0400, own, &bytes);
  return PTR_ERR_OR_ZERO(fpga_mgr_register(&soc->dev, "Xilinx ZynqMP FPGA Manager", &operations, NULL));
}
