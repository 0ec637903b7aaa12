// The management engine of a card programs its regions, and reports the result of the last programming.
//
// Source: linux/fpga-dfl.h, drivers/fpga/dfl-fme-pr.c, Documentation/ABI/testing/sysfs-class-fpga-manager.
#pragma once

#include "modules/fpga/dfl/card.h"
#include "modules/fpga/target.h"

namespace cardcage::fpga {

// Returns why no bitstream can be loaded into the regions of the card; empty if one can.
std::string why_not_programmable(const DflCard& card);

// Throws FAILED_PRECONDITION unless the bitstream was made for the shell of the card. The kernel does not compare them,
// and a wrong bitstream can hang the card.
void require_fit(const DflCard& card, const Entry& bitstream);

// Programs the region of the port. `device` is the id of the device that waits for it.
void program_region(const cage::Call& call, const Tools& tools, const DflCard& card, unsigned port,
                    const std::string& device, const Entry& bitstream);

// Throws FAILED_PRECONDITION, with the holder, if a port or the engine of the card is open: a kernel whose driver is
// unbound then crashes when the descriptor is closed (seen with 6.12). A file opened after this check goes unnoticed.
void require_closed(const cage::Call& call, const Tools& tools, const DflCard& card, const std::string& device);

// Unbinds the driver of the card, of which nothing may be open, binds it again, and waits until its ports are back.
// `device` is the id of the device that waits for it.
//
// Source: drivers/fpga/fpga-region.c: a programming that fails leaves the port disabled, and the port counts how often
// it was (drivers/fpga/dfl-afu-main.c), so that neither a reset nor another programming enables it.
void bind_anew(const cage::Call& call, const Tools& tools, const DflCard& card, const std::string& device);
// Binds the driver of a card that has none.
void bind(const cage::Call& call, const Tools& tools, const std::string& bus_id, const std::string& device);
// Returns whether the function is a card that this module knows, and has no driver.
bool lacks_driver(const Tools& tools, const std::string& bus_id);

// Returns whether the FPGA manager is programming, for any process.
bool is_programming(const DflEngine& engine);

// Writes the value of the attribute back to it, as the kernel requires to clear it; does nothing if there is no error.
void clear_error_file(const cage::Call& call, const Tools& tools, const std::string& device,
                      const std::filesystem::path& file);
// Clears the errors of the card as a whole.
void clear_engine_errors(const cage::Call& call, const Tools& tools, const DflCard& card, const std::string& device);

}  // namespace cardcage::fpga
