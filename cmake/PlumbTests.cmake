# Tests find themselves: a file in one of the folders below is a test, and its first five lines say
# what is particular about it, in a comment:
#
#   link: testing | shared | static | none   what a C or C++ test links (default testing: every
#                                            internal symbol; shared, static: the public headers and
#                                            that libplumb; none: the public headers alone)
#   labels: a, b                             plain   preloads or audits: plain build only
#                                            serial  runs alone (it measures, or loads the machine)
#                                            notsan  not under ThreadSanitizer
#                                            traces  reads the outside trace collection
#                                            reference  reads the outside reference document
#                                            Any other label is refused.
#   timeout: 900                             seconds; 600 without it: a limit for what hangs, not for what is slow
#
# Every test runs through tests/run_test.sh: an empty folder of its own, no PLUMB_* from outside, and
# exit status 77 means skipped.

enable_testing()

set(PLUMB_TRACES_DIR "" CACHE PATH "Folder of outside traces that some tests read")
set(PLUMB_REFERENCE_FILE "" CACHE FILEPATH
  "The reference document of the systems that plumb succeeds, which some tests read")
set(PLUMB_TEST_LABELS plain serial notsan traces reference)
set(PLUMB_TEST_BIN_DIR "${PROJECT_BINARY_DIR}/tests/bin")
set(PLUMB_TEST_CLI "")
if(PLUMB_HAVE_READ)
  set(PLUMB_TEST_CLI "${PLUMB_BIN_DIR}/plumb")
endif()

function(plumb_test_declaration file key default result)
  file(STRINGS "${file}" lines LIMIT_COUNT 5)
  set(value "${default}")
  foreach(line IN LISTS lines)
    if(line MATCHES "(^|[ *#/])${key}: *([a-z0-9_, ]+)")
      string(STRIP "${CMAKE_MATCH_2}" value)
    endif()
  endforeach()
  set(${result} "${value}" PARENT_SCOPE)
endfunction()

# Sets the labels of a file, and whether it is a test of this build.
function(plumb_test_labels file labels_result runs_result)
  plumb_test_declaration("${file}" labels? "" labels)
  string(REGEX REPLACE "[, ]+" ";" labels "${labels}")
  foreach(label IN LISTS labels)
    if(NOT label IN_LIST PLUMB_TEST_LABELS)
      list(JOIN PLUMB_TEST_LABELS ", " known)
      message(FATAL_ERROR "${file}: '${label}' is not a label of tests: use ${known}")
    endif()
  endforeach()
  set(runs ON)
  if(("plain" IN_LIST labels AND NOT PLUMB_BUILD_KIND STREQUAL "plain") OR
      ("notsan" IN_LIST labels AND PLUMB_BUILD_KIND STREQUAL "tsan"))
    set(runs OFF)
  endif()
  set(${labels_result} "${labels}" PARENT_SCOPE)
  set(${runs_result} ${runs} PARENT_SCOPE)
endfunction()

# plumb_add_test(<name> <file with the declarations> <command>...)
function(plumb_add_test name file)
  plumb_test_labels("${file}" labels runs)
  plumb_test_declaration("${file}" timeout 600 timeout)
  file(READ "${file}" text)
  if(text MATCHES "LD_PRELOAD=|LD_AUDIT=" AND NOT "plain" IN_LIST labels)
    message(FATAL_ERROR "${file} preloads or audits: say 'labels: plain' in its first five lines")
  endif()
  if(NOT runs)
    return()
  endif()
  add_test(NAME "${name}" COMMAND
    "${PROJECT_BINARY_DIR}/run_test.sh" "${name}" "${labels}" ${ARGN})
  set_tests_properties("${name}" PROPERTIES
    LABELS "${labels}"
    TIMEOUT ${timeout}
    SKIP_RETURN_CODE 77)
  if("serial" IN_LIST labels)
    set_tests_properties("${name}" PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# plumb_test_program(<target result> <name> <link> <source>...): the program of a C or C++ test, which
# the first source's `link:` links, else <link>. The result is empty where it is not a test of this
# build.
function(plumb_test_program result name link)
  list(GET ARGN 0 main)
  cmake_path(ABSOLUTE_PATH main BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  set(${result} "" PARENT_SCOPE)
  plumb_test_labels("${main}" labels runs)
  if(NOT runs)
    return()
  endif()
  plumb_test_declaration("${main}" link ${link} link)
  string(REPLACE "." "_" target "test_${name}")
  plumb_program(${target} ${ARGN})
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/tests")
  target_include_directories(${target} SYSTEM PRIVATE "${DLPACK_INCLUDE_DIR}")
  # Under a sanitizer the libraries are optimised and the test itself is not: it then compiles in a
  # third of the time.
  if(PLUMB_SANITIZER_FLAGS)
    target_compile_options(${target} PRIVATE -O0)
  endif()
  target_compile_definitions(${target} PRIVATE
    TEST_PLUMB_BIN="${PLUMB_TEST_CLI}"
    TEST_PLUMB_LIB="${PLUMB_LIB_DIR}/libplumb.so"
    TEST_PLUMB_BUILD_DIR="${PROJECT_BINARY_DIR}"
    TEST_PLUMB_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    TEST_PLUMB_BUILD_KIND="${PLUMB_BUILD_KIND}")
  set(library_testing plumb_testing)
  set(library_shared plumb::plumb)
  set(library_static plumb::plumb_static)
  set(library_none plumb::header)
  if(NOT DEFINED library_${link})
    message(FATAL_ERROR "${main}: 'link: ${link}' must be testing, shared, static or none")
  endif()
  target_link_libraries(${target} PRIVATE ${library_${link}} Threads::Threads ${CMAKE_DL_LIBS} m)
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PLUMB_TEST_BIN_DIR}"
    OUTPUT_NAME ${name})
  set(${result} ${target} PARENT_SCOPE)
