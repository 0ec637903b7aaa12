# clang compiles the large headers of other projects once and not in each of 350 units. GCC gains nothing: its
# precompiled headers take 200 MB each.

# cardcage_precompile(NAME HEADER [LINK ...]) makes the header that cardcage_use_precompiled(TARGET NAME) includes
# first.
function(cardcage_precompile name header)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    return()
  endif()
  set(unit ${CMAKE_BINARY_DIR}/precompiled/${name}.cc)
  file(CONFIGURE OUTPUT ${unit} CONTENT "")
  add_library(${name} OBJECT ${unit})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/${header})
  # Times in the file would change it with each build. It names the checkout, too, so the compiler cache compares this
  # sum of the text instead of the file, and another checkout finds its units in the cache.
  target_compile_options(${name} PUBLIC "SHELL:-Xclang -fno-pch-timestamp")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -x c++ -std=c++23 -Wno-pragma-once-outside-header -E -P
                  -I ${PROJECT_SOURCE_DIR} -DBOOST_ASIO_SEPARATE_COMPILATION
                  ${PROJECT_SOURCE_DIR}/${header} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(SHA256 sum "${text}")
  file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch.sum "${sum}\n")
  set(stamp ${CMAKE_BINARY_DIR}/precompiled/${name}.stamp)
  add_custom_command(OUTPUT ${stamp} COMMAND ${CMAKE_COMMAND} -E touch ${stamp} DEPENDS $<TARGET_OBJECTS:${name}> VERBATIM)
  add_custom_target(${name}_made DEPENDS ${stamp})
endfunction()

function(cardcage_use_precompiled target name)
  if(TARGET ${name})
    # Not REUSE_FROM: the compiler cache takes the checkout's path out of this option and not out of CMake's.
    add_dependencies(${target} ${name}_made)
    target_compile_options(${target} PRIVATE "SHELL:-include-pch ${CMAKE_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch"
      "SHELL:-Xclang -fno-pch-timestamp" -Wno-deprecated-declarations)  # clang reports uses in the C++ library itself
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      # CMake compiles programs with -fPIE, and clang refuses a precompiled header that was made with -fPIC then.
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
  endif()
endfunction()

cardcage_precompile(cardcage_precompiled cmake/precompiled/libraries.h LINK cardcage_boost cardcage_grpc cardcage_fmt cardcage_spdlog)
if(CARDCAGE_TESTS)
  cardcage_precompile(cardcage_precompiled_tests cmake/precompiled/tests.h
                      LINK cardcage_boost cardcage_grpc cardcage_fmt cardcage_spdlog GTest::gmock)
endif()
