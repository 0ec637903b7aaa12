/* Linked against and then not to be found at run time. */
__attribute__((visibility("default"))) int absent_init(void);
int absent_init(void) { return 0; }
