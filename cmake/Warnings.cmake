# GCC 12 warns in C++ about members that a designated initializer leaves out; here they take their defaults on purpose.
# It also reports a mismatch between asio's inlined operator new of a coroutine frame and the matching delete.
add_library(cardcage_warnings INTERFACE)
target_compile_options(cardcage_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wundef
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wno-missing-field-initializers>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-mismatched-new-delete>)
# Where a room is one unit, its file-scope types count as types of an included file.
if(CMAKE_UNITY_BUILD)
  target_compile_options(cardcage_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
