// Keeps the memory of a mostly idle process small.
#pragma once

namespace cardcage {

// Call it before there is a second thread. By default each thread of a process gets a heap of its own, which keeps the
// memory that it once needed.
void share_heaps();

// [any-thread] Releases free memory of the heap, which takes about a millisecond.
void release_free_memory();

// [any-thread] Also releases pages of programs and libraries, most of which only the start used. A page that is used
// again comes from the page cache.
void release_startup_memory();

}  // namespace cardcage
