#include "shared_table.h"
