// Whether the tests run under ThreadSanitizer, which starts a thread in each process and needs much memory, or under
// AddressSanitizer, which maps terabytes.
#pragma once

namespace cardcage {

#if defined(__has_feature)
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kThreadSanitizer = false, kAddressSanitizer = false;
#endif

}  // namespace cardcage
