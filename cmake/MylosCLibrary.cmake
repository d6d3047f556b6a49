# libmylos.so, the C interface (include/mylos/mylos.h), which the Fortran module also calls. It shows the functions mylos_*
# alone: Kokkos, Highway, fmt and all rooms are inside, hidden, so that a program may have other versions of them, and so is
# HDF5 if there is an archive of it that a library can contain. MPI, oneDNN, a device's libraries and what else is a shared
# library stay what the program loads.
#
# Everything that it contains is position independent: the rooms, which are compiled once for all (but see
# mylos_compile_io_of_c_library), and Kokkos, which scripts/setup builds so. In a portable build it has copies for newer
# processors as libmylos_cxx.so has. Mylos_ENABLE_C_LIBRARY: ON, OFF, AUTO: where Kokkos can be inside.

# mylos_check_archives(OUTPUT ARCHIVES ...): whether they are of position-independent code, as a cached variable.
function(mylos_check_archives output)
  if(NOT "${ARGN}" STREQUAL "${${output}_CHECKED}")
    unset(${output} CACHE)
    set(${output}_CHECKED "${ARGN}" CACHE INTERNAL "The archives that ${output} was checked for")
  endif()
  set(file "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${output}.cpp")
  file(WRITE "${file}" "extern \"C\" int mylos_nothing() { return 0; }\n")
  try_compile(${output} "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${output}" "${file}"
    COMPILE_DEFINITIONS -fPIC
    LINK_OPTIONS -shared -fopenmp
    LINK_LIBRARIES "-Wl,--whole-archive" ${ARGN} "-Wl,--no-whole-archive" ${CMAKE_DL_LIBS})
endfunction()

# Sets Mylos_KOKKOS_ARCHIVES, which are empty where there are none. A portable build compiles with a shared Kokkos: the archives
# of the same Kokkos are beside it, or scripts/setup --arch=PORTABLE has built them.
function(mylos_find_kokkos_archives)
  get_target_property(is_imported Kokkos::kokkoscore IMPORTED)
  if(NOT is_imported)
    return()  # a project that contains Mylos builds it
  endif()
  get_target_property(type Kokkos::kokkoscore TYPE)
  get_target_property(core Kokkos::kokkoscore LOCATION)
  get_filename_component(folder "${core}" DIRECTORY)
  if(type STREQUAL "SHARED_LIBRARY" AND NOT EXISTS "${folder}/libkokkoscore.a" AND Mylos_PORTABLE)
    execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/kokkos-prefix" --arch=NONE "${CMAKE_CXX_COMPILER}" openmp
                    OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_target_property(include Kokkos::kokkoscore INTERFACE_INCLUDE_DIRECTORIES)
    list(GET include 0 include)
    set(config "${prefix}/include/KokkosCore_config.h")
    if(EXISTS "${config}")
      file(STRINGS "${include}/KokkosCore_config.h" of_shared)
      file(STRINGS "${config}" of_archives)
      list(FILTER of_shared EXCLUDE REGEX KOKKOS_IMPL_BUILD_SHARED_LIBS)  # no other line may differ
      list(FILTER of_archives EXCLUDE REGEX KOKKOS_IMPL_BUILD_SHARED_LIBS)
      if(of_shared STREQUAL of_archives)
        set(folder "${prefix}/lib")
      endif()
    endif()
  endif()
  set(archives "${folder}/libkokkoscontainers.a" "${folder}/libkokkoscore.a")
  foreach(archive IN LISTS archives)
    if(NOT EXISTS "${archive}")
      return()
    endif()
  endforeach()
  mylos_check_archives(Mylos_KOKKOS_GOES_INTO_LIBRARY ${archives})
  if(Mylos_KOKKOS_GOES_INTO_LIBRARY)
    set(Mylos_KOKKOS_ARCHIVES ${archives} PARENT_SCOPE)
  endif()
endfunction()

