# cardcage_embed(NAME FOLDER...) makes a library NAME of the files in the folders. A browser requests those of the first
# folder by their paths there, and those of each further folder below its name. "embedded/NAME.h" declares the function NAME(), which returns them.
function(cardcage_embed name)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed.py)
  set(stem ${CMAKE_BINARY_DIR}/gen/embedded/${name})
  set(folders "")
  set(files "")
  foreach(folder IN LISTS ARGN)
    get_filename_component(folder ${folder} ABSOLUTE)
    list(APPEND folders ${folder})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${folder}/*)
    list(APPEND files ${found})
  endforeach()
  add_custom_command(OUTPUT ${stem}.cc ${stem}.h
    COMMAND Python3::Interpreter ${script} ${name} ${stem} ${folders}
    DEPENDS ${script} ${files} VERBATIM)
  add_library(${name} STATIC ${stem}.cc ${stem}.h)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${CMAKE_BINARY_DIR}/gen)
endfunction()
