#include "modules/nic/devlink_watch.h"

#include <system_error>

namespace cardcage::nic {

void DevlinkWatch::start() {
  try {
    devlink_.emplace().watch();
  } catch (const std::system_error& error) {
    host_.info() << "devlink cannot be used, so no health reporters of drivers are heard: " << error.what();
    return devlink_.reset();
  }
  host_.poll(devlink_->descriptor());
}

void DevlinkWatch::stop() {
  if (devlink_) host_.stop_polling(devlink_->descriptor());
  devlink_.reset();
}

bool DevlinkWatch::take(const cage::Event& event) {
  return devlink_ && event.type == cage::Event::Type::descriptor && event.descriptor == devlink_->descriptor() &&
         devlink_->receive();
}

}  // namespace cardcage::nic