set(Mylos_HAVE_C_LIBRARY OFF)
if(NOT Mylos_ENABLE_C_LIBRARY STREQUAL "OFF" AND NOT Mylos_EMULATE_DEVICE AND NOT Mylos_HAVE_SYCL AND NOT Mylos_ONLY_KERNELS
   AND NOT Mylos_ENABLE_SANITIZERS AND NOT Mylos_ENABLE_THREAD_SANITIZER AND NOT Mylos_ENABLE_FUZZING
   AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  mylos_find_kokkos_archives()
  if(Mylos_KOKKOS_ARCHIVES)
    set(Mylos_HAVE_C_LIBRARY ON)
  endif()
endif()
if(Mylos_ENABLE_C_LIBRARY STREQUAL "ON" AND NOT Mylos_HAVE_C_LIBRARY)
  message(FATAL_ERROR "Mylos_ENABLE_C_LIBRARY is ON, but libmylos.so needs a build without sanitizers, and Kokkos as an archive of "
                      "position-independent code; there is none for ${mylos_kokkos_place}. Run scripts/setup (in a portable "
                      "build scripts/setup --arch=PORTABLE), or build Kokkos with -DCMAKE_POSITION_INDEPENDENT_CODE=ON and "
                      "-DBUILD_SHARED_LIBS=OFF.")
endif()

# Sets `archive` to the archive of the HDF5 that was found, if it is position independent, else to nothing, and `libraries` to
# what is linked for it.
function(mylos_find_hdf5_archive archive libraries)
  set(${archive} "" PARENT_SCOPE)
  get_target_property(found hdf5::hdf5 LOCATION)
  get_filename_component(folder "${found}" DIRECTORY)
  set(file "${folder}/libhdf5.a")
  set(linked ${HDF5_C_LIBRARIES})
  list(REMOVE_ITEM linked "${found}" hdf5-shared hdf5::hdf5-shared)
  list(PREPEND linked "${file}")
  foreach(target IN ITEMS hdf5-static hdf5::hdf5-static)  # of HDF5's own package
    if(TARGET ${target})
      get_target_property(file ${target} LOCATION)
      set(linked ${target})
    endif()
  endforeach()
  if(EXISTS "${file}")
    mylos_check_archives(Mylos_HDF5_GOES_INTO_LIBRARY "${file}")
    if(Mylos_HDF5_GOES_INTO_LIBRARY)
      set(${archive} "${file}" PARENT_SCOPE)
      set(${libraries} ${linked} PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Mylos::c_hdf5, which libmylos.so links: the archive of the HDF5 that was found; in a portable build or one for devices, which
# are installed for programs of many kinds, else that of scripts/setup; else the shared HDF5. Sets Mylos_C_LIBRARY_HAS_HDF5, and
# Mylos_C_LIBRARY_HAS_OTHER_HDF5 where its headers are not those of the HDF5 that was found.
set(Mylos_C_LIBRARY_HAS_HDF5 OFF)
set(Mylos_C_LIBRARY_HAS_OTHER_HDF5 OFF)
if(Mylos_HAVE_C_LIBRARY)
  add_library(Mylos::c_hdf5 INTERFACE IMPORTED)
  mylos_find_hdf5_archive(mylos_c_hdf5 mylos_c_hdf5_libraries)
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/kokkos-prefix" --hdf5
                  OUTPUT_VARIABLE mylos_hdf5_prefix OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(mylos_c_hdf5)
    set(Mylos_C_LIBRARY_HAS_HDF5 ON)
    target_link_libraries(Mylos::c_hdf5 INTERFACE ${mylos_c_hdf5_libraries})
  elseif((Mylos_PORTABLE OR Mylos_HAVE_DEVICE) AND EXISTS "${mylos_hdf5_prefix}/complete")
    set(Mylos_C_LIBRARY_HAS_HDF5 ON)
    set(Mylos_C_LIBRARY_HAS_OTHER_HDF5 ON)
    target_include_directories(Mylos::c_hdf5 INTERFACE "${mylos_hdf5_prefix}/include")
    target_link_libraries(Mylos::c_hdf5 INTERFACE "${mylos_hdf5_prefix}/lib/libhdf5.a" ZLIB::ZLIB m ${CMAKE_DL_LIBS})
  else()
    target_link_libraries(Mylos::c_hdf5 INTERFACE hdf5::hdf5)
  endif()

  file(STRINGS "${PROJECT_SOURCE_DIR}/include/mylos/mylos.h" mylos_c_abi REGEX "^#define MYLOS_ABI_VERSION")
  string(REGEX REPLACE "^#define MYLOS_ABI_VERSION " "" mylos_c_abi "${mylos_c_abi}")
  add_compile_options(-fPIC -fno-semantic-interposition)  # programs too: all share precompiled headers
endif()

# Called at the end of the room io, which alone includes hdf5.h: its sources once more, by the headers of an HDF5 that
# libmylos.so alone contains; for the copies of a portable build too.
function(mylos_compile_io_of_c_library)
  if(NOT Mylos_C_LIBRARY_HAS_OTHER_HDF5)
    return()
  endif()
  get_target_property(sources mylos_io SOURCES)
  get_target_property(libraries mylos_io LINK_LIBRARIES)
  list(TRANSFORM libraries REPLACE "^Mylos::hdf5$" Mylos::c_hdf5)
  set(suffixes "")
  if(Mylos_PORTABLE)
    list(TRANSFORM mylos_copies PREPEND _ OUTPUT_VARIABLE suffixes)
  endif()
  foreach(suffix IN ITEMS "" LISTS suffixes)
    set(target mylos_c_io${suffix})
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PRIVATE ${mylos_include_folders})
    target_link_libraries(${target} PRIVATE ${libraries})
    target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:mylos_io,COMPILE_OPTIONS>)
    if(suffix)
      string(SUBSTRING "${suffix}" 1 -1 level)
      target_compile_options(${target} PRIVATE -march=${level})
    endif()
    mylos_precompile(${target} mylos_base${suffix})
    mylos_group_sources(${target})
  endforeach()
