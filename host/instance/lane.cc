#include "host/instance/lane.h"

#include <pthread.h>

namespace cardcage {

Lane::Lane(const std::string& name) : shared_(std::make_shared<Shared>()) {
  thread_ = std::thread([shared = shared_] { run(shared); });
  // The kernel keeps 15 characters.
  ::pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
}

Lane::~Lane() {
  if (!thread_.joinable()) return;
  close();
  thread_.join();
}

void Lane::close() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
  }
  shared_->changed.notify_one();
}

void Lane::leave_alone() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->left_alone = std::move(thread_);
  }
  close();
}

void Lane::post(Job job) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->jobs.push_back(std::move(job));
  }
  shared_->changed.notify_one();
}

void Lane::run(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&] { return shared->closed || !shared->jobs.empty(); });
    if (shared->jobs.empty()) break;
    Job job = std::move(shared->jobs.front());
    shared->jobs.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // without the lock, which destructors of captured objects may take
    lock.lock();
  }
  if (shared->left_alone.joinable()) shared->left_alone.detach();
}

}  // namespace cardcage
