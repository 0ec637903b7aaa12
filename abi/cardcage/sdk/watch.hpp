// SPDX-License-Identifier: Apache-2.0
// Events that wake a module. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_WATCH_HPP_
#define CARDCAGE_SDK_WATCH_HPP_

#include <cardcage/sdk/text.hpp>

#include <array>
#include <chrono>
#include <vector>

namespace cage {

// Texts that the daemon watches for [R20]: beginnings of kernel messages, and subsystems of uevents.
//
//   static constexpr auto declared_kernel_log = cage::texts("NVRM: Xid", "NVRM: GPU");
//   static constexpr auto declared_uevents = cage::texts("pci");
template <class... Text>
constexpr std::array<cage_str, sizeof...(Text)> texts(const Text&... text) {
  return {detail::raw(text)...};
}

struct Event {
  enum class Type : std::uint32_t {
    kernel_log = CAGE_EVENT_KERNEL_LOG,
    uevent = CAGE_EVENT_UEVENT,
    descriptor = CAGE_EVENT_DESCRIPTOR
  };
  Type type;  // a later host may pass others: a reason to check the hardware
  std::chrono::steady_clock::time_point time;
  std::string_view text;  // the message of kernel_log; lines of uevent: "ACTION=change\nDEVPATH=...\n"
  int descriptor;         // for the type descriptor: the one that is ready
};

// Events since the last call, oldest first.
struct Events {
  std::vector<Event> all;
  bool lost = false;  // some before these were dropped: check the hardware
};

namespace detail {

inline Events copied_events(const cage_event* const* events, std::uint32_t count, std::uint32_t flags) {
  Events copied;
  copied.lost = (flags & CAGE_EVENTS_LOST) != 0;
  for (std::uint32_t i = 0; i < count; ++i)
    copied.all.push_back(
        {static_cast<Event::Type>(events[i]->type),
         std::chrono::steady_clock::time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(events[i]->time_ns))),
         view(events[i]->text), events[i]->descriptor});
  return copied;
}

}  // namespace detail

}  // namespace cage

#endif  // CARDCAGE_SDK_WATCH_HPP_
