#include "host/model/health_record.h"

namespace cardcage {

std::string_view to_string(HealthEventKind kind) {
  switch (kind) {
    case HealthEventKind::kBegan: return "began";
    case HealthEventKind::kEased: return "eased";
    case HealthEventKind::kEnded: return "ended";
    case HealthEventKind::kCleared: return "cleared";
    case HealthEventKind::kQuarantined: return "quarantined";
    case HealthEventKind::kGone: return "gone";
    case HealthEventKind::kBack: return "back";
    case HealthEventKind::kCordoned: return "cordoned";
    case HealthEventKind::kUncordoned: return "uncordoned";
    case HealthEventKind::kReset: return "reset";
    case HealthEventKind::kResetFailed: return "reset failed";
  }
  return "unknown";
}

}  // namespace cardcage
