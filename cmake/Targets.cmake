# A folder is a library, and its mirror below tests/unit is a test program: adding a file needs no edit here.

# cardcage_library(NAME [LINK ...]) builds every *.cc of this folder; its headers are included as "host/<folder>/<file>.h".
function(cardcage_library name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/abi)
    target_link_libraries(${name} INTERFACE ${arg_LINK})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/abi)
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE cardcage_warnings)
  cardcage_use_precompiled(${name} cardcage_precompiled)
endfunction()

# cardcage_ship(COLLECTION TARGET...) builds the targets with the target COLLECTION. The build fails if one of them does not
# run on every release that the packages are for.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(CARDCAGE_SANITIZE)
  message(STATUS "not checking which libraries the programs need: the sanitizers add their own")
endif()
function(cardcage_ship collection)
  add_dependencies(${collection} ${ARGN})
  if(CARDCAGE_SANITIZE)
    return()
  endif()
  set(check ${PROJECT_SOURCE_DIR}/tools/check_libraries.py)
  foreach(target IN LISTS ARGN)
    set(stamp ${CMAKE_CURRENT_BINARY_DIR}/${target}_libraries.stamp)
    add_custom_command(OUTPUT ${stamp}
      COMMAND Python3::Interpreter ${check} $<TARGET_FILE:${target}>
      COMMAND ${CMAKE_COMMAND} -E touch ${stamp} DEPENDS ${target} ${check} VERBATIM)
    add_custom_target(${target}_libraries ALL DEPENDS ${stamp})
    add_dependencies(${collection} ${target}_libraries)
  endforeach()
endfunction()

# cardcage_install_programs(COMPONENT PROGRAM...) installs them into one folder, where each expects the others. A component is
# a package. The target `installed` builds all programs that `cmake --install` copies, `installed_modules` the modules.
add_custom_target(installed)
add_custom_target(installed_modules)
function(cardcage_install_programs component)
  include(GNUInstallDirs)
  install(TARGETS ${ARGN} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
  cardcage_ship(installed ${ARGN})
endfunction()

# cardcage_install_module(NAME [PACKAGE]) installs cardcage_NAME as component module-PACKAGE, or module-NAME, into a folder
# that has the same name on every architecture, because configurations name it. A build of some modules installs these.
function(cardcage_install_module name)
  set(package ${name})
  if(ARGC GREATER 1)
    set(package ${ARGV1})
  endif()
  install(TARGETS cardcage_${name} LIBRARY DESTINATION lib/cardcage/modules COMPONENT module-${package} OPTIONAL)
  cardcage_ship(installed_modules cardcage_${name})
endfunction()

# cardcage_export_nothing(PROGRAM) hides the libraries that a program links statically from the modules that it loads.
# A sanitizer's functions stay visible: the C++ library must call them instead of the ones that they replace.
function(cardcage_export_nothing program)
  if(NOT CARDCAGE_SANITIZE)
    target_link_options(${program} PRIVATE -Wl,--exclude-libs,ALL)
  endif()
endfunction()

# cardcage_test(NAME [TIMEOUT SECONDS] [LINK ...]) builds every *.cc of this folder into one test program; ctest lists each
# case by itself, and gives it a minute unless told otherwise.
function(cardcage_test name)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "TIMEOUT" "LINK")
  if(NOT given_TIMEOUT)
    set(given_TIMEOUT 60)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS *.cc *.h)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${given_LINK} GTest::gmock GTest::gtest_main cardcage_warnings)
  cardcage_use_precompiled(${name} cardcage_precompiled_tests)
  include(GoogleTest)
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${given_TIMEOUT})
endfunction()

# cardcage_proto(NAME [GRPC] FILES...) generates code from files below proto/, included as "<path>.pb.h". The target
# `generated` makes all such files, and compiles none.
add_custom_target(generated)
function(cardcage_proto name)
  cmake_parse_arguments(arg "GRPC" "" "FILES" ${ARGN})
  set(outputs "")
  foreach(file IN LISTS arg_FILES)
    string(REGEX REPLACE "\\.proto$" "" stem ${file})
    set(produced ${CMAKE_BINARY_DIR}/gen/${stem}.pb.cc ${CMAKE_BINARY_DIR}/gen/${stem}.pb.h)
    set(plugin "")
    if(arg_GRPC)
      list(APPEND produced ${CMAKE_BINARY_DIR}/gen/${stem}.grpc.pb.cc ${CMAKE_BINARY_DIR}/gen/${stem}.grpc.pb.h)
      set(plugin --grpc_out=${CMAKE_BINARY_DIR}/gen --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN})
    endif()
    add_custom_command(OUTPUT ${produced}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/gen
      COMMAND ${PROTOC} -I ${PROJECT_SOURCE_DIR}/proto --cpp_out=${CMAKE_BINARY_DIR}/gen ${plugin} ${PROJECT_SOURCE_DIR}/proto/${file}
      DEPENDS ${PROJECT_SOURCE_DIR}/proto/${file} VERBATIM)
    list(APPEND outputs ${produced})
  endforeach()
  add_custom_target(${name}_files DEPENDS ${outputs})
  add_dependencies(generated ${name}_files)
  add_library(${name} STATIC ${outputs})
  add_dependencies(${name} ${name}_files)
  set(messages ${outputs})
  # gRPC's generated files include the same large headers, so they are compiled as one unit. Protobuf's generated files
  # cannot be compiled as one unit.
  list(FILTER messages EXCLUDE REGEX "\\.grpc\\.pb\\.cc$")
  set_source_files_properties(${messages} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON)
  target_include_directories(${name} SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/gen)
  target_link_libraries(${name} PUBLIC $<IF:$<BOOL:${arg_GRPC}>,cardcage_grpc,cardcage_protobuf>)
  if(arg_GRPC)  # the header initializes objects of Asio, which small programs with the other messages do not link
    cardcage_use_precompiled(${name} cardcage_precompiled)
  endif()
endfunction()
