# What `cmake --install` makes of the library: a prefix that may be moved, which find_package(Mylos) understands. Components:
# `command` (bin/mylos), `library`, and `development` (headers, CMake's files, of no use without `library`).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/Mylos")

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

# Called where the target mylos_library exists, before all else is installed; CMake's own message would name a file alone.
function(mylos_require_library_at_install)
  install(CODE "
    if(NOT EXISTS \"$<TARGET_FILE:mylos_library>\")
      message(FATAL_ERROR \"The library of Mylos has not been built ($<TARGET_FILE:mylos_library>). Build it: \"
                          \"cmake --build ${PROJECT_BINARY_DIR} --target mylos_library; or install the command alone: \"
                          \"cmake --install ${PROJECT_BINARY_DIR} --component command\")
    endif()" COMPONENT library)
endfunction()

# Called where that target is complete.
function(mylos_install_library)
  set(Mylos_INSTALLED_KOKKOS "")
  if(Kokkos_DIR)
    get_filename_component(mylos_kokkos_used "${Kokkos_DIR}/../../.." ABSOLUTE)
    mylos_install_dependency(Mylos_INSTALLED_KOKKOS "${mylos_kokkos_used}" "${mylos_kokkos_prefix}")
  endif()
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
  install(EXPORT MylosTargets NAMESPACE Mylos:: DESTINATION "${package}" COMPONENT development)
  install(FILES "${PROJECT_BINARY_DIR}/MylosConfig.cmake" "${PROJECT_BINARY_DIR}/MylosConfigVersion.cmake"
                "${PROJECT_SOURCE_DIR}/cmake/FindLibDeflate.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake"
                "${PROJECT_SOURCE_DIR}/cmake/FindTurboJPEG.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindxxHash.cmake"
                "${PROJECT_SOURCE_DIR}/cmake/MylosReadKokkos.cmake" DESTINATION "${package}"
          COMPONENT development)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/mylos" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
endfunction()
