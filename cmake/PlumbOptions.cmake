# The options of the build, and the table at the end of the configure step that lists the choices.
#
# An optional part is three-state: `auto` builds it when its needs are there, `on` makes a missing
# need an error, `off` leaves it out. No part is ever left out silently: each one ends in the table.

set(PLUMB_SANITIZE "" CACHE STRING "Sanitizer: empty, address (with undefined), thread, fuzzer or afl")
set_property(CACHE PLUMB_SANITIZE PROPERTY STRINGS "" address thread fuzzer afl)
option(PLUMB_WERROR "Make warnings errors; for plumb's own developers, not for packagers" OFF)
option(PLUMB_WERROR_FRAMES "Make a stack frame beyond 2 KiB in code of host threads an error" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

function(plumb_option name default help)
  set(${name} "${default}" CACHE STRING "${help} (auto, on or off)")
  set_property(CACHE ${name} PROPERTY STRINGS auto on off)
  string(TOLOWER "${${name}}" value)
  if(value MATCHES "^(on|true|yes|1)$")
    set(value on)
  elseif(value MATCHES "^(off|false|no|0)$")
    set(value off)
  elseif(NOT value STREQUAL "auto")
    message(FATAL_ERROR "${name} is '${${name}}': it must be auto, on or off")
  endif()
  set(${name} ${value} PARENT_SCOPE)
endfunction()

# plumb_feature(<option> <result> <title> [<reason> <met>]...): each need is a sentence that says what
# is missing and how to get it, and the name of a variable that is true when it is met.
function(plumb_feature option result title)
  set(needs ${ARGN})
  set(missing "")
  while(needs)
    list(POP_FRONT needs reason met)
    if(NOT ${met})
      list(APPEND missing "${reason}")
    endif()
  endwhile()
  list(JOIN missing ", " missing)
  if(${option} STREQUAL "off")
    set(state off)
    set(why "${option}=off")
  elseif(missing STREQUAL "")
    set(state on)
    set(why "")
  elseif(${option} STREQUAL "on")
    message(FATAL_ERROR "${title}: ${missing}. Install it (tools/deps.sh does), or set ${option}=off")
  else()
    set(state off)
    set(why "${missing}")
  endif()
  set(bool_on TRUE)
  set(bool_off FALSE)
  set(${result} ${bool_${state}} PARENT_SCOPE)
  set_property(GLOBAL APPEND PROPERTY PLUMB_FEATURES "${title}|${state}|${why}")
endfunction()

function(plumb_pad out text width)
  string(LENGTH "${text}" length)
  if(length LESS width)
    math(EXPR fill "${width} - ${length}")
    string(REPEAT " " ${fill} fill)
    string(APPEND text "${fill}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(plumb_feature_summary)
  message(STATUS "plumb ${PROJECT_VERSION}, ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}, "
    "${CMAKE_BUILD_TYPE}, sanitizer: ${PLUMB_SANITIZER_TITLE}")
  get_property(features GLOBAL PROPERTY PLUMB_FEATURES)
  foreach(feature IN LISTS features)
    string(REPLACE "|" ";" feature "${feature}")
    list(GET feature 0 title)
    list(GET feature 1 state)
    list(GET feature 2 why)
    plumb_pad(title "${title}" 34)
    plumb_pad(state "${state}" 4)
    string(STRIP "  ${title} ${state} ${why}" line)
    message(STATUS "  ${line}")
  endforeach()
endfunction()

plumb_option(PLUMB_READ on "libplumb-read and the plumb command; needs zlib")
plumb_option(PLUMB_NVTX auto "NVTX ranges (PLUMB_NVTX=1); need the nvtx3 headers")
plumb_option(PLUMB_OPENCL auto "OpenCL layer (plumb record --collect opencl); needs the OpenCL headers")
plumb_option(PLUMB_OTF2 auto "Export to OTF2; needs libotf2")
plumb_option(PLUMB_HISTORY auto "plumb history; needs SQLite and Nettle")
plumb_option(PLUMB_TOP auto "Screen of plumb top; needs ncurses (wide characters)")
plumb_option(PLUMB_DW auto "plumb record --calls; needs libdw of elfutils")
plumb_option(PLUMB_SERVE auto "plumb serve; needs libplumb-read")
plumb_option(PLUMB_SERVE_GRPC auto "gRPC in plumb serve; needs gRPC and protobuf-c")
plumb_option(PLUMB_SERVE_HTTP auto "HTTP in plumb serve: metrics; needs libmicrohttpd, GnuTLS")
plumb_option(PLUMB_SERVE_OTLP auto "OpenTelemetry in plumb serve; needs libcurl")
plumb_option(PLUMB_EXAMPLES auto
  "Example pipelines; text_to_video and video_nodes need oneDNN and libav, opencl_blur OpenCL too, audio_filter_chain libsndfile")
plumb_option(PLUMB_BENCH auto "Benchmarks")
plumb_option(PLUMB_BENCH_LTTNG auto "LTTng-UST as a peer in the benchmarks")
plumb_option(PLUMB_BENCH_UFTRACE auto "uftrace as a peer in the benchmarks")
plumb_option(PLUMB_TESTS auto "Tests; need cmocka, jansson, DLPack and a C++ compiler")

find_package(Threads REQUIRED)
find_package(PkgConfig)

function(plumb_pkg prefix)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${ARGN})
  endif()
  set(${prefix}_FOUND "${${prefix}_FOUND}" PARENT_SCOPE)
endfunction()

plumb_pkg(JANSSON jansson)
plumb_pkg(ZLIB zlib)
plumb_feature(PLUMB_READ PLUMB_HAVE_READ "libplumb-read, plumb command"
  "no zlib (zlib1g-dev)" ZLIB_FOUND)

# Headers alone: they open the library of whichever tool is there, so nothing is linked.
find_path(NVTX3_INCLUDE_DIR nvtx3/nvToolsExt.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda /opt/cuda PATH_SUFFIXES include)
mark_as_advanced(NVTX3_INCLUDE_DIR)
plumb_feature(PLUMB_NVTX PLUMB_HAVE_NVTX "NVTX ranges"
  "no nvtx3 headers (of the CUDA toolkit, or -DNVTX3_INCLUDE_DIR=)" NVTX3_INCLUDE_DIR)
# Headers alone: the loader of OpenCL loads the layer, which is given the functions that it calls. The
# programs that use OpenCL (an example, tests, a benchmark) link the loader.
find_path(OPENCL_LAYER_INCLUDE_DIR CL/cl_layer.h)
mark_as_advanced(OPENCL_LAYER_INCLUDE_DIR)
plumb_feature(PLUMB_OPENCL PLUMB_HAVE_OPENCL "OpenCL layer"
  "no OpenCL headers with CL/cl_layer.h (opencl-c-headers)" OPENCL_LAYER_INCLUDE_DIR)
plumb_pkg(OPENCL OpenCL)
plumb_pkg(OTF2 otf2)
plumb_feature(PLUMB_OTF2 PLUMB_HAVE_OTF2 "export to OTF2"
  "no libplumb-read" PLUMB_HAVE_READ
  "no libotf2 (libotf2-trace-dev)" OTF2_FOUND)

plumb_pkg(SQLITE sqlite3)
plumb_pkg(NETTLE nettle)
plumb_feature(PLUMB_HISTORY PLUMB_HAVE_HISTORY "plumb history"
  "no libplumb-read" PLUMB_HAVE_READ
  "no SQLite (libsqlite3-dev)" SQLITE_FOUND
  "no Nettle (nettle-dev)" NETTLE_FOUND)
plumb_pkg(NCURSESW ncursesw)
plumb_feature(PLUMB_TOP PLUMB_HAVE_TOP "plumb top: screen"
  "no plumb command" PLUMB_HAVE_READ
  "no ncurses (libncurses-dev)" NCURSESW_FOUND)
plumb_pkg(DW libdw)
plumb_feature(PLUMB_DW PLUMB_HAVE_DW "plumb record --calls"
  "no plumb command" PLUMB_HAVE_READ
  "no libdw (libdw-dev)" DW_FOUND)

plumb_feature(PLUMB_SERVE PLUMB_HAVE_SERVE "plumb serve"
  "no libplumb-read" PLUMB_HAVE_READ)
# gRPC's own list of libraries for the linker has seventy names; a program that calls the C core needs
# two of them.
plumb_pkg(GRPC grpc)
plumb_pkg(PROTOBUF_C libprotobuf-c)
find_program(PROTOC_C_PROGRAM protoc-c)
find_program(PROTOC_PROGRAM protoc)
mark_as_advanced(PROTOC_C_PROGRAM PROTOC_PROGRAM)
plumb_feature(PLUMB_SERVE_GRPC PLUMB_HAVE_SERVE_GRPC "plumb serve: gRPC"
  "no plumb serve" PLUMB_HAVE_SERVE
  "no gRPC (libgrpc-dev)" GRPC_FOUND
  "no protobuf-c (libprotobuf-c-dev)" PROTOBUF_C_FOUND
  "no protoc-c (protobuf-c-compiler)" PROTOC_C_PROGRAM
  "no protoc (protobuf-compiler)" PROTOC_PROGRAM)
plumb_pkg(MICROHTTPD libmicrohttpd)
plumb_pkg(GNUTLS gnutls)
plumb_feature(PLUMB_SERVE_HTTP PLUMB_HAVE_SERVE_HTTP "plumb serve: HTTP"
  "no plumb serve" PLUMB_HAVE_SERVE
  "no libmicrohttpd (libmicrohttpd-dev)" MICROHTTPD_FOUND
  "no GnuTLS (libgnutls28-dev)" GNUTLS_FOUND)
plumb_pkg(CURL libcurl)
plumb_feature(PLUMB_SERVE_OTLP PLUMB_HAVE_SERVE_OTLP "plumb serve: OTLP"
  "no plumb serve" PLUMB_HAVE_SERVE
  "no libcurl (libcurl4-openssl-dev)" CURL_FOUND)

# The CMake package of Debian's oneDNN wants OpenCL, which its CPU engine does not need: look for the
# library itself.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h)
find_library(DNNL_LIBRARY dnnl)
mark_as_advanced(DNNL_INCLUDE_DIR DNNL_LIBRARY)
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
  set(DNNL_FOUND TRUE)
  add_library(plumb_dep_dnnl INTERFACE)
  target_include_directories(plumb_dep_dnnl SYSTEM INTERFACE "${DNNL_INCLUDE_DIR}")
  target_link_libraries(plumb_dep_dnnl INTERFACE "${DNNL_LIBRARY}")
endif()
find_path(DLPACK_INCLUDE_DIR dlpack/dlpack.h)
mark_as_advanced(DLPACK_INCLUDE_DIR)
plumb_pkg(LIBAV libavcodec libavformat libavutil libswscale)
plumb_feature(PLUMB_EXAMPLES PLUMB_HAVE_EXAMPLES "examples")
plumb_feature(PLUMB_EXAMPLES PLUMB_HAVE_TEXT_TO_VIDEO "examples text_to_video, video_nodes"
  "no oneDNN (libdnnl-dev)" DNNL_FOUND
  "no DLPack (libdlpack-dev)" DLPACK_INCLUDE_DIR
  "no libav (libavcodec-dev libavformat-dev libavutil-dev libswscale-dev)" LIBAV_FOUND)

plumb_pkg(SNDFILE sndfile)
plumb_feature(PLUMB_EXAMPLES PLUMB_HAVE_AUDIO_FILTER_CHAIN "example audio_filter_chain"
  "no DLPack (libdlpack-dev)" DLPACK_INCLUDE_DIR
  "no libsndfile (libsndfile1-dev)" SNDFILE_FOUND)

plumb_feature(PLUMB_EXAMPLES PLUMB_HAVE_OPENCL_BLUR "example opencl_blur"
  "no OpenCL loader (ocl-icd-opencl-dev)" OPENCL_FOUND
  "no example text_to_video" PLUMB_HAVE_TEXT_TO_VIDEO)

plumb_feature(PLUMB_BENCH PLUMB_HAVE_BENCH "benchmarks")
plumb_pkg(LTTNG_UST lttng-ust)
find_program(LTTNG_PROGRAM lttng)
mark_as_advanced(LTTNG_PROGRAM)
plumb_feature(PLUMB_BENCH_LTTNG PLUMB_HAVE_LTTNG "benchmark peer: LTTng-UST"
  "benchmarks are off" PLUMB_HAVE_BENCH
  "no lttng-ust (liblttng-ust-dev)" LTTNG_UST_FOUND
  "no lttng command (lttng-tools)" LTTNG_PROGRAM)
find_program(UFTRACE_PROGRAM uftrace)
mark_as_advanced(UFTRACE_PROGRAM)
plumb_feature(PLUMB_BENCH_UFTRACE PLUMB_HAVE_UFTRACE "benchmark peer: uftrace"
  "benchmarks are off" PLUMB_HAVE_BENCH
  "no uftrace (uftrace)" UFTRACE_PROGRAM)

include(CheckLanguage)
check_language(CXX)
plumb_pkg(CMOCKA cmocka)
plumb_feature(PLUMB_TESTS PLUMB_HAVE_TESTS "tests"
  "no cmocka (libcmocka-dev)" CMOCKA_FOUND
  "no jansson (libjansson-dev)" JANSSON_FOUND
  "no zlib (zlib1g-dev)" ZLIB_FOUND
  "no DLPack (libdlpack-dev)" DLPACK_INCLUDE_DIR
  "no C++ compiler (g++)" CMAKE_CXX_COMPILER
  "plumb is part of another project" PROJECT_IS_TOP_LEVEL)
if(PLUMB_HAVE_TESTS)
  enable_language(CXX)
endif()
