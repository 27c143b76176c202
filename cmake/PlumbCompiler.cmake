# Language, warnings, sanitizers and per-file instruction sets: the interface target `plumb_flags`,
# which every target of ours links privately and nothing installs.

add_library(plumb_flags INTERFACE)
target_compile_definitions(plumb_flags INTERFACE _GNU_SOURCE)
target_compile_options(plumb_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
if(PLUMB_WERROR)
  target_compile_options(plumb_flags INTERFACE -Werror)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 11)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# No recovery: a report must end the test that made it.
if(PLUMB_SANITIZE STREQUAL "")
  set(PLUMB_SANITIZER_TITLE "none")
  set(PLUMB_BUILD_KIND plain)
  set(PLUMB_SANITIZER_FLAGS "")
elseif(PLUMB_SANITIZE STREQUAL "address")
  set(PLUMB_SANITIZER_TITLE "address, undefined")
  set(PLUMB_BUILD_KIND asan)
  set(PLUMB_SANITIZER_FLAGS -fsanitize=address,undefined)
elseif(PLUMB_SANITIZE STREQUAL "thread")
  set(PLUMB_SANITIZER_TITLE "thread")
  set(PLUMB_BUILD_KIND tsan)
  set(PLUMB_SANITIZER_FLAGS -fsanitize=thread)
elseif(PLUMB_SANITIZE STREQUAL "fuzzer")
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "PLUMB_SANITIZE=fuzzer needs clang (the fuzz preset sets clang-14)")
  endif()
  set(PLUMB_SANITIZER_TITLE "fuzzer, address, undefined")
  set(PLUMB_BUILD_KIND fuzz)
  set(PLUMB_SANITIZER_FLAGS -fsanitize=fuzzer-no-link,address,undefined)
elseif(PLUMB_SANITIZE STREQUAL "afl")
  if(NOT CMAKE_C_COMPILER MATCHES "afl-clang-fast")
    message(FATAL_ERROR "PLUMB_SANITIZE=afl needs afl-clang-fast of AFL++ (the afl preset sets it)")
  endif()
  # The compiler of AFL++ instruments by itself, and leaves out an option that begins with
  # -fsanitize=fuzzer-, whatever else it asks for.
  set(PLUMB_SANITIZER_TITLE "AFL++, address, undefined")
  set(PLUMB_BUILD_KIND fuzz)
  set(PLUMB_SANITIZER_FLAGS -fsanitize=address,undefined)
else()
  message(FATAL_ERROR "PLUMB_SANITIZE is '${PLUMB_SANITIZE}': "
    "it must be empty, address, thread, fuzzer or afl")
endif()
if(PLUMB_SANITIZER_FLAGS)
  target_compile_options(plumb_flags INTERFACE
    ${PLUMB_SANITIZER_FLAGS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(plumb_flags INTERFACE ${PLUMB_SANITIZER_FLAGS})
  # ThreadSanitizer does not model fences, and gcc warns at each: what it would report because of one
  # is silenced where it is, with the reason.
  if(PLUMB_SANITIZE STREQUAL "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(plumb_flags INTERFACE -Wno-tsan)
  endif()
endif()

# At -O3 gcc 12 takes strcmp(name, literal or text) for one with the literal, if the loop around it is unrolled, so that
# a shorter text equals nothing. The optimization that does it gains nothing here.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(plumb_flags INTERFACE $<$<CONFIG:Release>:-fno-optimize-strlen>)
endif()

# The name of a file says for which instruction set it is written; the caller checks the CPU at run
# time. Files of another architecture are dropped from the list.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(PLUMB_ISA_FOREIGN "_neon\\.c$")
else()
  set(PLUMB_ISA_FOREIGN "_(x86_64|avx2|avx512|avx512bf16|avx512fp16|amx)\\.c$")
endif()

function(plumb_isa_sources list)
  set(sources ${${list}})
  list(FILTER sources EXCLUDE REGEX "${PLUMB_ISA_FOREIGN}")
  foreach(source IN LISTS sources)
    if(source MATCHES "_avx2\\.c$")
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS -mavx2 -mfma -mf16c)
    elseif(source MATCHES "_avx512\\.c$")
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS
        -mavx512f -mavx512bw -mavx512vl -mavx512dq)
    elseif(source MATCHES "_avx512bf16\\.c$")
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS
        -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512bf16)
    elseif(source MATCHES "_avx512fp16\\.c$")
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS
        -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512fp16)
    elseif(source MATCHES "_amx\\.c$")
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS
        -mamx-tile -mamx-bf16 -mamx-int8)
    endif()
  endforeach()
  set(${list} "${sources}" PARENT_SCOPE)
endfunction()
