# What can be switched on. AUTO means: on where the dependency is found; ON means: an error where it is not.
set(Mylos_ENABLE_CUDA AUTO CACHE STRING "Run on NVIDIA devices (ON, OFF, AUTO: as the Kokkos that is found)")
set(Mylos_CUDA_ARCH HOPPER90 CACHE STRING "Kokkos' name of the NVIDIA architecture that scripts/setup built for")
set(Mylos_HOST_ARCH NATIVE CACHE STRING "What scripts/setup built for (its --arch): NATIVE, PORTABLE or Kokkos' name of a processor")
string(COMPARE EQUAL "${Mylos_HOST_ARCH}" PORTABLE Mylos_PORTABLE)  # MylosPortable.cmake says what that is
set(Mylos_ENABLE_ONEDNN AUTO CACHE STRING "oneDNN products on hosts (ON, OFF, AUTO)")
set(Mylos_ENABLE_LIBDEFLATE AUTO CACHE STRING "CRC-32 of checkpoints by libdeflate, else by zlib (ON, OFF, AUTO)")
set(Mylos_ENABLE_STATIC_HDF5 AUTO CACHE STRING "The command contains HDF5 instead of loading it (ON, OFF, AUTO)")
set(Mylos_ENABLE_IMAGES AUTO CACHE STRING "PNG and JPEG files for mylos prepare images (ON, OFF, AUTO)")
set(Mylos_ENABLE_KOKKOSKERNELS AUTO CACHE STRING "Kokkos Kernels products on any backend (ON, OFF, AUTO)")
set(Mylos_ENABLE_NCCL AUTO CACHE STRING "NCCL communicator on NVIDIA devices (ON, OFF, AUTO)")
set(Mylos_ENABLE_CUBLASLT AUTO CACHE STRING "cuBLASLt products on NVIDIA devices (ON, OFF, AUTO)")
set(Mylos_ENABLE_CUDNN AUTO CACHE STRING "cuDNN's fused attention and convolutions on NVIDIA devices (ON, OFF, AUTO)")
set(Mylos_ENABLE_C_LIBRARY AUTO CACHE STRING "libmylos.so, the C interface, for C and Fortran programs (ON, OFF, AUTO)")
set(Mylos_ENABLE_NVML AUTO CACHE STRING "Energy of NVIDIA devices for mylos advise (ON, OFF, AUTO)")
option(Mylos_ENABLE_APPS "Build the mylos command" ON)
option(Mylos_ENABLE_TESTS "Build the tests" ON)
option(Mylos_ENABLE_PERF "Build the benchmarks under perf/" ON)
option(Mylos_ONLY_KERNELS "Build the rooms base and kernels and their tests alone, without MPI and HDF5" OFF)
option(Mylos_EMULATE_DEVICE "Run the kernels' device code, in teams of host threads (tests alone)" OFF)
option(Mylos_ENABLE_PRECOMPILED_HEADERS "Precompile the headers of Kokkos and GoogleTest (GCC, hosts)" ON)
option(Mylos_ENABLE_SANITIZERS "Build with the address and undefined-behaviour sanitizers" OFF)
option(Mylos_SANITIZE_VECTOR_CODE "With the sanitizers: in the hosts' vector code too" ON)
option(Mylos_ENABLE_THREAD_SANITIZER "Build with Clang's thread sanitizer and Kokkos' Serial, or where a device is emulated its Threads" OFF)
option(Mylos_ENABLE_FUZZING "Build the fuzz targets under tests/fuzz, with Clang, sanitizers and Kokkos' Serial alone" OFF)
option(Mylos_ENABLE_WERROR "Treat warnings in Mylos' own code as errors" OFF)
if(Mylos_ONLY_KERNELS OR Mylos_EMULATE_DEVICE)
  set(Mylos_ENABLE_APPS OFF)
  set(Mylos_ENABLE_PERF OFF)
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # of libraries in a site's own folders
add_compile_definitions(OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)  # the C interface of MPI only
# Packages name libraries that Mylos does not call, such as oneDNN's OpenCL: programs load only those that they call.
include(CheckLinkerFlag)
check_linker_flag(CXX LINKER:--as-needed Mylos_HAVE_AS_NEEDED)
if(Mylos_HAVE_AS_NEEDED)
  add_link_options(LINKER:--as-needed)
endif()

if(Mylos_ENABLE_FUZZING)
  set(mylos_fuzzing -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_compile_options(${mylos_fuzzing} -fno-omit-frame-pointer -O1 -g1)
  add_link_options(${mylos_fuzzing})
endif()
if(Mylos_ENABLE_THREAD_SANITIZER)  # it takes what libgomp does for races
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=thread -Wl,-z,muldefs)  # the tests' own operator new counts
endif()
if(Mylos_ENABLE_SANITIZERS)
  # Null is left to the address sanitizer: its own check costs compile time, and sees no more.
  set(mylos_sanitizers -fsanitize=address,undefined -fno-sanitize=null -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options(-Wno-maybe-uninitialized)  # GCC sees it where there is none once sanitizers have added their checks
  # -O0 makes the kernels' tests ten times slower; full debug information takes a third of the compile time.
  add_compile_options(${mylos_sanitizers} -O1 -g1)
  add_link_options(${mylos_sanitizers})
endif()
