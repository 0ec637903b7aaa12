# SPDX-License-Identifier: Apache-2.0
# cardcage_module(NAME SOURCE...) makes the target cardcage_NAME, built as libcardcage_NAME.so with the entry symbol as its
# only export. The modules in this repository use it, and vendors use the installed copy:
#   find_package(cardcage REQUIRED)
#   cardcage_module(acme acme.cc)
function(cardcage_module name)
  set(map ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/module.map)
  add_library(cardcage_${name} MODULE ${ARGN})
  set_target_properties(cardcage_${name} PROPERTIES
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON LINK_DEPENDS ${map})
  target_link_libraries(cardcage_${name} PRIVATE cardcage::abi)
  target_link_options(cardcage_${name} PRIVATE
    -Wl,--version-script=${map} -Wl,--as-needed -Wl,-z,relro -Wl,-z,now)
endfunction()
