# Mylos::hdf5, which the rooms link: the HDF5 that was found, as an archive where that links. Debian's shared HDF5 loads some
# thirty libraries more (libcurl, LDAP, Kerberos), to read files from a network, which Mylos never does; of its archive a
# program takes what it calls. The library that is installed links the shared HDF5, as the programs do that use it.
#
# Reads Mylos_ENABLE_STATIC_HDF5; sets Mylos_HAVE_STATIC_HDF5.
set(Mylos_HAVE_STATIC_HDF5 OFF)
if(Mylos_ENABLE_STATIC_HDF5 AND NOT Mylos_PORTABLE AND HDF5_C_LIBRARY_hdf5 AND Mylos_HAVE_AS_NEEDED)
  get_filename_component(mylos_hdf5_folder "${HDF5_C_LIBRARY_hdf5}" DIRECTORY)
  set(mylos_hdf5_archive "${mylos_hdf5_folder}/libhdf5.a")
  set(mylos_hdf5_libraries ${HDF5_C_LIBRARIES})
  list(REMOVE_ITEM mylos_hdf5_libraries "${HDF5_C_LIBRARY_hdf5}")
  if(HDF5_IS_PARALLEL)
    list(APPEND mylos_hdf5_libraries MPI::MPI_C)
  endif()
  if(EXISTS "${mylos_hdf5_archive}")
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_INCLUDES ${HDF5_C_INCLUDE_DIRS})
    set(CMAKE_REQUIRED_LIBRARIES "${mylos_hdf5_archive}" ${mylos_hdf5_libraries})
    check_c_source_compiles("#include <hdf5.h>\nint main(void) { return H5open() < 0; }" Mylos_HDF5_ARCHIVE_LINKS)
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_LIBRARIES)
    set(Mylos_HAVE_STATIC_HDF5 "${Mylos_HDF5_ARCHIVE_LINKS}")
  endif()
endif()
if(Mylos_ENABLE_STATIC_HDF5 STREQUAL "ON" AND NOT Mylos_HAVE_STATIC_HDF5)
  message(FATAL_ERROR "Mylos_ENABLE_STATIC_HDF5 is ON, but there is no libhdf5.a beside \"${HDF5_C_LIBRARY_hdf5}\" that programs of "
                      "this build can link. Leave the option at AUTO to link the shared library.")
endif()

add_library(Mylos::hdf5 INTERFACE IMPORTED)
if(Mylos_HAVE_STATIC_HDF5)
  target_include_directories(Mylos::hdf5 INTERFACE ${HDF5_C_INCLUDE_DIRS})
  target_link_libraries(Mylos::hdf5 INTERFACE "${mylos_hdf5_archive}" ${mylos_hdf5_libraries})
else()
  target_link_libraries(Mylos::hdf5 INTERFACE hdf5::hdf5)
endif()
