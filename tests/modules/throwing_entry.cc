#include <stdexcept>

#include "cardcage/module.h"

const cage_module* cage_module_v1(uint32_t) { throw std::runtime_error("not caught in the module"); }
