# Makes the installed files independent of the build folder: debug information, and the build ID derived from it, name
# files relative to the sources.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # The last one is for the compiler cache, which names files relative to the build folder.
  add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=" "-ffile-prefix-map=${CMAKE_BINARY_DIR}/="
                      "-ffile-prefix-map=../../=")
endif()
