# The two libraries, from one compilation of each file.
#
# Sources are globbed, with CONFIGURE_DEPENDS, on purpose: a folder is a layer and a new file is its
# own declaration, so two people who each add a collector never edit the same list. Ninja checks the
# globs at each build (a few milliseconds); a new file needs no new configure run.
#
# Objects are compiled once, hidden and position independent, in four groups. The place of a file
# says which it is in:
#   record  src/record, src/collect/*.c and src/api/record_*.c: libplumb
#   read    src/read, src/analyze, src/isolate, src/report and src/api/read_*.c: libplumb-read
#   inject  src/inject: libplumb-malloc.so alone, which is preloaded, never linked
#   opencl  src/collect/opencl: libplumb-opencl.so alone, which the loader of OpenCL loads
#   onednn  src/collect/onednn: libplumb-onednn.so alone, which is preloaded
#   common  every other folder of src: in both libraries
# Hidden symbols still link inside one program, so the unit tests use the very same objects, through
# the archive plumb_testing.

# The build folder has the shape of an installed tree: bin/plumb finds the libplumb to preload in
# PLUMB_BIN_TO_LIB (../lib by default) in both.
set(PLUMB_BIN_DIR "${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_BINDIR}")
set(PLUMB_LIB_DIR "${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}")
file(RELATIVE_PATH PLUMB_BIN_TO_LIB "${PLUMB_BIN_DIR}" "${PLUMB_LIB_DIR}")
# The data of the command is in share/plumb, in both.
set(PLUMB_DATA_DIR "${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_DATADIR}/plumb")
file(RELATIVE_PATH PLUMB_BIN_TO_DATA "${PLUMB_BIN_DIR}" "${PLUMB_DATA_DIR}")

# plumb_layer_sources(<result> <pattern below src>...): of these folders and all below them
function(plumb_layer_sources list)
  set(found "")
  foreach(pattern IN LISTS ARGN)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${pattern}")
    list(APPEND found ${files})
  endforeach()
  list(FILTER found EXCLUDE REGEX "_test\\.c$")
  plumb_isa_sources(found)
  set(${list} "${found}" PARENT_SCOPE)
endfunction()

function(plumb_objects target)
  add_library(${target} OBJECT ${ARGN})
  # The public headers for their types alone: the libraries need no client of themselves. (The malloc
  # interposer is a client.)
  if(NOT target STREQUAL "plumb_inject_objects")
    target_compile_definitions(${target} PRIVATE PLUMB_DISABLE)
  endif()
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  # Initial-exec: a thread-local access of the span path is one instruction and never calls
  # __tls_get_addr, which can allocate. The price is 64 bytes of the static TLS reserve.
  target_compile_options(${target} PRIVATE -ftls-model=initial-exec)
  target_link_libraries(${target} PRIVATE plumb_flags Threads::Threads)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden)
endfunction()

# Code that runs on the program's threads, in its signal handlers and on its small stacks has small
# frames, and touches the guard page before anything that may lie below it. A function that runs only
# on plumb's own threads, or once in a run, may have a large frame: it stands between pragmas in its
# file, with the reason. (Sanitizers pad frames, and -O0 gives each variable a place of its own, so
# neither is held to the bound.)
function(plumb_small_frames target)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  target_compile_options(${target} PRIVATE -fstack-clash-protection)
  if(PLUMB_SANITIZER_FLAGS OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
  endif()
  target_compile_options(${target} PRIVATE -Wframe-larger-than=2048)
  if(PLUMB_WERROR_FRAMES)
    target_compile_options(${target} PRIVATE -Werror=frame-larger-than=2048)
  endif()
endfunction()

function(plumb_headers target)
  target_include_directories(${target} INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endfunction()

# An executable of ours. The public headers and libraries are all it may see.
function(plumb_program target)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE plumb_flags)
endfunction()

# A shared library with SONAME lib<name>.so.0, whose exports are those of cmake/lib<name>.map.
function(plumb_shared_library target name)
  set(map "${PROJECT_SOURCE_DIR}/cmake/lib${name}.map")
  add_library(${target} SHARED ${ARGN})
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
  # clang links the sanitizer runtimes into programs only, so a library's references to them stay
  # open until then.
  if(NOT (PLUMB_SANITIZER_FLAGS AND CMAKE_C_COMPILER_ID MATCHES "Clang"))
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY "${PLUMB_LIB_DIR}"
    LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS "${map}")
  target_link_libraries(${target} PRIVATE plumb_flags)
  plumb_headers(${target})
endfunction()

