# The shapes that every room's CMakeLists.txt takes: a library, its tests, its tests on several ranks, a benchmark.

# mylos_add_room(NAME [LIGHTLY_OPTIMISED] SOURCES ... LINK ...): the static library mylos_NAME of one room of the floor plan.
# A room links only rooms below it, so an include that points up does not build. LIGHTLY_OPTIMISED: as below.
function(mylos_add_room name)
  cmake_parse_arguments(room "LIGHTLY_OPTIMISED" "" "SOURCES;LINK" ${ARGN})
  add_library(mylos_${name} STATIC ${room_SOURCES})
  target_include_directories(mylos_${name} PUBLIC ${mylos_include_folders})
  target_link_libraries(mylos_${name} PUBLIC ${room_LINK})
  mylos_warnings(mylos_${name})
  if(room_LIGHTLY_OPTIMISED)
    mylos_optimise_lightly(mylos_${name})
  else()
    mylos_precompile(mylos_${name} mylos_base ${mylos_precompiled_headers})
  endif()
  if(Mylos_PORTABLE AND NOT room_LIGHTLY_OPTIMISED)
    cmake_language(DEFER CALL mylos_copy_room)
  endif()
  mylos_group_sources(mylos_${name})
endfunction()

# mylos_group_sources(TARGET): in a unity build for NVIDIA devices, what sees Kokkos is compiled together, and apart from it all
# else: cmake/device-compiler gives that to the C++ compiler, in less than half of nvcc's time.
function(mylos_group_sources target)
  if(Mylos_HAVE_CUDA AND CMAKE_UNITY_BUILD)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL mylos_group_all_sources ${target})")  # with those that are added later
  endif()
