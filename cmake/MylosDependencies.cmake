# Finds what Mylos stands on: an installed package first, else what scripts/setup put into its cache folder.
# mylos_optional(ONEDNN found...) turns Mylos_ENABLE_ONEDNN (ON, OFF, AUTO) into Mylos_HAVE_ONEDNN (ON, OFF).
function(mylos_optional name)
  set(have ON)
  foreach(condition IN LISTS ARGN)
    if(NOT condition)
      set(have OFF)
    endif()
  endforeach()
  if(Mylos_ENABLE_${name} STREQUAL "AUTO" OR NOT Mylos_ENABLE_${name})
    if(NOT Mylos_ENABLE_${name})
      set(have OFF)
    endif()
  elseif(NOT have)
    message(FATAL_ERROR "Mylos_ENABLE_${name} is ON, but its library was not found. Give its folder in "
                        "CMAKE_PREFIX_PATH, or leave the option at AUTO. docs/install.md says where each comes from.")
  endif()
  set(Mylos_HAVE_${name} ${have} PARENT_SCOPE)
endfunction()

find_package(fmt REQUIRED)
if(NOT Mylos_ONLY_KERNELS)
  set(MPI_DETERMINE_LIBRARY_VERSION TRUE)
  find_package(MPI REQUIRED COMPONENTS C)
  # A serial one first, as CMake does: MPI-IO is not used, and a process that loads a second HDF5, such as a serial NetCDF's,
  # may not load another kind. HDF5_PREFER_PARALLEL=ON and HDF5_ROOT choose.
  find_package(HDF5 1.10.8 REQUIRED COMPONENTS C)
  include(MylosStaticHdf5)
  find_package(tomlplusplus REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  find_package(ZLIB REQUIRED)
  find_package(Threads REQUIRED)
  find_package(xxHash 0.8 REQUIRED)
endif()
find_path(Random123_INCLUDE_DIR Random123/philox.h REQUIRED)

# Kokkos. scripts/kokkos-prefix names the folder for this compiler, backend and processor, here as in scripts/setup.
set(mylos_kokkos_backend openmp)
if(Mylos_ENABLE_THREAD_SANITIZER AND Mylos_EMULATE_DEVICE)
  set(mylos_kokkos_backend threads)
elseif(Mylos_ENABLE_FUZZING OR Mylos_ENABLE_THREAD_SANITIZER)
  set(mylos_kokkos_backend serial)
elseif(Mylos_ENABLE_CUDA STREQUAL "ON")
  set(mylos_kokkos_backend cuda ${Mylos_CUDA_ARCH})
endif()
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
if(NOT mylos_kokkos_prefix STREQUAL "${Mylos_KOKKOS_PREFIX}")
  unset(Kokkos_DIR CACHE)  # found for another compiler, backend or processor
  set(Mylos_KOKKOS_PREFIX "${mylos_kokkos_prefix}" CACHE INTERNAL "What Kokkos_DIR was found for")
endif()
set(Kokkos_LAUNCH_COMPILER OFF)  # ours, below
find_package(Kokkos 5.0 QUIET PATHS "${mylos_kokkos_prefix}")
if(NOT Kokkos_FOUND)
  message(FATAL_ERROR "Kokkos 5 was not found, neither as a package nor at ${mylos_kokkos_prefix}.\n"
                      "Run scripts/setup (scripts/setup --cuda for the preset cuda; with --arch=${Mylos_HOST_ARCH} "
                      "where that is not NATIVE), or give its folder in CMAKE_PREFIX_PATH.")
endif()
if(NOT Mylos_HOST_ARCH MATCHES "^(NATIVE|PORTABLE)$" AND NOT "NONE${Kokkos_ARCH}" MATCHES "${Mylos_HOST_ARCH}")
  message(FATAL_ERROR "Mylos_HOST_ARCH is ${Mylos_HOST_ARCH}, but the Kokkos in ${Kokkos_DIR} was built for \"${Kokkos_ARCH}\". "
                      "Run scripts/setup --arch=${Mylos_HOST_ARCH}, or point CMAKE_PREFIX_PATH at a Kokkos built for it.")
endif()
if(Mylos_ENABLE_CUDA STREQUAL "AUTO")
  set(Mylos_HAVE_CUDA ${Kokkos_ENABLE_CUDA})
elseif(Mylos_ENABLE_CUDA AND NOT Kokkos_ENABLE_CUDA)
  message(FATAL_ERROR "Mylos_ENABLE_CUDA is ON, but the Kokkos in ${Kokkos_DIR} was built without CUDA. "
                      "Run scripts/setup --cuda, or point CMAKE_PREFIX_PATH at a Kokkos that has it.")
elseif(NOT Mylos_ENABLE_CUDA AND Kokkos_ENABLE_CUDA)
  message(FATAL_ERROR "Mylos_ENABLE_CUDA is OFF, but the Kokkos in ${Kokkos_DIR} was built for CUDA. "
                      "Run scripts/setup, or point CMAKE_PREFIX_PATH at a Kokkos for hosts.")
else()
  set(Mylos_HAVE_CUDA ${Mylos_ENABLE_CUDA})
endif()
set(Mylos_VENDOR none)  # the folder of src/mylos/device
if(Mylos_HAVE_CUDA)
  set(Mylos_VENDOR cuda)
endif()
set(Mylos_HAVE_DEVICE OFF)  # the default execution space is not the host, or is taken for a device
if(Kokkos_ENABLE_CUDA OR Kokkos_ENABLE_HIP OR Kokkos_ENABLE_SYCL OR Mylos_EMULATE_DEVICE)
  set(Mylos_HAVE_DEVICE ON)
endif()

if(NOT Mylos_HAVE_DEVICE)
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/kokkos-prefix" --highway "${CMAKE_CXX_COMPILER}"
                  OUTPUT_VARIABLE mylos_highway_prefix OUTPUT_STRIP_TRAILING_WHITESPACE)
  find_package(hwy 1.3 CONFIG QUIET PATHS "${mylos_highway_prefix}")
  if(NOT hwy_FOUND)
    message(FATAL_ERROR "Highway 1.3 was not found, neither as a package nor at ${mylos_highway_prefix}.\n"
                        "Run scripts/setup, or give its folder in CMAKE_PREFIX_PATH.")
  endif()
