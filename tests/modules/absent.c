/* A library that missing_library.c links and the dynamic loader does not find. */
__attribute__((visibility("default"))) int absent_init(void);
int absent_init(void) { return 0; }
