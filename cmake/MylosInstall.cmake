# Mylos::mylos, all rooms as one library, and what `cmake --install` makes of it: a prefix that may be moved, which
# find_package(Mylos) understands. Components: `command` (bin/mylos), `library`, and `development` (headers, CMake's files,
# of no use without `library`).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

list(TRANSFORM mylos_rooms REPLACE "(.+)" "$<TARGET_OBJECTS:mylos_\\1>" OUTPUT_VARIABLE mylos_objects)
set(linkage STATIC)
if(Mylos_PORTABLE)
  set(linkage SHARED)
endif()
add_library(mylos_library ${linkage} ${mylos_objects})
add_library(Mylos::mylos ALIAS mylos_library)
set_target_properties(mylos_library PROPERTIES OUTPUT_NAME mylos EXPORT_NAME mylos LINKER_LANGUAGE CXX)
target_compile_features(mylos_library PUBLIC cxx_std_20)
# mpi.h would otherwise bring the C++ bindings that MPI 3 removed, and a library for them.
target_compile_definitions(mylos_library INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_include_directories(mylos_library PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                                "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
# The headers need the first three. Of what the rooms use within, programs only link what is no header alone.
target_link_libraries(mylos_library PUBLIC Kokkos::kokkos fmt::fmt MPI::MPI_C
                                    PRIVATE hdf5::hdf5 tomlplusplus::tomlplusplus xxHash::xxhash ZLIB::ZLIB Threads::Threads)

# Before all else is installed; CMake's own message would name a file alone.
install(CODE "
  if(NOT EXISTS \"$<TARGET_FILE:mylos_library>\")
    message(FATAL_ERROR \"The library of Mylos has not been built ($<TARGET_FILE:mylos_library>). Build it: \"
                        \"cmake --build ${PROJECT_BINARY_DIR} --target mylos_library; or install the command alone: \"
                        \"cmake --install ${PROJECT_BINARY_DIR} --component command\")
  endif()" COMPONENT library)

# mylos_install_dependency(OUTPUT PREFIX CACHED): what programs of the installed library compile with. A folder of scripts/setup,
# CACHED, belongs to whoever built Mylos: it is installed too, and OUTPUT is where, as MylosConfig.cmake names it. A site's own
# PREFIX stays where it is.
function(mylos_install_dependency output prefix cached)
  if(NOT prefix STREQUAL cached)
    set(${output} "${prefix}" PARENT_SCOPE)
    return()
  endif()
  get_filename_component(name "${prefix}" NAME)
  string(REGEX REPLACE "-.*" "" name "${name}")
  set(folder "${CMAKE_INSTALL_LIBDIR}/mylos/${name}")
  foreach(part IN ITEMS include lib)
    install(DIRECTORY "${prefix}/${part}" DESTINATION "${folder}" COMPONENT development
            PATTERN pkgconfig EXCLUDE)
  endforeach()
  set(${output} "\${Mylos_PREFIX}/${folder}" PARENT_SCOPE)
endfunction()

# mylos_engine(HAVE TARGET FIND...): a library that this build may have, and how a program finds it.
function(mylos_engine have target)
  if(NOT have)
    return()
  endif()
  target_link_libraries(mylos_library PRIVATE ${target})
  string(JOIN " " find ${ARGN})
  string(APPEND Mylos_ENGINE_DEPENDENCIES "find_dependency(${find})\n")
  set(Mylos_ENGINE_DEPENDENCIES "${Mylos_ENGINE_DEPENDENCIES}" PARENT_SCOPE)
endfunction()
if(NOT Mylos_HAVE_DEVICE)
  get_filename_component(mylos_highway_used "${hwy_DIR}/../../.." ABSOLUTE)
  mylos_install_dependency(mylos_installed_highway "${mylos_highway_used}" "${mylos_highway_prefix}")
  mylos_engine(ON hwy::hwy "hwy 1.3 PATHS \"${mylos_installed_highway}\"")
endif()
if(Mylos_HAVE_ONEDNN AND NOT Mylos_HAVE_DEVICE)
  mylos_engine(ON DNNL::dnnl dnnl)
endif()
if(Mylos_HAVE_KOKKOSKERNELS AND KokkosKernels_FOUND)
  mylos_engine(ON Kokkos::kokkoskernels KokkosKernels)
endif()
mylos_engine("${Mylos_HAVE_LIBDEFLATE}" LibDeflate::libdeflate LibDeflate)
mylos_engine("${Mylos_HAVE_IMAGES}" PNG::PNG PNG)
mylos_engine("${Mylos_HAVE_IMAGES}" TurboJPEG::turbojpeg TurboJPEG)
mylos_engine("${Mylos_HAVE_CUBLASLT}" CUDA::cublasLt CUDAToolkit)
if(Mylos_HAVE_CUDNN)
  target_sources(mylos_library PRIVATE $<TARGET_OBJECTS:mylos_cudnn>)
  target_link_libraries(mylos_library PRIVATE ${CMAKE_DL_LIBS})  # cuDNN is looked for by programs that run
endif()
mylos_engine("${Mylos_HAVE_NVML}" CUDA::nvml CUDAToolkit)
mylos_engine("${Mylos_HAVE_NCCL}" NCCL::nccl NCCL)

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/Mylos")
get_filename_component(mylos_kokkos_used "${Kokkos_DIR}/../../.." ABSOLUTE)
mylos_install_dependency(Mylos_INSTALLED_KOKKOS "${mylos_kokkos_used}" "${mylos_kokkos_prefix}")
set(Mylos_HDF5_IS_PARALLEL OFF)
if(HDF5_IS_PARALLEL)
  set(Mylos_HDF5_IS_PARALLEL ON)
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/MylosConfig.cmake.in" "${PROJECT_BINARY_DIR}/MylosConfig.cmake"
                              INSTALL_DESTINATION "${package}" PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/MylosConfigVersion.cmake" COMPATIBILITY SameMinorVersion)

install(TARGETS mylos_library EXPORT MylosTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT development)
if(Mylos_PORTABLE)
  mylos_copy_library()
endif()
install(EXPORT MylosTargets NAMESPACE Mylos:: DESTINATION "${package}" COMPONENT development)
install(FILES "${PROJECT_BINARY_DIR}/MylosConfig.cmake" "${PROJECT_BINARY_DIR}/MylosConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindLibDeflate.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindTurboJPEG.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindxxHash.cmake" DESTINATION "${package}"
        COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/mylos" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