endfunction()

# plumb_test(<name> <source>...): a cmocka program. The first source carries the declarations.
function(plumb_test name)
  list(GET ARGN 0 main)
  plumb_test_program(target ${name} testing ${ARGN})
  if(target)
    target_link_libraries(${target} PRIVATE PkgConfig::CMOCKA PkgConfig::ZLIB)
    plumb_add_test(${name} "${main}" "$<TARGET_FILE:${target}>")
  endif()
endfunction()

# plumb_host_test(<name> <source>): a program that is hard on plumb. It knows the public headers alone
# and is run as tests/hosts/_run.sh says: without recording, with it, and with everything on.
function(plumb_host_test name source)
  plumb_test_program(target ${name} shared "${source}")
  if(target)
    add_dependencies(${target} plumb_host_plugin)
    target_compile_definitions(${target} PRIVATE TEST_HOST_PLUGIN="$<TARGET_FILE:plumb_host_plugin>")
    plumb_add_test(${name} "${source}"
      "${PROJECT_SOURCE_DIR}/tests/hosts/_run.sh" "$<TARGET_FILE:${target}>")
  endif()
endfunction()

# plumb_fuzz_target(<name> <source>): a program of libFuzzer under the fuzz preset, of AFL++ under afl,
# whose compiler puts its own driver where libFuzzer is asked for; everywhere else a test that replays
# tests/fuzz/corpus/<name>, where every input that once broke the parser stays.
function(plumb_fuzz_target name source)
  set(target "${name}_fuzz")
  set(corpus "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
  if(PLUMB_BUILD_KIND STREQUAL "fuzz")
    plumb_program(${target} "${source}")
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${target} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  else()
    plumb_program(${target} "${source}" "${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c")
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PLUMB_TEST_BIN_DIR}")
    plumb_add_test("fuzz.${name}" "${source}" "$<TARGET_FILE:${target}>" "${corpus}")
  endif()
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} PRIVATE plumb_testing PkgConfig::ZLIB)
endfunction()

# Names are paths: src/record/span/ring_test.c is record.span.ring, tests/rows/cv-13.sh is rows.cv-13,
# tests/abi/abi.sh is abi. A file whose name begins with an underscore helps its neighbours and is no
# test.
function(plumb_tests_of result)
  set(found "")
  foreach(pattern IN LISTS ARGN)
    file(GLOB files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
      "${PROJECT_SOURCE_DIR}/${pattern}")
    list(APPEND found ${files})
  endforeach()
  list(FILTER found EXCLUDE REGEX "(^|/)_[^/]*$")
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

function(plumb_test_name file result)
  string(REGEX REPLACE "^(src|tests)/" "" name "${file}")
  string(REGEX REPLACE "(_test)?\\.[a-z]+$" "" name "${name}")
  string(REPLACE "/" "." name "${name}")
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET folder FILENAME folder)
  if(name STREQUAL "${folder}.${folder}")
    set(name "${folder}")
  endif()
  set(${result} "${name}" PARENT_SCOPE)
endfunction()
