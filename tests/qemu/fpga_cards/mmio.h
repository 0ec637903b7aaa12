/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Compiled in front of each file of drivers/fpga: registers of cards are read and written by fpga-cards.ko. */
#pragma once

#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/io.h>
#include <linux/iopoll.h>

u64 fpga_cards_read(const volatile void __iomem* address);
void fpga_cards_write(u64 value, volatile void __iomem* address);

#undef readq
#undef writeq
#define readq(address) fpga_cards_read(address)
#define writeq(value, address) fpga_cards_write(value, address)
