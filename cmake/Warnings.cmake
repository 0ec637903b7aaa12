# Members left out of a designated initializer take their default, on purpose: GCC 12 warns about that in C++.
add_library(cardcage_warnings INTERFACE)
target_compile_options(cardcage_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wundef
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wno-missing-field-initializers>)
