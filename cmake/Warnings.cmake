# Members left out of a designated initializer take their default, on purpose: GCC 12 warns about that in C++.
# It also takes asio's operator new of a coroutine frame, once inlined, for another than the delete that belongs to it.
add_library(cardcage_warnings INTERFACE)
target_compile_options(cardcage_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wundef
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wno-missing-field-initializers>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-mismatched-new-delete>)
