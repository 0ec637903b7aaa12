// Whether the tests run under ThreadSanitizer, which starts a thread in each process and needs much memory.
#pragma once

namespace cardcage {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace cardcage
