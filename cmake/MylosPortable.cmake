# Mylos_HOST_ARCH=PORTABLE, one build for every x86-64 node: libmylos_cxx.so for any processor and, in the folders where glibc's
# loader (2.33 or later) looks first on processors that are new enough, copies compiled for x86-64-v3 (AVX2 and FMA: Haswell,
# every AMD Zen) and x86-64-v4 (AVX-512: the update of weights is faster by it). One of them is loaded; Kokkos is a shared
# library beside them, for any processor, so a program has one Kokkos.
#
# Copied are the loops that Kokkos launches, and all around them. The same in all are vector code (mylos_vector_sources), which
# chooses among the instruction sets itself, and rooms that are only lightly optimised.
set(mylos_copies x86-64-v3 x86-64-v4)

if(Mylos_PORTABLE)
  get_target_property(kokkos_type Kokkos::kokkoscore TYPE)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" OR Mylos_HAVE_DEVICE OR Mylos_ENABLE_SANITIZERS OR Mylos_ONLY_KERNELS)
    message(FATAL_ERROR "Mylos_HOST_ARCH=PORTABLE is for hosts, x86-64, without sanitizers.")
  elseif(NOT kokkos_type STREQUAL "SHARED_LIBRARY" OR Kokkos_ARCH)
    message(FATAL_ERROR "Mylos_HOST_ARCH=PORTABLE needs Kokkos as a shared library built for any processor; ${mylos_kokkos_place} "
                        "is a ${kokkos_type} for \"${Kokkos_ARCH}\". Run scripts/setup --arch=PORTABLE.")
  endif()
  # What is compiled for a newer processor must not take the place of the same inline function elsewhere, nor the other
  # way round.
  set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
  add_compile_options(-fPIC -fno-semantic-interposition)  # programs too: all share precompiled headers
endif()

# Called at the end of a room's folder: the room's sources once more for each copy.
function(mylos_copy_room)
  get_filename_component(room "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  get_target_property(sources mylos_${room} SOURCES)
  get_directory_property(vector_sources MYLOS_VECTOR_SOURCES)
  list(REMOVE_ITEM sources ${vector_sources})
  foreach(level IN LISTS mylos_copies)
    set(copy mylos_${room}_${level})
    add_library(${copy} OBJECT ${sources})
    target_include_directories(${copy} PRIVATE $<TARGET_PROPERTY:mylos_${room},INCLUDE_DIRECTORIES>)
    target_link_libraries(${copy} PRIVATE $<TARGET_PROPERTY:mylos_${room},LINK_LIBRARIES>)
    target_compile_options(${copy} PRIVATE $<TARGET_PROPERTY:mylos_${room},COMPILE_OPTIONS> -march=${level})
    mylos_precompile(${copy} mylos_base_${level} ${mylos_precompiled_headers})
  endforeach()
endfunction()

# mylos_objects_of_copy(OUTPUT LEVEL ROOMS ...): the object files of these rooms in a copy.
function(mylos_objects_of_copy output level)
  set(objects "")
  foreach(room IN LISTS ARGN)
    if(NOT TARGET mylos_${room}_${level})
      list(APPEND objects $<TARGET_OBJECTS:mylos_${room}>)
      continue()
    endif()
    list(APPEND objects $<TARGET_OBJECTS:mylos_${room}_${level}>)
    get_directory_property(vector_sources DIRECTORY "${PROJECT_SOURCE_DIR}/src/mylos/${room}" MYLOS_VECTOR_SOURCES)
    list(TRANSFORM vector_sources REPLACE ".*/" "")
    list(JOIN vector_sources "|" names)
    if(names)
      list(APPEND objects $<FILTER:$<TARGET_OBJECTS:mylos_${room}>,INCLUDE,/\(${names}\)[^/]*$>)
    endif()
  endforeach()
  set(${output} ${objects} PARENT_SCOPE)
endfunction()

# Called where all rooms are there: the copies of the target mylos_library, which is a shared library.
function(mylos_copy_library)
  foreach(level IN LISTS mylos_copies)
    set(copy mylos_library_${level})
    mylos_objects_of_copy(objects ${level} ${mylos_rooms})
    add_library(${copy} SHARED ${objects})
    target_link_libraries(${copy} PRIVATE $<TARGET_PROPERTY:mylos_library,LINK_LIBRARIES>)
    set_target_properties(${copy} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/glibc-hwcaps/${level}"
                                             INSTALL_RPATH "$ORIGIN/../..")
    add_dependencies(mylos_library ${copy})  # whoever builds the one wants all
    mylos_install(TARGETS ${copy} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${level}" COMPONENT library NAMELINK_SKIP)
    list(APPEND copies ${copy})
  endforeach()
  set_target_properties(mylos_library PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib" INSTALL_RPATH "$ORIGIN")
  set_target_properties(mylos_library ${copies} PROPERTIES
    OUTPUT_NAME mylos_cxx LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(mylos_kokkos_prefix AND Kokkos_DIR MATCHES "^${mylos_kokkos_prefix}/")  # a site's own stays where it is
    mylos_install(IMPORTED_RUNTIME_ARTIFACTS Kokkos::kokkoscore Kokkos::kokkoscontainers
                  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library)
  endif()
endfunction()
