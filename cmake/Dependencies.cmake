# Debian 12 packages; tools/packages.txt and tools/demo-packages.txt list them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
set(Boost_USE_STATIC_LIBS ON)
set(Boost_NO_WARN_NEW_VERSIONS ON)
find_package(Boost 1.81 EXACT REQUIRED COMPONENTS json)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CLI11 REQUIRED)
if(CARDCAGE_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()
pkg_check_modules(MNL REQUIRED IMPORTED_TARGET libmnl)
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

# gRPC, Protobuf and Abseil are linked statically: RTLD_LOCAL does not isolate a module that bundles another Protobuf
# from the host's shared libraries. Debian's CMake targets name the shared libraries, so the archives are listed here.
# The unsecure variant is enough: every gRPC connection is a unix socket.
# pkg_check_modules would run pkg-config 20 times, and each run reads the hundred packages of Abseil for most of a second.
if(NOT DEFINED CARDCAGE_GRPC_ARCHIVES)
  execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --static --libs-only-l grpc++_unsecure
                  OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "-l(grpc|gpr|absl_)[^ \n]*" libraries "${libraries}")
  list(TRANSFORM libraries REPLACE "^-l(.*)" "-l:lib\\1.a")
  list(REMOVE_DUPLICATES libraries)
  set(CARDCAGE_GRPC_ARCHIVES ${libraries} CACHE INTERNAL "gRPC and Abseil, in the order of the linker")
endif()
add_library(cardcage_protobuf INTERFACE)
target_link_libraries(cardcage_protobuf INTERFACE -l:libprotobuf.a -l:libz.a Threads::Threads)
add_library(cardcage_grpc INTERFACE)
target_link_libraries(cardcage_grpc INTERFACE
  -Wl,--start-group ${CARDCAGE_GRPC_ARCHIVES} -l:libupb.a -l:libaddress_sorting.a -l:libre2.a -l:libcares.a -l:libz.a -Wl,--end-group
  cardcage_protobuf)

# One set of binaries serves several releases of Debian and Ubuntu (docs/decisions/0035-one-set-of-binaries.md), which
# have different versions of these libraries. Debian has no archives of the first three, but their headers hold all of
# their code. Users keep the definitions of Debian's targets.
add_library(cardcage_fmt STATIC cmake/archives/fmt.cc)
target_compile_definitions(cardcage_fmt PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
add_library(cardcage_spdlog STATIC cmake/archives/spdlog.cc)
target_compile_definitions(cardcage_spdlog PUBLIC $<TARGET_PROPERTY:spdlog::spdlog,INTERFACE_COMPILE_DEFINITIONS>)
target_link_libraries(cardcage_spdlog PUBLIC cardcage_fmt Threads::Threads)
add_library(cardcage_toml STATIC cmake/archives/toml.cc)
target_compile_options(cardcage_toml PUBLIC $<TARGET_PROPERTY:tomlplusplus::tomlplusplus,INTERFACE_COMPILE_OPTIONS>)
add_library(cardcage_yaml INTERFACE)
target_link_libraries(cardcage_yaml INTERFACE -l:libyaml-cpp.a)

add_library(cardcage_boost INTERFACE)
target_link_libraries(cardcage_boost INTERFACE Boost::headers Threads::Threads)
target_compile_definitions(cardcage_boost INTERFACE BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_COROUTINE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_DLL_USE_STD_FS)

# Asio's TLS is no part of cardcage_core: most programs do without OpenSSL's libssl.
add_library(cardcage_asio_ssl STATIC cmake/archives/asio_ssl.cc)
target_link_libraries(cardcage_asio_ssl PUBLIC cardcage_boost OpenSSL::SSL)
