# One ctest per test/<folder>/test_<noun>.c (cmocka) and test_<noun>.sh (bash), labelled <folder>.
# Each runs in a directory of its own, with PLEAT_SOURCE_DIR and PLEAT_BIN in its environment.
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
if(NOT CMOCKA_FOUND)
  message(STATUS "cmocka: not found, so the tests written in C are left out")
endif()

set(test_environment
  PLEAT_SOURCE_DIR=${PROJECT_SOURCE_DIR}
  PLEAT_BIN=${PROJECT_BINARY_DIR}/pleat
  # Open MPI refuses root and more ranks than cores unless it is told.
  OMPI_ALLOW_RUN_AS_ROOT=1
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_rmaps_base_oversubscribe=1
  OMPI_MCA_mpi_yield_when_idle=1
  # Tests run side by side: OpenMP's threads that spin for each other would take the cores of others.
  OMP_WAIT_POLICY=passive
  # As the command does (keep_memory() in src/cli/main.c): freed memory is kept for the next case.
  MALLOC_TRIM_THRESHOLD_=268435456
  MALLOC_MMAP_THRESHOLD_=33554432)
if(PLEAT_SANITIZE)
  list(APPEND test_environment PLEAT_SANITIZE=${PLEAT_SANITIZE})
endif()
if(PLEAT_SANITIZE MATCHES "address")
  list(APPEND test_environment LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp)
endif()
if(PLEAT_SANITIZE MATCHES "thread")
  # Archer tells ThreadSanitizer what LLVM's OpenMP runtime synchronises; without it, and without
  # ignoring libraries that are not instrumented, races of ours go unseen among false ones.
  get_filename_component(omp_dir "${OpenMP_omp_LIBRARY}" DIRECTORY)
  file(GLOB omp_dirs /usr/lib/llvm-*/lib)
  find_library(ARCHER_LIBRARY archer HINTS ${omp_dir} ${omp_dirs})
  if(ARCHER_LIBRARY)
    list(APPEND test_environment OMP_TOOL_LIBRARIES=${ARCHER_LIBRARY})
  else()
    message(WARNING "libarcher not found: races inside OpenMP regions will be misreported")
  endif()
  list(APPEND test_environment
    TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1:second_deadlock_stack=1
    OMP_NUM_THREADS=2)
endif()

# A test whose path names an absent backend (backends/mpi/..., test_mpi.sh) is left out with it.
function(is_wanted test folder name wanted)
  set(${wanted} TRUE PARENT_SCOPE)
  if(PLEAT_TEST_ONLY AND NOT folder IN_LIST PLEAT_TEST_ONLY AND NOT name IN_LIST PLEAT_TEST_ONLY)
    set(${wanted} FALSE PARENT_SCOPE)
  endif()
  foreach(backend IN LISTS PLEAT_ABSENT_BACKENDS)
    if(test MATCHES "[/_]${backend}[/_.]")
      set(${wanted} FALSE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

file(GLOB_RECURSE tests CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/test
  test/test_*.c test/test_*.sh)
foreach(test IN LISTS tests)
  string(REGEX REPLACE "/.*" "" folder ${test})
  cmake_path(GET test PARENT_PATH parent)
  cmake_path(GET test STEM stem)
  string(REPLACE "test_" "" noun ${stem})
  set(name ${parent}/${noun})
  is_wanted(${test} ${folder} ${name} wanted)
  if(NOT wanted)
    continue()
  endif()
  if(test MATCHES "[.]sh$")
    set(name ${name}.sh) # a C test of the same noun may stand beside it
    add_test(NAME ${name} COMMAND bash ${PROJECT_SOURCE_DIR}/test/${test})
  elseif(CMOCKA_FOUND)
    string(REPLACE "/" "-" target test-${name})
    add_executable(${target} test/${test})
    target_link_libraries(${target} PRIVATE pleat-lib PkgConfig::CMOCKA)
    target_include_directories(${target} PRIVATE test)
    set_target_properties(${target} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/${parent}
      OUTPUT_NAME ${stem})
    add_test(NAME ${name} COMMAND ${target})
  else()
    continue()
  endif()
  set(work_dir ${PROJECT_BINARY_DIR}/test/work/${name})
  file(MAKE_DIRECTORY ${work_dir})
  set(cost 0)
  # Long, and last by their names: these begin first, so that no core is idle at the end.
  if(folder MATCHES "^(train|verify)$" OR name MATCHES "^planners/(find|stages)$")
    set(cost 1)
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS ${folder}
    COST ${cost}
    TIMEOUT 300
    SKIP_RETURN_CODE 77
    WORKING_DIRECTORY ${work_dir}
    ENVIRONMENT "${test_environment}")
endforeach()
if(TARGET test-plan-ilp AND CBC_FOUND)
  target_link_libraries(test-plan-ilp PRIVATE PkgConfig::CBC)
  target_compile_definitions(test-plan-ilp PRIVATE PLEAT_HAVE_CBC=1)
endif()
