#include "host/instance/lane_pool.h"

#include <algorithm>
#include <system_error>

namespace cardcage {

void LanePool::Jobs::begin() {
  const std::lock_guard lock(mutex_);
  ++running_;
}

void LanePool::Jobs::end() {
  const std::lock_guard lock(mutex_);
  if (--running_ == 0) changed_.notify_all();
}

void LanePool::Jobs::wait_until_ended() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return running_ == 0; });
}

Status LanePool::post(Lane::Job job) {
  auto idle = std::ranges::find_if(threads_, [](const auto& thread) { return !*thread->busy; });
  try {
    if (idle == threads_.end()) idle = threads_.insert(idle, std::make_unique<Thread>(name_));
  } catch (const std::system_error& error) {
    return fail(Code::kResourceExhausted, "no thread can be made for the call: {}", error.what());
  }
  jobs_->begin();
  (*idle)->busy->store(true);
  (*idle)->lane.post([jobs = jobs_, busy = (*idle)->busy, job = std::move(job)]() mutable {
    job();
    job = nullptr;
    busy->store(false);
    jobs->end();
  });
  return {};
}

void LanePool::leave_alone() {
  for (const auto& thread : threads_) thread->lane.leave_alone();
}

}  // namespace cardcage
