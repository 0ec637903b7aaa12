/* The library that newer_libstdcxx.c is linked with, in place of libstdc++. */
void newer_function(void);
void newer_function(void) {}