endfunction()

# mylos_add_c_library_of(TARGET OBJECTS ARCHIVES ...): the shared library of the C interface's objects and of what they call in
# the archives of the rooms. As files, because as targets they would bring what programs of this build link, such as an archive
# of HDF5.
function(mylos_add_c_library_of target objects)
  add_library(${target} SHARED $<TARGET_OBJECTS:${objects}> $<TARGET_OBJECTS:mylos_inside>)
  set(archives "")
  foreach(archive IN LISTS ARGN)
    list(APPEND archives $<TARGET_FILE:${archive}>)
    add_dependencies(${target} ${archive})
  endforeach()
  set(outside Mylos::c_hdf5 MPI::MPI_C xxHash::xxhash ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
  get_target_property(kokkos_type Kokkos::kokkoscore TYPE)
  if(kokkos_type STREQUAL "STATIC_LIBRARY")
    set(kokkos Kokkos::kokkos)
  else()
    get_target_property(of_kokkos Kokkos::kokkoscore INTERFACE_LINK_LIBRARIES)
    set(kokkos ${Mylos_KOKKOS_ARCHIVES} ${of_kokkos})
  endif()
  if(NOT Mylos_HAVE_DEVICE)
    list(APPEND outside hwy::hwy)
  endif()
  if(NOT Mylos_FMT_GOES_INTO_LIBRARY)
    list(APPEND outside fmt::fmt)
  endif()
  if(Mylos_HAVE_ONEDNN AND NOT Mylos_HAVE_DEVICE)
    list(APPEND outside DNNL::dnnl)
  endif()
  foreach(engine IN ITEMS LIBDEFLATE:LibDeflate::libdeflate IMAGES:PNG::PNG IMAGES:TurboJPEG::turbojpeg
                          CUBLASLT:CUDA::cublasLt CUDNN:CUDA::cudart NVML:CUDA::nvml NCCL:NCCL::nccl
                          HIPBLASLT:HipBLASLt::hipblaslt RCCL:RCCL::rccl)
    string(REGEX MATCH "^([A-Z]+):(.*)$" engine "${engine}")
    if(Mylos_HAVE_${CMAKE_MATCH_1})
      list(APPEND outside ${CMAKE_MATCH_2})
    endif()
  endforeach()
  list(TRANSFORM outside REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>")
  list(TRANSFORM kokkos REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>")
  target_link_libraries(${target} PRIVATE -Wl,--start-group ${archives} -Wl,--end-group ${kokkos} ${outside})
  set(map "${PROJECT_SOURCE_DIR}/src/mylos/api/exported.map")
  # nodelete: threads of OpenMP may wait in it.
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}" LINKER:-Bsymbolic LINKER:--no-undefined
                                        LINKER:-z,nodelete LINKER:--gc-sections)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME mylos LINKER_LANGUAGE CXX SOVERSION ${mylos_c_abi} VERSION ${mylos_c_abi}.${PROJECT_VERSION} LINK_DEPENDS "${map}")
  add_dependencies(mylos_library ${target})  # whoever builds the one wants all that is installed
