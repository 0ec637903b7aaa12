#include "cardcage/module.h"
CAGE_EXPORT int some_other_symbol(void);
int some_other_symbol(void) { return 1; }
