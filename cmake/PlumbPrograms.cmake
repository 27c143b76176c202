# The plumb command, the services, and the folders whose owners describe them themselves: examples, bench, docs, tests.

if(PLUMB_HAVE_READ)
  file(GLOB cli_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cli/*.c")
  list(FILTER cli_sources EXCLUDE REGEX "_test\\.c$")
  plumb_program(plumb_cli ${cli_sources})
  target_link_libraries(plumb_cli PRIVATE plumb::read ${CMAKE_DL_LIBS})
  if(PLUMB_HAVE_DW)
    target_link_libraries(plumb_cli PRIVATE PkgConfig::DW)
  endif()
  if(PLUMB_HAVE_TOP)
    target_link_libraries(plumb_cli PRIVATE PkgConfig::NCURSESW)
  endif()
  # PLUMB_DISABLE: the command uses the types of the headers and does not look for a runtime.
  # The process in which plumb bench runs a stage records it.
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/cli/bench_alone.c" APPEND PROPERTY
    COMPILE_OPTIONS -UPLUMB_DISABLE)
  target_compile_definitions(plumb_cli PRIVATE PLUMB_DISABLE
    "PLUMB_HAVE_DW=$<BOOL:${PLUMB_HAVE_DW}>"
    "PLUMB_HAVE_TOP=$<BOOL:${PLUMB_HAVE_TOP}>"
    "PLUMB_HAVE_SERVE=$<BOOL:${PLUMB_HAVE_SERVE}>"
    PLUMB_BIN_TO_LIB="${PLUMB_BIN_TO_LIB}" PLUMB_BIN_TO_DATA="${PLUMB_BIN_TO_DATA}")
  configure_file("${PROJECT_SOURCE_DIR}/share/predecessors.tsv"
    "${PLUMB_DATA_DIR}/predecessors.tsv" COPYONLY)
  set_target_properties(plumb_cli PROPERTIES
    OUTPUT_NAME plumb
    RUNTIME_OUTPUT_DIRECTORY "${PLUMB_BIN_DIR}"
    INSTALL_RPATH "$ORIGIN/${PLUMB_BIN_TO_LIB}")
endif()

if(PLUMB_HAVE_SERVE)
  add_subdirectory(services/plumb-serve)
endif()

if(PLUMB_HAVE_EXAMPLES)
  file(GLOB examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*/CMakeLists.txt")
  foreach(example IN LISTS examples)
    cmake_path(GET example PARENT_PATH folder)
    add_subdirectory("${folder}")
  endforeach()
endif()

if(PLUMB_HAVE_BENCH AND EXISTS "${PROJECT_SOURCE_DIR}/bench/CMakeLists.txt")
  add_subdirectory(bench)
endif()
if(EXISTS "${PROJECT_SOURCE_DIR}/docs/CMakeLists.txt")
  add_subdirectory(docs)
endif()
if(PLUMB_HAVE_TESTS)
  add_subdirectory(tests)
endif()
