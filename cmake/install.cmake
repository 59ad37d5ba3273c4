# What `cmake --install` puts in place: the command with its manual and completions, the header, the
# library in both kinds, and what pkg-config and CMake find it by.
include(CMakePackageConfigHelpers)

add_library(pleat-shared SHARED)
target_link_libraries(pleat-shared PRIVATE pleat-objects)
set_target_properties(pleat-shared PROPERTIES
  OUTPUT_NAME pleat EXPORT_NAME pleat LINKER_LANGUAGE C
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_include_directories(pleat-shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS pleat-shared EXPORT pleatTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS pleat-lib ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/pleat.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(config ${PROJECT_BINARY_DIR}/pleatConfig.cmake)
set(config_version ${PROJECT_BINARY_DIR}/pleatConfigVersion.cmake)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/pleat)
configure_package_config_file(cmake/pleatConfig.cmake.in ${config} INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${config_version} COMPATIBILITY SameMinorVersion)
install(FILES ${config} ${config_version} DESTINATION ${config_folder})
install(EXPORT pleatTargets NAMESPACE pleat:: DESTINATION ${config_folder})

# What a program needs besides that links the archive (pkg-config --static).
# Not by "Requires.private": that asks for archives of all that these libraries stand on.
set(PLEAT_PC_LIBS "-ljansson -lyaml -lxxhash -lprotobuf-c -lz -ljpeg -lpng -lm -lpthread ${OpenMP_C_FLAGS}")
if(HWLOC_FOUND)
  string(APPEND PLEAT_PC_LIBS " -lhwloc")
endif()
if(TARGET dnnl)
  string(APPEND PLEAT_PC_LIBS " -ldnnl")
endif()
if(TARGET MPI::MPI_C)
  list(JOIN MPI_C_LIBRARIES " " mpi_libraries)
  string(APPEND PLEAT_PC_LIBS " ${mpi_libraries}")
endif()
if(MVEC_LIBRARY)
  string(APPEND PLEAT_PC_LIBS " -lmvec")
endif()
file(RELATIVE_PATH PLEAT_PC_INCLUDE /${CMAKE_INSTALL_LIBDIR} /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(cmake/pleat.pc.in ${PROJECT_BINARY_DIR}/pleat.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pleat.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The manual page and what bash completes by: the command writes them from its tables.
add_custom_command(
  OUTPUT ${PROJECT_BINARY_DIR}/pleat.1 ${PROJECT_BINARY_DIR}/pleat.bash
  COMMAND pleat help --man > ${PROJECT_BINARY_DIR}/pleat.1
  COMMAND pleat help --bash > ${PROJECT_BINARY_DIR}/pleat.bash
  DEPENDS pleat
  COMMENT "Writing the manual"
  VERBATIM)
add_custom_target(manual ALL DEPENDS ${PROJECT_BINARY_DIR}/pleat.1 ${PROJECT_BINARY_DIR}/pleat.bash)
install(TARGETS pleat RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_BINARY_DIR}/pleat.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_BINARY_DIR}/pleat.bash RENAME pleat
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
