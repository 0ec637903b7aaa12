// What an XID, the number by which the driver reports an error, means for a GPU.
//
// Source: NVIDIA, "XID Errors" (GPU deployment and management documentation), catalogue of October 2025. 109, a timeout
// of a context switch, is the application's as in the health checks of NVIDIA's device plugin and DRA driver.
#pragma once

#include <cstdint>

namespace cardcage::nvidia {

enum class XidClass : std::uint8_t {
  kIgnored,      // tells nothing of the GPU
  kInformation,  // recorded by the hardware, repaired by itself
  kApplication,  // the program that caused it ends; the GPU is well
  kSuspect,      // what it means depends on more than the number
  kReset,        // the GPU needs a reset
  kReboot,       // the node needs a restart
  kHardware,     // somebody has to look at the machine
};

// An unknown number is kSuspect.
XidClass classify_xid(unsigned long long xid);

// An error of the memory that may have reached other programs than the one that met it.
bool is_uncontained_memory_error(unsigned long long xid);

// "reset the GPU", for people; of one that makes the GPU unusable.
const char* remedy_of(XidClass what);
// "the program that caused it ends", for people; of one that does not, and is not ignored.
const char* meaning_of(XidClass what);

}  // namespace cardcage::nvidia