endif()

if(NOT Mylos_ENABLE_KOKKOSKERNELS STREQUAL "OFF")
  find_package(MylosKokkosKernels QUIET)
endif()
mylos_optional(KOKKOSKERNELS "${MylosKokkosKernels_FOUND}")

if(NOT Mylos_ENABLE_ONEDNN STREQUAL "OFF" AND (NOT Mylos_HAVE_DEVICE OR Mylos_ENABLE_ONEDNN STREQUAL "ON"))
  find_package(dnnl QUIET)
endif()
mylos_optional(ONEDNN "${dnnl_FOUND}")

if(NOT Mylos_ENABLE_LIBDEFLATE STREQUAL "OFF")
  find_package(LibDeflate QUIET)
endif()
mylos_optional(LIBDEFLATE "${LibDeflate_FOUND}")

if(NOT Mylos_ENABLE_IMAGES STREQUAL "OFF" AND NOT Mylos_ONLY_KERNELS)
  find_package(PNG QUIET)
  find_package(TurboJPEG QUIET)
endif()
mylos_optional(IMAGES "${PNG_FOUND}" "${TurboJPEG_FOUND}")

if(NOT Mylos_ENABLE_ONNX STREQUAL "OFF" AND NOT Mylos_ONLY_KERNELS)
  find_package(OnnxProto QUIET)
endif()
mylos_optional(ONNX "${OnnxProto_FOUND}")

if(Mylos_HAVE_CUDA)
  find_package(CUDAToolkit REQUIRED)
  find_package(NCCL QUIET)
  find_package(CuDNN QUIET)
endif()
mylos_optional(NCCL "${Mylos_HAVE_CUDA}" "${NCCL_FOUND}")
if(TARGET CUDA::cublasLt)
  set(mylos_cublaslt_found ON)
endif()
mylos_optional(CUBLASLT "${Mylos_HAVE_CUDA}" "${mylos_cublaslt_found}")
mylos_optional(CUDNN "${Mylos_HAVE_CUDA}" "${CuDNN_FOUND}")
if(TARGET CUDA::nvml)
  find_path(Mylos_NVML_INCLUDE_DIR nvml.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
endif()
mylos_optional(NVML "${Mylos_HAVE_CUDA}" "${Mylos_NVML_INCLUDE_DIR}")

if(Mylos_ENABLE_TESTS)
  find_package(GTest REQUIRED)
endif()
if(Mylos_ENABLE_PERF)
  find_package(benchmark REQUIRED)
endif()

# Compilations are found again by ccache. In a build for NVIDIA devices, cmake/device-compiler picks nvcc or the C++ compiler.
find_program(CCACHE_PROGRAM ccache)
if(Mylos_HAVE_CUDA)
  set(mylos_launcher "${PROJECT_SOURCE_DIR}/cmake/device-compiler ${CUDAToolkit_NVCC_EXECUTABLE} ${CMAKE_CXX_COMPILER}")
  set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE "${mylos_launcher}")
  set_property(GLOBAL PROPERTY RULE_LAUNCH_LINK "${mylos_launcher}")
elseif(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache asks for where headers are precompiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()