endfunction()
function(mylos_group_all_sources target)
  get_target_property(sources ${target} SOURCES)
  set(size ${CMAKE_UNITY_BUILD_BATCH_SIZE})
  if(NOT size)  # all together
    list(LENGTH sources size)
  endif()
  set(count_of_kokkos 0)
  set(count_of_others 0)
  foreach(source IN LISTS sources)
    get_filename_component(file "${source}" ABSOLUTE)
    mylos_sees_kokkos(sees "${file}")
    set(kind others)
    if(sees)
      set(kind kokkos)
    endif()
    math(EXPR group "${count_of_${kind}} / ${size}")
    math(EXPR count_of_${kind} "${count_of_${kind}} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${kind}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# Whether a file includes Kokkos, itself or by files of Mylos. kokkos_names.hpp does where nvcc compiles. A wrong answer costs
# time alone.
function(mylos_sees_kokkos output file)
  get_property(known GLOBAL PROPERTY "mylos_sees_kokkos ${file}")
  if("${known}" STREQUAL "" AND EXISTS "${file}")
    set(known OFF)
    set_property(GLOBAL PROPERTY "mylos_sees_kokkos ${file}" OFF)
    get_filename_component(folder "${file}" DIRECTORY)
    file(STRINGS "${file}" lines REGEX "^#include (<Kokkos|\")")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include [<\"]([^>\"]*).*" "\\1" name "${line}")
      if(name MATCHES "^Kokkos")
        set(known ON)
      elseif(NOT name STREQUAL "mylos/base/kokkos_names.hpp")
        foreach(place IN ITEMS "${folder}" ${mylos_include_folders} "${PROJECT_SOURCE_DIR}/src/mylos/device/cuda"
                               "${PROJECT_SOURCE_DIR}/apps/mylos")
          if(EXISTS "${place}/${name}")
            mylos_sees_kokkos(known "${place}/${name}")
            break()
          endif()
        endforeach()
      endif()
      if(known)
        break()
      endif()
    endforeach()
    set_property(GLOBAL PROPERTY "mylos_sees_kokkos ${file}" ${known})
  endif()
  set(${output} ${known} PARENT_SCOPE)
endfunction()

# mylos_optimise_lightly(TARGET): for code that reads decks, writes files and hands work to others. Optimising it fully takes
# a third of its compile time and gains nothing that can be measured.
function(mylos_optimise_lightly target)
  if(Mylos_ENABLE_SANITIZERS)
    set(level -O0)
  elseif(CMAKE_BUILD_TYPE STREQUAL Release AND NOT Mylos_HAVE_DEVICE)
    set(level -O1)
  else()
    mylos_precompile(${target} mylos_base)
    return()
  endif()
  target_compile_options(${target} PRIVATE ${level})
  if(NOT TARGET mylos_lightly_optimised_headers)  # precompiled ones are of one level of optimisation
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/nothing.cpp" "")
    add_library(mylos_lightly_optimised_headers OBJECT "${CMAKE_CURRENT_BINARY_DIR}/nothing.cpp")
    target_link_libraries(mylos_lightly_optimised_headers PRIVATE mylos_base)
    target_compile_options(mylos_lightly_optimised_headers PRIVATE ${level})
    mylos_precompile(mylos_lightly_optimised_headers mylos_lightly_optimised_headers ${mylos_precompiled_headers})
  endif()
  mylos_precompile(${target} mylos_lightly_optimised_headers)
endfunction()

# mylos_device_sources(TARGET VENDOR NAMES ...): the files of src/mylos/device/VENDOR that define what a room declares. VENDOR:
# cuda, hip, sycl, or none where a build does not have the vendor's library. Those that are not there are of device/runtime, for
# the two vendors that it serves, or else those of none.
function(mylos_device_sources target vendor)
  set(folders ${vendor} none)
  if(vendor MATCHES "^(cuda|hip)$")
    list(INSERT folders 1 runtime)
  endif()
  foreach(name IN LISTS ARGN)
    foreach(folder IN LISTS folders)
      set(source "${PROJECT_SOURCE_DIR}/src/mylos/device/${folder}/${name}.cpp")
      if(EXISTS "${source}")
        target_sources(${target} PRIVATE "${source}")
        break()
      endif()
    endforeach()
  endforeach()
endfunction()

# What users include, and what is ours.
set(mylos_include_folders "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
# The header that base/device/target.hpp includes: MYLOS_TARGET_CUDA, ..._HIP, ..._SYCL, or the host's or emulated one.
set(mylos_target_definitions "")
if(Mylos_EMULATE_DEVICE)
  set(mylos_target_definitions MYLOS_EMULATED_LANES=${Mylos_EMULATED_LANES})
elseif(Mylos_HAVE_DEVICE)
  string(TOUPPER "MYLOS_TARGET_${Mylos_VENDOR}" mylos_target_definitions)
endif()
set(mylos_precompiled_headers Kokkos_Core.hpp fmt/format.h algorithm functional memory string vector)

# mylos_link_rooms(TARGET LIBRARIES ...): for the command and benchmarks. In a portable build the rooms among the libraries
# are the one library that holds them all (MylosPortable.cmake); unit tests keep to the rooms.
function(mylos_link_rooms target)
  if(Mylos_PORTABLE)
    list(TRANSFORM ARGN REPLACE "^mylos_[a-z]+$" Mylos::mylos)
  endif()
  target_link_libraries(${target} PUBLIC ${ARGN})
  target_include_directories(${target} PRIVATE ${mylos_include_folders})  # Mylos::mylos has what users include
endfunction()

# The processor from which Highway's targets begin: what stands outside of them in vector code is compiled for it. Any one,
# but in a build for this machine alone, which has its best set and the one below it: half of the compile time of all.
set(mylos_vector_baseline "")
set(mylos_vector_sets_left_out 0)  # as base/vector/vector_targets.hpp reads it
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(mylos_vector_baseline -march=x86-64 -mtune=generic)
  if(Mylos_VECTOR_SETS STREQUAL NATIVE OR (Mylos_VECTOR_SETS STREQUAL AUTO AND mylos_is_for_this_machine))
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -march=native -dM -E -x c++ /dev/null OUTPUT_VARIABLE macros)
    if(macros MATCHES "__AVX512BF16__" AND macros MATCHES "__AVX512VL__")
      set(mylos_vector_baseline -march=x86-64-v4 -maes -mpclmul -mtune=generic)  # the two are part of Highway's AVX2
    elseif(macros MATCHES "__AVX512VL__")
      set(mylos_vector_baseline -march=x86-64-v3 -maes -mpclmul -mtune=generic)
      set(mylos_vector_sets_left_out HWY_AVX3_ZEN4)
    else()
      set(mylos_vector_sets_left_out "HWY_AVX3|HWY_AVX3_ZEN4")
    endif()
  endif()
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(mylos_vector_baseline -march=armv8-a)
endif()
# mylos_vector_sources(TARGET FILES ...): vector code, which Highway compiles once for each of its targets, by flags of its own;
# so these files share no precompiled header. Highway's headers take 7 s to read: a unity build compiles the files of one call
# together, by a file that Highway includes for each of its targets in their place.
function(mylos_vector_sources target)
  set(sources ${ARGN})
  list(LENGTH sources count)
  if(CMAKE_UNITY_BUILD AND count GREATER 1)
    get_property(number DIRECTORY PROPERTY MYLOS_VECTOR_SOURCES)
    list(LENGTH number number)
    set(together "${CMAKE_CURRENT_BINARY_DIR}/vector_${number}.cpp")
    list(TRANSFORM sources PREPEND "#include \"${CMAKE_CURRENT_SOURCE_DIR}/")
    list(TRANSFORM sources APPEND "\"\n")
    list(JOIN sources "" includes)
    set(this "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"${together}\"\n")
    file(CONFIGURE OUTPUT "${together}" @ONLY CONTENT
      "#include \"mylos/base/vector/vector_targets.hpp\"\n@this@#include <hwy/foreach_target.h>\n#include <hwy/highway.h>\n@includes@@this@")
    set(sources "${together}")
  endif()
  set(flags ${mylos_vector_baseline})
  if(Mylos_ENABLE_SANITIZERS AND NOT Mylos_SANITIZE_VECTOR_CODE)
    list(APPEND flags -fno-sanitize=address,undefined)
  elseif(Mylos_ENABLE_SANITIZERS)  # by which all that is inlined into a kernel would cost more compile time than all else
    list(APPEND flags -fno-sanitize-address-use-after-scope)
  endif()
  target_sources(${target} PRIVATE ${sources})
  set_source_files_properties(${sources} PROPERTIES
    COMPILE_OPTIONS "${flags}" COMPILE_DEFINITIONS "MYLOS_TARGETS_LEFT_OUT=${mylos_vector_sets_left_out}"
    SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  set_property(DIRECTORY APPEND PROPERTY MYLOS_VECTOR_SOURCES ${sources})
endfunction()

# mylos_precompile(TARGET OWNER [HEADERS ...]): TARGET's files begin with the headers that OWNER has precompiled, which are
# HEADERS where it is OWNER itself. Reading Kokkos takes 2 to 3 s of every file's compile time.
function(mylos_precompile target owner)
  if(NOT Mylos_ENABLE_PRECOMPILED_HEADERS OR Mylos_HAVE_CUDA OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  elseif(target STREQUAL owner)
    list(TRANSFORM ARGN REPLACE "(.+)" "<\\1>" OUTPUT_VARIABLE headers)
    target_precompile_headers(${target} PRIVATE ${headers})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# nvcc sends its own generated code through the host compiler, which would be blamed on us: no -Wconversion, no -Werror there.
# hipcc's Clang is newer than those that -Wshadow and -Wconversion were tried with, and in builds for devices some functions
# serve hosts alone. In a project that contains Mylos there are none, unless they are wanted.
function(mylos_warnings target)
  if(mylos_in_project AND NOT Mylos_ENABLE_WERROR)
    return()
  endif()
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)  # of Kokkos' loops
  if(NOT Mylos_HAVE_CUDA)
    target_compile_options(${target} PRIVATE $<$<BOOL:${Mylos_ENABLE_WERROR}>:-Werror>)
  endif()
  if(Mylos_HAVE_HIP)
    target_compile_options(${target} PRIVATE -Wno-unneeded-internal-declaration -Wno-unused-function)
  elseif(NOT Mylos_HAVE_CUDA)
    target_compile_options(${target} PRIVATE -Wshadow -Wconversion)
  endif()
endfunction()

# mylos_compile_test(TARGET [UNOPTIMISED]): a test program's warnings, precompiled headers and level of optimisation. The test's
# own code runs for seconds at most, and optimising it fully would take longer than that; the rooms that it calls are optimised
# as always. UNOPTIMISED: it hardly computes at all.
function(mylos_compile_test target)
  mylos_warnings(${target})
  if("UNOPTIMISED" IN_LIST ARGN AND TARGET mylos_unoptimised_headers)
    target_compile_options(${target} PRIVATE -O0)
    mylos_precompile(${target} mylos_unoptimised_headers)
  else()
    target_compile_options(${target} PRIVATE ${mylos_test_optimisation})
    mylos_precompile(${target} mylos_test_support)
  endif()
endfunction()
set(mylos_test_optimisation "")
if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT Mylos_HAVE_DEVICE)
  set(mylos_test_optimisation -O1)
endif()

# Ends what hangs; no measure of speed.
set(mylos_test_timeout 1200)
if(Mylos_EMULATE_DEVICE)
  set(mylos_test_timeout 3600)
endif()

# Threads wait without spinning: several tests share the cores, and a spinning one would hold up those it waits for. Open MPI
# takes ob1 on one node anyway, but first looks 0.2 s for networks at each of the thousands of starts.
set(mylos_test_environment
  OMP_WAIT_POLICY=passive OMPI_MCA_pml=ob1
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_PROC_BIND=false
  "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/leaks.txt:print_suppressions=0:leak_check_at_exit=0"
  UBSAN_OPTIONS=print_stacktrace=1)

# Every change is tested on one rank and on three. Two and four, and the instruction sets below the best, are left to
# scripts/test --full, and to scripts/test --changed where what they test has changed.
set(mylos_left_to_full "[.]ranks[24]$")

# Threads of a test program and of each of its ranks, and of a program whose work is divided into threads. Two threads that
# wait for each other inside oneDNN's kernels spin: where six such programs share two cores, a second of work takes a minute.
# Where threads stand for a device's, as many as its largest team has.
set(mylos_test_threads 1)
set(mylos_divided_threads 2)
if(Mylos_EMULATE_DEVICE)
  set(mylos_test_threads 32)
  set(mylos_divided_threads 32)
endif()

# mylos_add_tests(ROOM SOURCES test_x.cpp ... [LINK ...] [LABELS ...] [DEVICE] [UNOPTIMISED] [THREADS]): the GoogleTest program
# test_ROOM. One ctest entry, ROOM.x, per file test_x.cpp: starting MPI and Kokkos for every single test would cost more than
# the tests. THREADS: with several, because the room divides work among them; see also mylos_add_thread_tests.
# DEVICE: its kernels run where Kokkos' default execution space is, so they get the label device, and the preset cuda-tests
# builds them for the device. UNOPTIMISED: as above.
function(mylos_add_tests room)
  cmake_parse_arguments(test "DEVICE;UNOPTIMISED;THREADS" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(test_${room} ${test_SOURCES})
  target_link_libraries(test_${room} PRIVATE mylos_${room} mylos_test_support ${test_LINK})
  set(unoptimised "")
  if(test_UNOPTIMISED)
    set(unoptimised UNOPTIMISED)
  endif()
  mylos_compile_test(test_${room} ${unoptimised})
  if(test_DEVICE)
    list(APPEND test_LABELS device)
    add_dependencies(device_tests test_${room})
  endif()
  set(threads ${mylos_test_threads})
  set(processors 1)
  if(test_THREADS)
    set(threads ${mylos_divided_threads})
    set(processors 2)
  endif()
  foreach(source IN LISTS test_SOURCES)
    get_filename_component(file "${source}" NAME)
    if(file MATCHES "^test_(.*)\\.cpp$")
      set(entry ${room}.${CMAKE_MATCH_1})
      add_test(NAME ${entry} COMMAND test_${room} --file=${file})
      set_tests_properties(${entry} PROPERTIES
        LABELS "${room};unit;${test_LABELS}" PROCESSORS ${processors} TIMEOUT ${mylos_test_timeout}
        ENVIRONMENT "${mylos_test_environment};OMP_NUM_THREADS=${threads}")
    endif()
  endforeach()
endfunction()

# Highway's targets for the processor that is built for, and how much of it oneDNN then uses (ONEDNN_MAX_CPU_ISA).
set(mylos_vector_targets "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(mylos_vector_targets baseline:SSE41 avx2:AVX2 avx512:AVX512_CORE avx512-bf16:AVX512_CORE_BF16)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(mylos_vector_targets neon:ALL sve:ALL)
endif()

# mylos_add_target_tests(ROOM FILES test_x.cpp ...): tests of test_ROOM, those of these files, once more by the instructions
# of each of Highway's targets: ROOM@avx2 ... They are the tests of vector code; all other code is the same for every target.
# A target that the processor lacks is skipped, and so is its best one, by which ROOM.x run. All have five threads: tests of
# thread counts compare the bits of one to five. full.ROOM@avx2 ..., label full: all tests of test_ROOM.
function(mylos_add_target_tests room)
  cmake_parse_arguments(test "" "" "FILES" ${ARGN})
  if(Mylos_HAVE_DEVICE)
    return()
  endif()
  list(TRANSFORM test_FILES PREPEND --file=)
  foreach(target IN LISTS mylos_vector_targets)
    string(REGEX MATCH "^(.*):(.*)$" target "${target}")
    set(entry ${room}@${CMAKE_MATCH_1})
    add_test(NAME ${entry} COMMAND test_${room} ${test_FILES})
    add_test(NAME full.${entry} COMMAND test_${room})
    set_tests_properties(${entry} full.${entry} PROPERTIES
      LABELS "${room};unit;targets;full" PROCESSORS 2 COST 20 TIMEOUT ${mylos_test_timeout} SKIP_RETURN_CODE 77
      ENVIRONMENT "${mylos_test_environment};OMP_NUM_THREADS=5;MYLOS_TEST_INSTRUCTIONS=${CMAKE_MATCH_1};MYLOS_TEST_BELOW_BEST=1;ONEDNN_MAX_CPU_ISA=${CMAKE_MATCH_2}")
    set_property(TEST full.${entry} PROPERTY LABELS full targets)
  endforeach()
endfunction()

# mylos_add_thread_tests(ROOM PATTERN ...): tests of thread counts, those of test_ROOM with these GoogleTest patterns, with
# five threads by the processor's best instructions: ROOM@threads.
function(mylos_add_thread_tests room)
  if(Mylos_HAVE_DEVICE)
    return()
  endif()
  list(JOIN ARGN ":" pattern)
  add_test(NAME ${room}@threads COMMAND test_${room} "--gtest_filter=${pattern}")
  set_tests_properties(${room}@threads PROPERTIES
    LABELS "${room};unit;targets" PROCESSORS 2 TIMEOUT ${mylos_test_timeout}
    ENVIRONMENT "${mylos_test_environment};OMP_NUM_THREADS=5")
endfunction()

# mylos_files_of_ranks(OUTPUT FILES ...): --file=test_x.cpp for each of these test files that names what several ranks have:
# MPI, a communicator, or one of the helpers that make one. The tests of the others are the same on any number of ranks.
function(mylos_files_of_ranks output)
  set(arguments "")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(STRINGS "${file}" lines LIMIT_COUNT 1
         REGEX "MPI_|[Cc]ommunicator|RankGroup|Trainer|SmallRun|memory_world[.]hpp|run_on_file[.]hpp|online[.]hpp")
    get_filename_component(name "${file}" NAME)
    if(lines AND name MATCHES "^test_")
      list(APPEND arguments --file=${name})
    endif()
  endforeach()
  set(${output} ${arguments} PARENT_SCOPE)
endfunction()

# mylos_add_rank_test(NAME COMMAND ... RANKS 1 2 3 4 [LABELS ...] [DEVICE] [WAITS]): the command under mpirun, one entry per
# rank count. DEVICE: as above; in a build for devices several ranks need a device each, and so have the label multi-gpu.
# WAITS: for the clock, and hardly computes, so that others run beside it.
function(mylos_add_rank_test name)
  cmake_parse_arguments(test "DEVICE;WAITS" "" "COMMAND;RANKS;LABELS" ${ARGN})
  list(POP_FRONT test_COMMAND program)
  if(TARGET ${program})
    if(test_DEVICE)
      add_dependencies(device_tests ${program})
    endif()
    set(program $<TARGET_FILE:${program}>)
  endif()
  set(labels ${test_LABELS})
  foreach(ranks IN LISTS test_RANKS)
    set(test_LABELS ${labels})
    if(test_DEVICE AND Mylos_HAVE_DEVICE AND ranks GREATER 1)
      list(APPEND test_LABELS multi-gpu)
    elseif(test_DEVICE)
      list(APPEND test_LABELS device)
    endif()
    if("${name}.ranks${ranks}" MATCHES "${mylos_left_to_full}")
      list(APPEND test_LABELS full)
    endif()
    add_test(NAME ${name}.ranks${ranks}
             COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -n ${ranks} ${program} ${test_COMMAND})
    set(processors ${ranks})
    if(test_WAITS)
      set(processors 1)
    endif()
    set_tests_properties(${name}.ranks${ranks} PROPERTIES
      LABELS "ranks;${test_LABELS}" PROCESSORS ${processors} COST 15 TIMEOUT ${mylos_test_timeout}
      ENVIRONMENT "${mylos_test_environment};OMP_NUM_THREADS=${mylos_test_threads}")
  endforeach()
endfunction()

# mylos_add_benchmark(NAME SOURCES ... LINK ...): the Google Benchmark program bin/NAME.
function(mylos_add_benchmark name)
  cmake_parse_arguments(benchmark "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${benchmark_SOURCES} ${benchmark_UNPARSED_ARGUMENTS})
  mylos_link_rooms(${name} benchmark::benchmark ${benchmark_LINK})
  mylos_warnings(${name})
endfunction()
