# Install: headers, libraries, command, the hooks for PyTorch, pkg-config files, CMake package; man pages,
# completions and pages are in docs/CMakeLists.txt. The target `product` builds what is installed.

include(CMakePackageConfigHelpers)
set(PLUMB_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/plumb")

# Other people's CMake sees plumb::plumb, plumb::plumb_static, plumb::header, plumb::read and
# plumb::read_static.
set(exported plumb_shared plumb_static plumb_header)
set_target_properties(plumb_shared PROPERTIES EXPORT_NAME plumb)
set_target_properties(plumb_static PROPERTIES EXPORT_NAME plumb_static)
set_target_properties(plumb_header PROPERTIES EXPORT_NAME header)
if(PLUMB_HAVE_READ)
  list(APPEND exported plumb_read_shared plumb_read_static)
  set_target_properties(plumb_read_shared PROPERTIES EXPORT_NAME read)
  set_target_properties(plumb_read_static PROPERTIES EXPORT_NAME read_static)
  install(TARGETS plumb_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/share/grafana" "${PROJECT_SOURCE_DIR}/share/prometheus"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/plumb")
  install(FILES "${PROJECT_SOURCE_DIR}/share/predecessors.tsv"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/plumb")
endif()
if(PLUMB_HAVE_SERVE)
  install(TARGETS plumb_serve RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(TARGETS ${exported} EXPORT plumbTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(PLUMB_HAVE_ONEDNN)
  install(TARGETS plumb_onednn LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(PLUMB_HAVE_MALLOC)
  install(TARGETS plumb_malloc LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(PLUMB_HAVE_CALLS)
  install(TARGETS plumb_calls LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(PLUMB_HAVE_COUNT)
  install(TARGETS plumb_count LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(PLUMB_HAVE_OPENCL)
  install(TARGETS plumb_opencl LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
add_custom_target(product DEPENDS ${exported})
if(PLUMB_HAVE_READ)
  add_dependencies(product plumb_cli)
endif()
if(PLUMB_HAVE_SERVE)
  add_dependencies(product plumb_serve)
endif()
if(PLUMB_HAVE_ONEDNN)
  add_dependencies(product plumb_onednn)
endif()
if(PLUMB_HAVE_MALLOC)
  add_dependencies(product plumb_malloc)
endif()
if(PLUMB_HAVE_CALLS)
  add_dependencies(product plumb_calls)
endif()
if(PLUMB_HAVE_COUNT)
  add_dependencies(product plumb_count)
endif()
if(PLUMB_HAVE_OPENCL)
  add_dependencies(product plumb_opencl)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/plumb"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

install(FILES "${PROJECT_SOURCE_DIR}/share/control.proto"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/plumb")
install(FILES "${PROJECT_SOURCE_DIR}/bindings/python/plumb_torch_activations.py"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/plumb")

install(EXPORT plumbTargets NAMESPACE plumb:: DESTINATION "${PLUMB_CMAKE_DIR}")
configure_package_config_file(cmake/plumbConfig.cmake.in
  "${PROJECT_BINARY_DIR}/cmake/plumbConfig.cmake"
  INSTALL_DESTINATION "${PLUMB_CMAKE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/plumbConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/cmake/plumbConfig.cmake"
  "${PROJECT_BINARY_DIR}/cmake/plumbConfigVersion.cmake"
  DESTINATION "${PLUMB_CMAKE_DIR}")

# `cmake --install --prefix` may move the tree, so the .pc files find their prefix from where they lie.
file(RELATIVE_PATH PLUMB_PC_TO_PREFIX
  "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
set(pkgconfig_files plumb)
if(PLUMB_HAVE_READ)
  list(APPEND pkgconfig_files plumb-read)
endif()
foreach(name IN LISTS pkgconfig_files)
  configure_file("cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/cmake/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/cmake/${name}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
