#include "modules/nvidia/health/xid.h"

#include <algorithm>
#include <initializer_list>

namespace cardcage::nvidia {
namespace {

struct Range {
  unsigned short first, last;
};
struct Entry {
  XidClass what;
  std::initializer_list<Range> xids;
};

bool contains(std::initializer_list<Range> ranges, unsigned long long xid) {
  return std::ranges::any_of(ranges, [xid](Range one) { return one.first <= xid && xid <= one.last; });
}

}  // namespace

XidClass classify_xid(unsigned long long xid) {
  static const std::initializer_list<Entry> entries = {
      {XidClass::kIgnored,
       {{14, 14}, {37, 38}, {43, 45}, {66, 67}, {106, 108}, {137, 137}, {141, 141}, {152, 154}, {162, 163}}},
      {XidClass::kInformation,
       {{63, 63}, {92, 93}, {121, 121}, {157, 157}, {160, 161}, {164, 166}, {170, 170}, {174, 174}, {176, 176}}},
      {XidClass::kApplication,
       {{8, 8},
        {11, 11},
        {13, 13},
        {25, 25},
        {31, 32},
        {39, 41},
        {60, 60},
        {68, 72},
        {75, 77},
        {80, 80},
        {82, 86},
        {88, 89},
        {94, 94},
        {96, 105},
        {109, 109},
        {126, 135},
        {139, 139}}},
      {XidClass::kReset,
       {{46, 46},
        {48, 48},
        {62, 62},
        {64, 64},
        {95, 95},
        {110, 110},
        {119, 120},
        {136, 136},
        {140, 140},
        {143, 143},
        {155, 156},
        {158, 158},
        {169, 169}}},
      {XidClass::kReboot, {{79, 79}, {151, 151}, {167, 167}, {173, 173}}},
      {XidClass::kHardware, {{54, 54}, {168, 168}}},
  };
  for (const Entry& entry : entries)
    if (contains(entry.xids, xid)) return entry.what;
  return XidClass::kSuspect;
}

bool is_uncontained_memory_error(unsigned long long xid) { return xid == 48 || xid == 95; }

const char* remedy_of(XidClass what) {
  switch (what) {
    case XidClass::kReset: return "reset the GPU: nvidia-smi --gpu-reset";
    case XidClass::kReboot: return "restart the node";
    case XidClass::kHardware: return "look at the card and its power";
    default: return "look at the kernel log";
  }
}

const char* meaning_of(XidClass what) {
  switch (what) {
    case XidClass::kInformation: return "the GPU has recorded it and keeps working";
    case XidClass::kApplication: return "it concerns the program that caused it";
    default: return "the kernel log explains it";
  }
}

}  // namespace cardcage::nvidia
