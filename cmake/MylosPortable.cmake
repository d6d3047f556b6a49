# Mylos_HOST_ARCH=PORTABLE, one build for every x86-64 node: libmylos.so for any processor and, in the folder where glibc's loader (2.33 or later)
# looks first on a processor that is new enough, a copy compiled for x86-64-v3 (AVX2 and FMA: Haswell, every AMD Zen). One
# of them is loaded; Kokkos is a shared library beside them, for any processor, so a program has one Kokkos.
#
# Copied are the loops that Kokkos launches, and all around them. Vector code (mylos_vector_sources) is the same in both: it
# chooses among the instruction sets itself.
set(mylos_copy x86-64-v3)

if(Mylos_PORTABLE)
  get_target_property(kokkos_type Kokkos::kokkoscore TYPE)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" OR Mylos_HAVE_DEVICE OR Mylos_ENABLE_SANITIZERS OR Mylos_ONLY_KERNELS)
    message(FATAL_ERROR "Mylos_HOST_ARCH=PORTABLE is for hosts, x86-64, without sanitizers.")
  elseif(NOT kokkos_type STREQUAL "SHARED_LIBRARY" OR Kokkos_ARCH)
    message(FATAL_ERROR "Mylos_HOST_ARCH=PORTABLE needs Kokkos as a shared library built for any processor; the one in ${Kokkos_DIR} "
                        "is a ${kokkos_type} for \"${Kokkos_ARCH}\". Run scripts/setup --arch=PORTABLE.")
  endif()
  # What is compiled for a newer processor must not take the place of the same inline function elsewhere, nor the other
  # way round.
  set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
  add_compile_options(-fPIC -fno-semantic-interposition)  # programs too: all share precompiled headers
endif()

# Called at the end of a room's folder: the room's sources once more, compiled for the copy.
function(mylos_copy_room)
  get_filename_component(room "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  get_target_property(sources mylos_${room} SOURCES)
  get_directory_property(vector_sources MYLOS_VECTOR_SOURCES)
  list(REMOVE_ITEM sources ${vector_sources})
  set(copy mylos_${room}_copy)
  add_library(${copy} OBJECT ${sources})
  target_include_directories(${copy} PRIVATE $<TARGET_PROPERTY:mylos_${room},INCLUDE_DIRECTORIES>)
  target_link_libraries(${copy} PRIVATE $<TARGET_PROPERTY:mylos_${room},LINK_LIBRARIES>)
  target_compile_options(${copy} PRIVATE $<TARGET_PROPERTY:mylos_${room},COMPILE_OPTIONS> -march=${mylos_copy})
  mylos_precompile(${copy} mylos_base_copy ${mylos_precompiled_headers})
endfunction()

# Called where all rooms are there: the copy of the target mylos_library, which is a shared library.
function(mylos_copy_library)
  foreach(room IN LISTS mylos_rooms)
    list(APPEND objects $<TARGET_OBJECTS:mylos_${room}_copy>)
    get_directory_property(vector_sources DIRECTORY "${PROJECT_SOURCE_DIR}/src/${room}" MYLOS_VECTOR_SOURCES)
    list(JOIN vector_sources "|" names)
    if(names)
      list(APPEND objects $<FILTER:$<TARGET_OBJECTS:mylos_${room}>,INCLUDE,/\(${names}\)[^/]*$>)
    endif()
  endforeach()
  add_library(mylos_library_copy SHARED ${objects})
  target_link_libraries(mylos_library_copy PRIVATE $<TARGET_PROPERTY:mylos_library,LINK_LIBRARIES>)
  set_target_properties(mylos_library_copy PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/glibc-hwcaps/${mylos_copy}"
                                                      INSTALL_RPATH "$ORIGIN/../..")
  set_target_properties(mylos_library PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib" INSTALL_RPATH "$ORIGIN")
  set_target_properties(mylos_library mylos_library_copy PROPERTIES
    OUTPUT_NAME mylos LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  add_dependencies(mylos_library mylos_library_copy)  # whoever builds the one wants both
  install(TARGETS mylos_library_copy LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${mylos_copy}" NAMELINK_SKIP)
  if(Kokkos_DIR MATCHES "^${mylos_kokkos_prefix}/")  # a site's own stays where it is
    install(IMPORTED_RUNTIME_ARTIFACTS Kokkos::kokkoscore Kokkos::kokkoscontainers LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
endfunction()
