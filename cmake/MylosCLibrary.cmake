# libmylos.so, the C interface (include/mylos/mylos.h), which the Fortran module also calls. It shows the functions mylos_*
# alone: Kokkos, Highway, fmt and all rooms are inside, hidden, so that a program may have other versions of them. MPI, HDF5,
# oneDNN and what else is a shared library stay what the program loads.
#
# Everything that it contains is position independent: the rooms, which are compiled once for all, and Kokkos, which
# scripts/setup builds so. Mylos_ENABLE_C_LIBRARY: ON, OFF, AUTO: where Kokkos can be inside.

# Whether Kokkos can be inside: an archive of position-independent code.
function(mylos_check_kokkos_archive output)
  get_target_property(type Kokkos::kokkoscore TYPE)
  if(NOT type STREQUAL "STATIC_LIBRARY")
    set(${output} OFF PARENT_SCOPE)
    return()
  endif()
  get_target_property(archive Kokkos::kokkoscore LOCATION)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/kokkos_inside.cpp")
  file(WRITE "${file}" "extern \"C\" int mylos_nothing() { return 0; }\n")
  try_compile(Mylos_KOKKOS_GOES_INTO_LIBRARY "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/kokkos_inside" "${file}"
    COMPILE_DEFINITIONS -fPIC
    LINK_OPTIONS -shared -fopenmp
    LINK_LIBRARIES "-Wl,--whole-archive" "${archive}" "-Wl,--no-whole-archive" ${CMAKE_DL_LIBS})
  set(${output} "${Mylos_KOKKOS_GOES_INTO_LIBRARY}" PARENT_SCOPE)
endfunction()

set(Mylos_HAVE_C_LIBRARY OFF)
if(NOT Mylos_ENABLE_C_LIBRARY STREQUAL "OFF" AND NOT Mylos_HAVE_DEVICE AND NOT Mylos_PORTABLE AND NOT Mylos_ONLY_KERNELS
   AND NOT Mylos_ENABLE_SANITIZERS AND NOT Mylos_ENABLE_THREAD_SANITIZER AND NOT Mylos_ENABLE_FUZZING
   AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  mylos_check_kokkos_archive(Mylos_HAVE_C_LIBRARY)
endif()
if(Mylos_ENABLE_C_LIBRARY STREQUAL "ON" AND NOT Mylos_HAVE_C_LIBRARY)
  message(FATAL_ERROR "Mylos_ENABLE_C_LIBRARY is ON, but libmylos.so needs a build for hosts, not portable and without sanitizers, "
                      "with Kokkos as an archive of position-independent code; that in ${Kokkos_DIR} is none. Run scripts/setup, "
                      "or build Kokkos with -DCMAKE_POSITION_INDEPENDENT_CODE=ON.")
endif()
if(Mylos_HAVE_C_LIBRARY)
  file(STRINGS "${PROJECT_SOURCE_DIR}/include/mylos/mylos.h" mylos_c_abi REGEX "^#define MYLOS_ABI_VERSION")
  string(REGEX REPLACE "^#define MYLOS_ABI_VERSION " "" mylos_c_abi "${mylos_c_abi}")
  add_compile_options(-fPIC -fno-semantic-interposition)  # programs too: all share precompiled headers
endif()

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
  set(sources arrays.cpp last_error.cpp library.cpp model.cpp model_values.cpp trainer.cpp trainer_parameters.cpp trust.cpp)
  list(TRANSFORM sources PREPEND "${PROJECT_SOURCE_DIR}/src/mylos/api/")
  list(APPEND sources $<TARGET_OBJECTS:mylos_inside>)

  add_library(mylos_c SHARED ${sources})
  add_library(Mylos::c ALIAS mylos_c)
  target_include_directories(mylos_c PRIVATE ${mylos_include_folders} $<TARGET_PROPERTY:mylos_train,INTERFACE_INCLUDE_DIRECTORIES>
                                     INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                               "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_definitions(mylos_c PRIVATE $<TARGET_PROPERTY:mylos_train,INTERFACE_COMPILE_DEFINITIONS>)
  # Of the rooms it takes what it calls: as files, because as targets they would bring what programs of this build link, such
  # as an archive of HDF5.
  foreach(room IN LISTS mylos_rooms)
    list(APPEND archives $<TARGET_FILE:mylos_${room}>)
    add_dependencies(mylos_c mylos_${room})
  endforeach()
  set(outside hdf5::hdf5 MPI::MPI_C xxHash::xxhash ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})
  if(NOT Mylos_FMT_GOES_INTO_LIBRARY)
    list(APPEND outside fmt::fmt)
  endif()
  foreach(engine IN ITEMS ONEDNN:DNNL::dnnl LIBDEFLATE:LibDeflate::libdeflate IMAGES:PNG::PNG IMAGES:TurboJPEG::turbojpeg)
    string(REGEX MATCH "^([A-Z]+):(.*)$" engine "${engine}")
    if(Mylos_HAVE_${CMAKE_MATCH_1})
      list(APPEND outside ${CMAKE_MATCH_2})
    endif()
  endforeach()
  list(TRANSFORM outside REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>")
  target_link_libraries(mylos_c PRIVATE -Wl,--start-group ${archives} -Wl,--end-group
                                        "$<BUILD_INTERFACE:Kokkos::kokkos>" "$<BUILD_INTERFACE:hwy::hwy>" ${outside})
  set(map "${PROJECT_SOURCE_DIR}/src/mylos/api/exported.map")
  # nodelete: threads of OpenMP may wait in it.
  target_link_options(mylos_c PRIVATE "LINKER:--version-script=${map}" LINKER:-Bsymbolic LINKER:--no-undefined
                                      LINKER:-z,nodelete LINKER:--gc-sections)
  set_target_properties(mylos_c PROPERTIES
    OUTPUT_NAME mylos EXPORT_NAME c LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
    SOVERSION ${mylos_c_abi} VERSION ${mylos_c_abi}.${PROJECT_VERSION} LINK_DEPENDS "${map}")
  mylos_warnings(mylos_c)
  add_dependencies(mylos_library mylos_c)  # whoever builds the one wants all that is installed

  install(TARGETS mylos_c EXPORT MylosCTargets
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT development)
  install(EXPORT MylosCTargets NAMESPACE Mylos:: DESTINATION "${package}" COMPONENT development)
  file(RELATIVE_PATH mylos_prefix_from_pc "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  foreach(name IN ITEMS mylos mylos-fortran)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
  endforeach()
endfunction()
