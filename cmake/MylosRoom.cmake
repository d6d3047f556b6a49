# mylos_add_room(NAME SOURCES ... LINK ...): the static library mylos_NAME of one room of the floor plan.
# A room links only rooms below it, so an include that points up does not build.
function(mylos_add_room name)
  cmake_parse_arguments(room "" "" "SOURCES;LINK" ${ARGN})
  add_library(mylos_${name} STATIC ${room_SOURCES})
  target_include_directories(mylos_${name} PUBLIC "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(mylos_${name} PUBLIC ${room_LINK})
  mylos_warnings(mylos_${name})
endfunction()

function(mylos_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion)
  if(Mylos_ENABLE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# mylos_add_tests(ROOM SOURCES ... [LINK ...]): the GoogleTest program test_ROOM, one ctest entry per test, label ROOM.
function(mylos_add_tests room)
  cmake_parse_arguments(test "" "" "SOURCES;LINK" ${ARGN})
  add_executable(test_${room} ${test_SOURCES})
  target_link_libraries(test_${room} PRIVATE mylos_${room} mylos_test_support ${test_LINK})
  mylos_warnings(test_${room})
  gtest_discover_tests(test_${room} DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS "${room}" ENVIRONMENT "OMP_NUM_THREADS=2")
endfunction()

# mylos_add_rank_test(NAME COMMAND ... RANKS 1 2 3 4 [LABELS ...]): the command under mpirun, one entry per rank count.
function(mylos_add_rank_test name)
  cmake_parse_arguments(test "" "" "COMMAND;RANKS;LABELS" ${ARGN})
  foreach(ranks IN LISTS test_RANKS)
    add_test(NAME ${name}.ranks${ranks}
             COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -n ${ranks} ${test_COMMAND})
    set_tests_properties(${name}.ranks${ranks} PROPERTIES
      LABELS "ranks;${test_LABELS}" PROCESSORS ${ranks} TIMEOUT 300
      ENVIRONMENT "OMP_NUM_THREADS=1;OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
  endforeach()
endfunction()
