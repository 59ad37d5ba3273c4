# Finds what pleat stands on. Gives the target pleat-libraries (with the PLEAT_HAVE_* definitions) and
# PLEAT_ABSENT_BACKENDS, the folders of src/backends that are left out.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
find_program(PROTOC_C protoc-c REQUIRED)
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)
pkg_check_modules(CBC IMPORTED_TARGET cbc) # tests and bench alone: a yardstick of the search

add_library(pleat-libraries INTERFACE)
target_link_libraries(pleat-libraries INTERFACE
  Threads::Threads OpenMP::OpenMP_C PkgConfig::JANSSON PkgConfig::YAML PkgConfig::XXHASH
  PkgConfig::PROTOBUF_C PkgConfig::ZLIB PkgConfig::JPEG PkgConfig::PNG m ${CMAKE_DL_LIBS})
set(PLEAT_ABSENT_BACKENDS "")

if(HWLOC_FOUND)
  target_link_libraries(pleat-libraries INTERFACE PkgConfig::HWLOC)
  target_compile_definitions(pleat-libraries INTERFACE PLEAT_HAVE_HWLOC=1)
endif()

# Debian's dnnl-config.cmake asks for OpenCL development files, so the library is looked up by name.
if(PLEAT_ONEDNN)
  find_library(DNNL_LIBRARY dnnl)
  find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h)
endif()
if(PLEAT_ONEDNN AND DNNL_LIBRARY AND DNNL_INCLUDE_DIR)
  add_library(dnnl UNKNOWN IMPORTED)
  set_target_properties(dnnl PROPERTIES
    IMPORTED_LOCATION ${DNNL_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR})
  target_link_libraries(pleat-libraries INTERFACE dnnl)
  target_compile_definitions(pleat-libraries INTERFACE PLEAT_HAVE_ONEDNN=1)
else()
  message(STATUS "oneDNN: left out (option off, or libdnnl not found)")
  list(APPEND PLEAT_ABSENT_BACKENDS onednn)
endif()

if(PLEAT_MPI)
  find_package(MPI COMPONENTS C)
endif()
if(PLEAT_MPI AND MPI_C_FOUND)
  target_link_libraries(pleat-libraries INTERFACE MPI::MPI_C)
  target_compile_definitions(pleat-libraries INTERFACE PLEAT_HAVE_MPI=1)
else()
  message(STATUS "MPI: left out (option off, or not found)")
  list(APPEND PLEAT_ABSENT_BACKENDS mpi)
endif()
