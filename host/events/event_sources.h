// One reader of the kernel's log and one of its uevents, for all listeners.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "host/core/delayed_call.h"
#include "host/events/kernel_sources.h"

namespace cardcage {

// [core] A source is open only while it has a listener. One that cannot be opened or read is tried again from time to
// time. Outlives its subscriptions.
class EventSources {
 public:
  // Null members ignore their source. They neither subscribe nor end a subscription.
  struct Listener {
    std::function<void(const KernelMessage&)> kernel_message;
    std::function<void(const Uevent&)> uevent;
    std::function<void()> lost;  // a source that it listens to has dropped something
  };
  class Subscription {
   public:
    Subscription(EventSources& sources, std::list<Listener>::iterator listener)
        : sources_(sources), listener_(listener) {}
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    ~Subscription() { sources_.remove(listener_); }

   private:
    EventSources& sources_;
    const std::list<Listener>::iterator listener_;
  };

  // `kernel_log` is /dev/kmsg except in tests.
  EventSources(asio::io_context& core, Clock& clock, std::filesystem::path kernel_log = "/dev/kmsg");
  EventSources(const EventSources&) = delete;
  EventSources& operator=(const EventSources&) = delete;

  std::unique_ptr<Subscription> subscribe(Listener listener);
  // The reasons why listeners receive nothing, for people; empty if all is well.
  std::vector<std::string> problems() const;

 private:
  struct Source {
    std::string_view name;  // "kernel messages"
    std::unique_ptr<RecordReader> reader;
    std::string problem = {};
  };
  void remove(std::list<Listener>::iterator listener);
  // Opens the sources that have listeners, and closes the others.
  void update();
  void update(Source& source, bool wanted, const std::function<Result<std::unique_ptr<RecordReader>>()>& open);
  void fail(Source& source, const Error& error);
  // Tells the listeners of the source.
  void tell_lost(const Source& source);

  asio::io_context& core_;
  Clock& clock_;
  const std::filesystem::path kernel_log_;
  std::list<Listener> listeners_;
  Source messages_{.name = "kernel messages", .reader = nullptr}, uevents_{.name = "uevents", .reader = nullptr};
  DelayedCall retry_;
};

}  // namespace cardcage
