# Kokkos: the target Kokkos::kokkos of the project that contains Mylos, else an installed package, else what scripts/setup built.
# A program has one Kokkos: none is added beside the project's.
#
# Sets Kokkos_VERSION and Kokkos_ENABLE_<BACKEND> where the project has the target alone, mylos_kokkos_prefix (the folder of
# scripts/setup; empty with a project's Kokkos), Mylos_HAVE_CUDA, ..._HIP, ..._SYCL, Mylos_HAVE_DEVICE, Mylos_VENDOR,
# mylos_is_for_this_machine and, for MylosConfig.cmake, Mylos_KOKKOS_VERSION and Mylos_KOKKOS_DEFINITIONS.
include(MylosReadKokkos)

set(mylos_kokkos_backend openmp)
if(Mylos_ENABLE_THREAD_SANITIZER AND Mylos_EMULATE_DEVICE)
  set(mylos_kokkos_backend threads)
elseif(Mylos_ENABLE_FUZZING OR Mylos_ENABLE_THREAD_SANITIZER)
  set(mylos_kokkos_backend serial)
elseif(Mylos_ENABLE_CUDA STREQUAL "ON")
  set(mylos_kokkos_backend cuda ${Mylos_CUDA_ARCH})
elseif(Mylos_ENABLE_HIP STREQUAL "ON")
  set(mylos_kokkos_backend hip ${Mylos_HIP_ARCH})
endif()

# Finds a package, scripts/kokkos-prefix naming the folder for this compiler, backend and processor, here as in scripts/setup.
macro(mylos_find_kokkos)
  if(mylos_kokkos_backend MATCHES "^cuda")
    find_program(mylos_nvcc nvcc HINTS "$ENV{CUDA_HOME}" /usr/local/cuda PATH_SUFFIXES bin NO_CACHE)
    if(mylos_nvcc)
      execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/cuda-architecture" "${mylos_nvcc}" "${Mylos_CUDA_ARCH}"
                      ERROR_VARIABLE mylos_refusal ERROR_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE mylos_is_refused)
      if(mylos_is_refused)
        message(FATAL_ERROR "Mylos_CUDA_ARCH: ${mylos_refusal}")
      endif()
    endif()
  endif()
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/kokkos-prefix" --arch=${Mylos_HOST_ARCH}
                          "${CMAKE_CXX_COMPILER}" ${mylos_kokkos_backend}
                  OUTPUT_VARIABLE mylos_kokkos_prefix OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT mylos_in_project AND NOT mylos_kokkos_prefix STREQUAL "${Mylos_KOKKOS_PREFIX}")
    if(DEFINED Mylos_KOKKOS_PREFIX)
      unset(Kokkos_DIR CACHE)  # found for another compiler, backend or processor
    endif()
    set(Mylos_KOKKOS_PREFIX "${mylos_kokkos_prefix}" CACHE INTERNAL "What Kokkos_DIR was found for")
  endif()
  set(Kokkos_LAUNCH_COMPILER OFF)  # ours, in MylosDependencies.cmake
  find_package(Kokkos 5.0 QUIET PATHS "${mylos_kokkos_prefix}")
  if(NOT Kokkos_FOUND)
    set(mylos_refusal "")
    if(Kokkos_CONSIDERED_VERSIONS)
      set(mylos_refusal " (found: ${Kokkos_CONSIDERED_VERSIONS}, in ${Kokkos_CONSIDERED_CONFIGS})")
    endif()
    message(FATAL_ERROR "Kokkos 5 was not found, neither as a package${mylos_refusal} nor at ${mylos_kokkos_prefix}.\n"
                        "Run scripts/setup (scripts/setup --cuda for the preset cuda, --hip for hip; with --arch=${Mylos_HOST_ARCH} "
                        "where that is not NATIVE), or give its folder in CMAKE_PREFIX_PATH.")
  endif()
endmacro()

set(mylos_kokkos_is_of_project OFF)
set(mylos_kokkos_prefix "")
set(mylos_kokkos_cure "Run scripts/setup, or point CMAKE_PREFIX_PATH at a Kokkos")
if(TARGET Kokkos::kokkos)
  set(mylos_kokkos_is_of_project ON)
  set(mylos_kokkos_cure "Give the project a Kokkos")
else()
  mylos_find_kokkos()
endif()
mylos_read_kokkos(mylos_kokkos)
set(mylos_kokkos_place "the Kokkos in ${Kokkos_DIR}")
if(mylos_kokkos_is_of_project)
  if(NOT mylos_kokkos_HEADER)
    message(FATAL_ERROR "The project's target Kokkos::kokkos names no folder with KokkosCore_config.h. Make the target by "
                        "find_package(Kokkos) or by add_subdirectory(kokkos), before Mylos is added.")
  endif()
  set(mylos_kokkos_place "the project's Kokkos ${mylos_kokkos_VERSION} (${mylos_kokkos_HEADER})")
  if(mylos_kokkos_VERSION VERSION_LESS 5.0)
    message(FATAL_ERROR "Mylos needs Kokkos 5.0 or later; too old is ${mylos_kokkos_place}. Give the project a newer one: Mylos "
                        "uses the project's and adds none of its own.")
  endif()
  set(Kokkos_VERSION ${mylos_kokkos_VERSION})
  set(Kokkos_DEVICES "${mylos_kokkos_BACKENDS}")
  foreach(backend IN ITEMS OPENMP CUDA HIP SYCL)
    set(Kokkos_ENABLE_${backend} OFF)
  endforeach()
  foreach(backend IN LISTS mylos_kokkos_BACKENDS)
    set(Kokkos_ENABLE_${backend} ON)
  endforeach()
