# SPDX-License-Identifier: Apache-2.0
# cardcage_module(NAME SOURCE...) makes the target cardcage_NAME, built as libcardcage_NAME.so with the entry symbol as its
# only export. The modules in this repository use it, and vendors use the installed copy:
#   include(/usr/share/cardcage/cardcage-module.cmake)
#   cardcage_module(acme acme.cc)
function(cardcage_module name)
  set(here ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  set(include ${here})
  if(NOT EXISTS ${here}/cardcage/module.h)
    set(include ${here}/../../include)
  endif()
  add_library(cardcage_${name} MODULE ${ARGN})
  set_target_properties(cardcage_${name} PROPERTIES
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON LINK_DEPENDS ${here}/module.map)
  target_include_directories(cardcage_${name} PRIVATE ${include})
  target_link_options(cardcage_${name} PRIVATE
    -Wl,--version-script=${here}/module.map -Wl,--as-needed -Wl,-z,relro -Wl,-z,now)
endfunction()