endfunction()

# mylos_compile_c_interface(TARGET OPTIONS ...): the object files of its sources.
function(mylos_compile_c_interface target)
  set(sources arrays.cpp last_error.cpp library.cpp model.cpp model_values.cpp trainer.cpp trainer_parameters.cpp trust.cpp)
  list(TRANSFORM sources PREPEND "${PROJECT_SOURCE_DIR}/src/mylos/api/")
  add_library(${target} OBJECT ${sources})
  target_link_libraries(${target} PRIVATE mylos_train)
  mylos_warnings(${target})
  target_compile_options(${target} PRIVATE ${ARGN})
endfunction()

# The copies of a portable build, from the object files of the copies of libmylos_cxx.so.
function(mylos_copy_c_library)
  set(rooms ${mylos_rooms})
  if(Mylos_C_LIBRARY_HAS_OTHER_HDF5)
    list(REMOVE_ITEM rooms io)
  endif()
  foreach(level IN LISTS mylos_copies)
    mylos_objects_of_copy(objects ${level} ${rooms})
    add_library(mylos_c_rooms_${level} STATIC ${objects})
    set_target_properties(mylos_c_rooms_${level} PROPERTIES LINKER_LANGUAGE CXX)
    mylos_compile_c_interface(mylos_c_objects_${level} -march=${level})
    set(archives mylos_c_rooms_${level})
    if(Mylos_C_LIBRARY_HAS_OTHER_HDF5)
      list(APPEND archives mylos_c_io_${level})
    endif()
    mylos_add_c_library_of(mylos_c_${level} mylos_c_objects_${level} ${archives})
    set_target_properties(mylos_c_${level} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/glibc-hwcaps/${level}")
    mylos_install(TARGETS mylos_c_${level}
                  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${level}" COMPONENT library NAMELINK_SKIP)
  endforeach()
endfunction()

# Called where all rooms are there.
function(mylos_add_c_library)
  # Calls of a shared fmt or toml++ could reach another build of it in the program, or the program's calls this one: their
  # functions are compiled from their headers into the library; those of fmt where the headers have what this version needs.
  get_target_property(fmt_headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  try_compile(Mylos_FMT_GOES_INTO_LIBRARY "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/fmt_inside"
    SOURCES "${PROJECT_SOURCE_DIR}/src/mylos/api/fmt_functions.cpp" "${PROJECT_SOURCE_DIR}/cmake/calls_fmt.cpp"
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${fmt_headers}" CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
  set(inside toml_functions.cpp)
  if(Mylos_FMT_GOES_INTO_LIBRARY)
    list(APPEND inside fmt_functions.cpp)
  endif()
  list(TRANSFORM inside PREPEND "${PROJECT_SOURCE_DIR}/src/mylos/api/")
  add_library(mylos_inside OBJECT ${inside})
  set_target_properties(mylos_inside PROPERTIES UNITY_BUILD OFF)
  target_include_directories(mylos_inside SYSTEM PRIVATE ${fmt_headers}
                             $<TARGET_PROPERTY:tomlplusplus::tomlplusplus,INTERFACE_INCLUDE_DIRECTORIES>)

  list(TRANSFORM mylos_rooms PREPEND mylos_ OUTPUT_VARIABLE rooms)
  if(Mylos_C_LIBRARY_HAS_OTHER_HDF5)
    list(TRANSFORM rooms REPLACE "^mylos_io$" mylos_c_io)
  endif()
  mylos_compile_c_interface(mylos_c_objects)
  mylos_add_c_library_of(mylos_c mylos_c_objects ${rooms})
  add_library(Mylos::c ALIAS mylos_c)
  target_include_directories(mylos_c INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                               "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  set_target_properties(mylos_c PROPERTIES EXPORT_NAME c LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  if(Mylos_PORTABLE)
    mylos_copy_c_library()
  endif()

  mylos_install(TARGETS mylos_c EXPORT MylosCTargets
                LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT development)
  mylos_install(EXPORT MylosCTargets NAMESPACE Mylos:: DESTINATION "${package}" COMPONENT development)
  if(NOT Mylos_ENABLE_INSTALL)
    return()
  endif()
  file(RELATIVE_PATH mylos_prefix_from_pc "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  foreach(name IN ITEMS mylos mylos-fortran)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
    mylos_install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
  endforeach()
endfunction()
