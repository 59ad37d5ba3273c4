# Gives the target pleat-flags, for all our own code, and PLEAT_NATIVE_FLAGS, for src/backends/native and widen.
include(CheckCCompilerFlag)

add_library(pleat-flags INTERFACE)
target_compile_definitions(pleat-flags INTERFACE _GNU_SOURCE)
target_compile_options(pleat-flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wno-missing-field-initializers) # rows of tables leave out what is zero
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # Messages and names are cut to their buffers on purpose, by snprintf.
  target_compile_options(pleat-flags INTERFACE -Wno-format-truncation)
elseif(CMAKE_C_COMPILER_ID MATCHES "Clang")
  # "omp simd" is a wish; under sanitizers and at -O1 clang warns that it was not granted.
  target_compile_options(pleat-flags INTERFACE -Wno-pass-failed)
endif()
if(PLEAT_WERROR)
  target_compile_options(pleat-flags INTERFACE -Werror)
endif()

if(PLEAT_SANITIZE)
  set(sanitize -fsanitize=${PLEAT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(pleat-flags INTERFACE ${sanitize})
  target_link_options(pleat-flags INTERFACE ${sanitize})
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # gcc takes the instrumentation's own branches for uses of uninitialised values.
    target_compile_options(pleat-flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

# gcc turns exp, log ... in loops into calls of libmvec by itself under -ffast-math; clang has to be told.
set(PLEAT_NATIVE_FLAGS "")
if(PLEAT_NATIVE)
  foreach(flag IN ITEMS -march=native -mprefer-vector-width=512 -ffast-math -fveclib=libmvec)
    string(MAKE_C_IDENTIFIER "PLEAT_HAS${flag}" known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
      list(APPEND PLEAT_NATIVE_FLAGS ${flag})
    endif()
  endforeach()
  if(PLEAT_HAS_fveclib_libmvec)
    find_library(MVEC_LIBRARY mvec)
    if(MVEC_LIBRARY)
      target_link_libraries(pleat-libraries INTERFACE ${MVEC_LIBRARY})
    else()
      list(REMOVE_ITEM PLEAT_NATIVE_FLAGS -fveclib=libmvec)
    endif()
  endif()
endif()
list(APPEND PLEAT_NATIVE_FLAGS $<$<CONFIG:Release>:-O3>)