function(plumb_static_library target name)
  add_library(${target} STATIC ${ARGN})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name}
    ARCHIVE_OUTPUT_DIRECTORY "${PLUMB_LIB_DIR}"
    LINKER_LANGUAGE C)
  plumb_headers(${target})
endfunction()

plumb_layer_sources(PLUMB_RECORD_SOURCES record/*.c collect/*.c api/record_*.c)
plumb_layer_sources(PLUMB_READ_SOURCES read/*.c analyze/*.c isolate/*.c report/*.c
  api/read_*.c)
plumb_layer_sources(PLUMB_INJECT_SOURCES inject/*.c)
plumb_layer_sources(PLUMB_COUNT_SOURCES inject/count/*.c)
plumb_layer_sources(PLUMB_CALLS_SOURCES inject/calls/*.c)
list(REMOVE_ITEM PLUMB_INJECT_SOURCES ${PLUMB_COUNT_SOURCES} ${PLUMB_CALLS_SOURCES})
plumb_layer_sources(PLUMB_OPENCL_SOURCES collect/opencl/*.c)
list(REMOVE_ITEM PLUMB_RECORD_SOURCES ${PLUMB_OPENCL_SOURCES})
plumb_layer_sources(PLUMB_ONEDNN_SOURCES collect/onednn/*.c)
list(REMOVE_ITEM PLUMB_RECORD_SOURCES ${PLUMB_ONEDNN_SOURCES})
file(GLOB common CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/src/*")
list(REMOVE_ITEM common record collect read analyze isolate report inject api)
list(TRANSFORM common APPEND "/*.c")
plumb_layer_sources(PLUMB_COMMON_SOURCES ${common})
file(GLOB strangers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/api/*.c" "${PROJECT_SOURCE_DIR}/src/*.c")
list(REMOVE_ITEM strangers ${PLUMB_RECORD_SOURCES} ${PLUMB_READ_SOURCES})
if(strangers)
  message(FATAL_ERROR "a file in src/api is named record_*.c (it goes into libplumb) "
    "or read_*.c (into libplumb-read), and src itself holds none: ${strangers}")
endif()

# The texts of these files, for the programs that plumb generates: arrays of numbers, because a
# string literal may not be that long in C11.
foreach(file tensor/value_hash_body isolate/random_fill isolate/program_types_body
    isolate/program_options_body isolate/program_inputs_body isolate/program_main_body)
  get_filename_component(part "${file}" NAME)
  set(in "${PROJECT_SOURCE_DIR}/src/${file}.h")
  set(out "${PROJECT_BINARY_DIR}/generated/${part}_text.c")
  set(script "${PROJECT_SOURCE_DIR}/cmake/text_as_c.cmake")
  add_custom_command(OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DIN=${in}" "-DOUT=${out}" -DNAME=plumb_${part}_text
      -DHEADER=isolate/program_text.h -P "${script}"
    DEPENDS "${in}" "${script}"
    VERBATIM)
  list(APPEND PLUMB_READ_SOURCES "${out}")
endforeach()

# For the public header alone: instrumented code that links no libplumb finds the runtime at run time.
add_library(plumb_header INTERFACE)
add_library(plumb::header ALIAS plumb_header)
plumb_headers(plumb_header)

plumb_objects(plumb_common_objects ${PLUMB_COMMON_SOURCES})
plumb_objects(plumb_record_objects ${PLUMB_RECORD_SOURCES})
plumb_small_frames(plumb_common_objects)
plumb_small_frames(plumb_record_objects)
# It runs where vector registers hold a call's arguments.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/src/record/calls/glance_general.c" APPEND PROPERTY
    COMPILE_OPTIONS -mgeneral-regs-only)
endif()
target_compile_definitions(plumb_record_objects PRIVATE
  "PLUMB_HAVE_NVTX=$<BOOL:${PLUMB_HAVE_NVTX}>")
if(PLUMB_HAVE_NVTX)
  target_include_directories(plumb_record_objects SYSTEM PRIVATE "${NVTX3_INCLUDE_DIR}")
endif()
set(record_objects
  $<TARGET_OBJECTS:plumb_common_objects> $<TARGET_OBJECTS:plumb_record_objects>)

plumb_shared_library(plumb_shared plumb ${record_objects})
add_library(plumb::plumb ALIAS plumb_shared)
# nodelete: threads, thread-local destructors and trace points of other objects point into the
# library for as long as the process lives.
target_link_options(plumb_shared PRIVATE LINKER:-z,nodelete)
target_link_libraries(plumb_shared PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
target_compile_definitions(plumb_shared INTERFACE PLUMB_LINKED)

plumb_static_library(plumb_static plumb ${record_objects})
add_library(plumb::plumb_static ALIAS plumb_static)
target_link_libraries(plumb_static INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
# PLUMB_LINKED makes the header refer to the runtime strongly: a weak reference would not pull it out
# of an archive.
target_compile_definitions(plumb_static INTERFACE PLUMB_LINKED)

# A library that is preloaded, with the exports of cmake/lib<name>.map. The name has no version,
# because the library belongs to the libplumb in the same folder. Builds with a sanitizer have none:
# the sanitizer's runtime must be the first library of a process.
function(plumb_preloaded_library target name)
  set(map "${PROJECT_SOURCE_DIR}/cmake/lib${name}.map")
  add_library(${target} MODULE ${ARGN})
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}" LINKER:-z,defs
    LINKER:-z,now LINKER:-z,nodelete)
  target_link_libraries(${target} PRIVATE plumb_flags ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY "${PLUMB_LIB_DIR}"
    LINKER_LANGUAGE C
    LINK_DEPENDS "${map}")
endfunction()

# The malloc interposer stands between a program and its allocator.
set(PLUMB_HAVE_MALLOC FALSE)
if(PLUMB_BUILD_KIND STREQUAL "plain")
  set(PLUMB_HAVE_MALLOC TRUE)
  plumb_objects(plumb_inject_objects ${PLUMB_INJECT_SOURCES})
  target_compile_options(plumb_inject_objects PRIVATE -fno-builtin)
  plumb_small_frames(plumb_inject_objects)
  plumb_preloaded_library(plumb_malloc plumb-malloc $<TARGET_OBJECTS:plumb_inject_objects>)
endif()

# Counts calls of functions, loaded by LD_AUDIT: on x86-64, with glibc. It links nothing, and its code
# runs in calls of the program, whose arguments lie in vector registers (inject/count/bare.h).
set(PLUMB_HAVE_COUNT FALSE)
if(PLUMB_BUILD_KIND STREQUAL "plain" AND CMAKE_SIZEOF_VOID_P EQUAL 8
    AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(PLUMB_HAVE_COUNT TRUE)
  plumb_objects(plumb_count_objects ${PLUMB_COUNT_SOURCES})
  target_compile_options(plumb_count_objects PRIVATE -ffreestanding -mgeneral-regs-only
    -fno-stack-protector -fno-stack-clash-protection -U_FORTIFY_SOURCE)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # gcc would make calls of memset() and strlen() out of loops.
    target_compile_options(plumb_count_objects PRIVATE -fno-tree-loop-distribute-patterns)
  endif()
  plumb_preloaded_library(plumb_count plumb-count $<TARGET_OBJECTS:plumb_count_objects>)
  target_link_options(plumb_count PRIVATE -nostdlib)
  set_target_properties(plumb_count PROPERTIES LINK_LIBRARIES "")
endif()

# Makes spans of the calls of functions that a compiler has instrumented.
set(PLUMB_HAVE_CALLS FALSE)
if(PLUMB_BUILD_KIND STREQUAL "plain")
  set(PLUMB_HAVE_CALLS TRUE)
  plumb_objects(plumb_calls_objects ${PLUMB_CALLS_SOURCES})
  plumb_small_frames(plumb_calls_objects)
  plumb_preloaded_library(plumb_calls plumb-calls $<TARGET_OBJECTS:plumb_calls_objects>)
endif()

# Stands between a program and its OpenCL drivers. A client of libplumb, as a plug-in is. What knows
# neither of the two is tested without them.
set(opencl_decoder "${PROJECT_SOURCE_DIR}/src/collect/opencl/decode.c"
  "${PROJECT_SOURCE_DIR}/src/collect/opencl/anchors.c")
list(REMOVE_ITEM PLUMB_OPENCL_SOURCES ${opencl_decoder})
plumb_objects(plumb_opencl_decoder_objects ${opencl_decoder})
if(PLUMB_HAVE_OPENCL)
  set(map "${PROJECT_SOURCE_DIR}/cmake/libplumb-opencl.map")
  add_library(plumb_opencl MODULE
    ${PLUMB_OPENCL_SOURCES} $<TARGET_OBJECTS:plumb_opencl_decoder_objects>)
  target_include_directories(plumb_opencl PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_include_directories(plumb_opencl SYSTEM PRIVATE "${OPENCL_LAYER_INCLUDE_DIR}")
  # nodelete: the driver calls back, and the process calls at its exit.
  target_link_options(plumb_opencl PRIVATE "LINKER:--version-script=${map}" LINKER:-z,now
    LINKER:-z,nodelete)
  target_link_libraries(plumb_opencl PRIVATE plumb_flags Threads::Threads ${CMAKE_DL_LIBS})
  plumb_small_frames(plumb_opencl)
  set_target_properties(plumb_opencl PROPERTIES
    OUTPUT_NAME plumb-opencl
    LIBRARY_OUTPUT_DIRECTORY "${PLUMB_LIB_DIR}"
    C_VISIBILITY_PRESET hidden
    LINKER_LANGUAGE C
    LINK_DEPENDS "${map}")
endif()

# Stands between a program and oneDNN, of which it needs nothing to be built.
plumb_objects(plumb_onednn_objects ${PLUMB_ONEDNN_SOURCES})
plumb_small_frames(plumb_onednn_objects)
set(PLUMB_HAVE_ONEDNN FALSE)
if(PLUMB_BUILD_KIND STREQUAL "plain")
  set(PLUMB_HAVE_ONEDNN TRUE)
  plumb_preloaded_library(plumb_onednn plumb-onednn $<TARGET_OBJECTS:plumb_onednn_objects>)
endif()

set(testing_objects ${record_objects} $<TARGET_OBJECTS:plumb_opencl_decoder_objects>
  $<TARGET_OBJECTS:plumb_onednn_objects>)
if(PLUMB_HAVE_READ)
  plumb_objects(plumb_read_objects ${PLUMB_READ_SOURCES})
  # A client of the libplumb of its process, if there is one.
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/src/isolate/mark.c" APPEND PROPERTY
    COMPILE_OPTIONS -UPLUMB_DISABLE)
  target_link_libraries(plumb_read_objects PRIVATE PkgConfig::ZLIB)
  target_compile_definitions(plumb_read_objects PRIVATE
    "PLUMB_HAVE_NVTX=$<BOOL:${PLUMB_HAVE_NVTX}>")
  set(PLUMB_READ_NEEDS PkgConfig::ZLIB)
  set(PLUMB_PC_READ_NEEDS "zlib")
  if(PLUMB_HAVE_OTF2)
    list(APPEND PLUMB_READ_NEEDS PkgConfig::OTF2)
    string(APPEND PLUMB_PC_READ_NEEDS " otf2")
    target_link_libraries(plumb_read_objects PRIVATE PkgConfig::OTF2)
    target_compile_definitions(plumb_read_objects PRIVATE PLUMB_OTF2)
  endif()
  if(PLUMB_HAVE_HISTORY)
    list(APPEND PLUMB_READ_NEEDS PkgConfig::SQLITE PkgConfig::NETTLE)
    string(APPEND PLUMB_PC_READ_NEEDS " sqlite3 nettle")
    target_link_libraries(plumb_read_objects PRIVATE PkgConfig::SQLITE PkgConfig::NETTLE)
    target_compile_definitions(plumb_read_objects PRIVATE PLUMB_HISTORY)
  endif()
  set(read_objects
    $<TARGET_OBJECTS:plumb_common_objects> $<TARGET_OBJECTS:plumb_read_objects>)
  list(APPEND testing_objects $<TARGET_OBJECTS:plumb_read_objects>)

  plumb_shared_library(plumb_read_shared plumb-read ${read_objects})
  add_library(plumb::read ALIAS plumb_read_shared)
  target_link_libraries(plumb_read_shared PRIVATE
    ${PLUMB_READ_NEEDS} Threads::Threads ${CMAKE_DL_LIBS} m)

  plumb_static_library(plumb_read_static plumb-read ${read_objects})
  add_library(plumb::read_static ALIAS plumb_read_static)
  target_link_libraries(plumb_read_static INTERFACE
    z $<$<BOOL:${PLUMB_HAVE_OTF2}>:otf2> $<$<BOOL:${PLUMB_HAVE_HISTORY}>:sqlite3>
    $<$<BOOL:${PLUMB_HAVE_HISTORY}>:nettle> Threads::Threads ${CMAKE_DL_LIBS} m)
endif()

if(PLUMB_HAVE_TESTS)
  plumb_static_library(plumb_testing plumb_testing ${testing_objects})
  target_include_directories(plumb_testing INTERFACE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(plumb_testing INTERFACE PLUMB_LINKED)
  if(PLUMB_HAVE_HISTORY)
    target_compile_definitions(plumb_testing INTERFACE PLUMB_HISTORY)
  endif()
  target_link_libraries(plumb_testing INTERFACE
    ${PLUMB_READ_NEEDS} PkgConfig::JANSSON Threads::Threads ${CMAKE_DL_LIBS} m)
endif()