endif()
set(Mylos_KOKKOS_VERSION "${mylos_kokkos_VERSION}")
set(Mylos_KOKKOS_DEFINITIONS "${mylos_kokkos_DEFINITIONS}")

# A Kokkos that the project adds after Mylos would be a second one.
function(mylos_require_one_kokkos header)
  if(TARGET Kokkos::kokkos)
    mylos_read_kokkos(mylos_kokkos)
    if(mylos_kokkos_HEADER AND NOT mylos_kokkos_HEADER STREQUAL header)
      message(FATAL_ERROR "The project has two Kokkos: Mylos found ${header}, and the project added ${mylos_kokkos_HEADER} after "
                          "Mylos. Call find_package(Kokkos) or add_subdirectory(kokkos) before Mylos is added, which then uses that.")
    endif()
  endif()
endfunction()
if(mylos_in_project)
  cmake_language(EVAL CODE  # with the value that the variable has here
    "cmake_language(DEFER DIRECTORY [[${CMAKE_SOURCE_DIR}]] CALL mylos_require_one_kokkos [[${mylos_kokkos_HEADER}]])")
endif()

if(NOT Mylos_HOST_ARCH MATCHES "^(NATIVE|PORTABLE)$" AND NOT "NONE${Kokkos_ARCH}" MATCHES "${Mylos_HOST_ARCH}")
  message(FATAL_ERROR "Mylos_HOST_ARCH is ${Mylos_HOST_ARCH}, but ${mylos_kokkos_place} was built for \"${Kokkos_ARCH}\". "
                      "Run scripts/setup --arch=${Mylos_HOST_ARCH}, or point CMAKE_PREFIX_PATH at a Kokkos built for it.")
endif()
# A project's Kokkos says for which processors the project is built.
string(COMPARE EQUAL "${Mylos_HOST_ARCH}" NATIVE mylos_is_for_this_machine)
if(mylos_kokkos_is_of_project AND NOT Kokkos_ARCH_NATIVE AND NOT "NATIVE" IN_LIST Kokkos_ARCH)
  set(mylos_is_for_this_machine OFF)
endif()

# mylos_backend(CUDA HINT): Mylos_ENABLE_CUDA (ON, OFF, AUTO: as this Kokkos) becomes Mylos_HAVE_CUDA. HINT: how to get a Kokkos
# that has it.
function(mylos_backend name hint)
  if(Mylos_ENABLE_${name} STREQUAL "AUTO")
    set(Mylos_HAVE_${name} ${Kokkos_ENABLE_${name}} PARENT_SCOPE)
  elseif(Mylos_ENABLE_${name} AND NOT Kokkos_ENABLE_${name})
    message(FATAL_ERROR "Mylos_ENABLE_${name} is ON, but ${mylos_kokkos_place} was built without ${name}. "
                        "${hint}, or point CMAKE_PREFIX_PATH at a Kokkos that has it.")
  elseif(NOT Mylos_ENABLE_${name} AND Kokkos_ENABLE_${name})
    message(FATAL_ERROR "Mylos_ENABLE_${name} is OFF, but ${mylos_kokkos_place} was built for ${name}. "
                        "${mylos_kokkos_cure} for hosts.")
  else()
    set(Mylos_HAVE_${name} ${Mylos_ENABLE_${name}} PARENT_SCOPE)
  endif()
endfunction()
mylos_backend(CUDA "Run scripts/setup --cuda")
mylos_backend(HIP "Run scripts/setup --hip")
mylos_backend(SYCL "Build Kokkos with -DKokkos_ENABLE_SYCL=ON (docs/explanation/gpu-intel.md)")
if(mylos_kokkos_backend STREQUAL "openmp" AND NOT Kokkos_ENABLE_OPENMP
   AND NOT (Kokkos_ENABLE_CUDA OR Kokkos_ENABLE_HIP OR Kokkos_ENABLE_SYCL))
  message(FATAL_ERROR "Mylos needs a Kokkos with OpenMP for hosts, but ${mylos_kokkos_place} was built for ${Kokkos_DEVICES}. "
                      "${mylos_kokkos_cure} that was configured with -DKokkos_ENABLE_OPENMP=ON.")
endif()
set(Mylos_VENDOR none)  # the folder of src/mylos/device
if(Mylos_HAVE_CUDA)
  set(Mylos_VENDOR cuda)
elseif(Mylos_HAVE_HIP)
  set(Mylos_VENDOR hip)
elseif(Mylos_HAVE_SYCL)
  set(Mylos_VENDOR sycl)
endif()
set(Mylos_HAVE_DEVICE OFF)  # the default execution space is not the host, or is taken for a device
if(Kokkos_ENABLE_CUDA OR Kokkos_ENABLE_HIP OR Kokkos_ENABLE_SYCL OR Mylos_EMULATE_DEVICE)
  set(Mylos_HAVE_DEVICE ON)
endif()
