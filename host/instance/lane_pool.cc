#include "host/instance/lane_pool.h"

#include <algorithm>
#include <system_error>

namespace cardcage {

Status LanePool::post(Lane::Job job) {
  auto idle = std::ranges::find_if(threads_, [](const auto& thread) { return !*thread->busy; });
  try {
    if (idle == threads_.end()) idle = threads_.insert(idle, std::make_unique<Thread>(name_));
  } catch (const std::system_error& error) {
    return fail(Code::kResourceExhausted, "no thread can be made for the call: {}", error.what());
  }
  ++*jobs_;
  (*idle)->busy->store(true);
  (*idle)->lane.post([jobs = jobs_, busy = (*idle)->busy, job = std::move(job)]() mutable {
    job();
    job = nullptr;
    busy->store(false);
    if (--*jobs == 0) jobs->notify_all();
  });
  return {};
}

void LanePool::leave_alone() {
  for (const auto& thread : threads_) thread->lane.leave_alone();
}

}  // namespace cardcage
