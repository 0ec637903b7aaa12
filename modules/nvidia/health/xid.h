// The meaning of an XID, the number by which the driver reports an error, for a GPU.
//
// Source: NVIDIA, "XID Errors" (GPU deployment and management documentation), catalogue of October 2025. 109, a timeout
// of a context switch, is the application's as in the health checks of NVIDIA's device plugin and DRA driver.
#pragma once

#include <cstdint>

namespace cardcage::nvidia {

enum class XidClass : std::uint8_t {
  kIgnored,      // says nothing about the GPU
  kInformation,  // recorded by the hardware, repaired by itself
  kApplication,  // the program that caused it ends; the GPU is well
  kSuspect,      // its meaning depends on more than the number
  kReset,        // the GPU needs a reset
  kReboot,       // the node needs a restart
  kHardware,     // an operator has to look at the machine
};

// An unknown number is kSuspect.
XidClass classify_xid(unsigned long long xid);

// Whether it is a memory error that may have reached other programs than the one that met it.
bool is_uncontained_memory_error(unsigned long long xid);

// "reset the GPU", for people; for an XID that makes the GPU unusable.
const char* remedy_of(XidClass what);
// "the program that caused it ends", for people; for an XID that neither makes the GPU unusable nor is ignored.
const char* meaning_of(XidClass what);

}  // namespace cardcage::nvidia
