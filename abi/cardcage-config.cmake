# SPDX-License-Identifier: Apache-2.0
# find_package(cardcage) reads this file. It defines cardcage_module() and the target cardcage::abi, the module header.
include(${CMAKE_CURRENT_LIST_DIR}/cardcage-targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/cardcage-module.cmake)
