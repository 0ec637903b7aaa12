/* The library that newer_library.c is linked with, in place of libstdc++, libc or another. */
void newer_function(void);
void newer_function(void) {}
