# Mylos::cudnn: the headers of cuDNN (at least 9) and of its C++ frontend. cuDNN's from the CUDA toolkit's folders, CUDNN_ROOT
# or CMAKE_PREFIX_PATH; the frontend's (at least 1.32) from CMAKE_PREFIX_PATH, else what scripts/setup put into its cache.
# Nothing is linked: programs look for the library when they start to use it.
find_path(CUDNN_INCLUDE_DIR cudnn_version.h HINTS ${CUDNN_ROOT}/include ${CUDAToolkit_INCLUDE_DIRS})
execute_process(COMMAND "${CMAKE_CURRENT_LIST_DIR}/../scripts/kokkos-prefix" --cudnn-frontend
                OUTPUT_VARIABLE mylos_cudnn_frontend_prefix OUTPUT_STRIP_TRAILING_WHITESPACE)
find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h HINTS "${mylos_cudnn_frontend_prefix}/include")

# mylos_version_in(FILE PREFIX RESULT): from lines like "#define CUDNN_MAJOR 9".
function(mylos_version_in file prefix result)
  if(EXISTS "${file}")
    file(STRINGS "${file}" lines REGEX "^#define ${prefix}_(MAJOR|MINOR|PATCH)[A-Z_]* +[0-9]+")
    string(REGEX REPLACE "#define [A-Z_]+ +" "" numbers "${lines}")
    string(REPLACE ";" "." version "${numbers}")
    set(${result} "${version}" PARENT_SCOPE)
  endif()
endfunction()
mylos_version_in("${CUDNN_INCLUDE_DIR}/cudnn_version.h" CUDNN CuDNN_VERSION)
mylos_version_in("${CUDNN_FRONTEND_INCLUDE_DIR}/cudnn_frontend_version.h" CUDNN_FRONTEND CuDNN_FRONTEND_VERSION)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CuDNN REQUIRED_VARS CUDNN_INCLUDE_DIR CUDNN_FRONTEND_INCLUDE_DIR VERSION_VAR CuDNN_VERSION)
if(CuDNN_FOUND AND (CuDNN_VERSION VERSION_LESS 9 OR CuDNN_FRONTEND_VERSION VERSION_LESS 1.32))
  set(CuDNN_FOUND OFF)
endif()
if(CuDNN_FOUND AND NOT TARGET Mylos::cudnn)
  add_library(Mylos::cudnn INTERFACE IMPORTED)
  target_include_directories(Mylos::cudnn INTERFACE "${CUDNN_FRONTEND_INCLUDE_DIR}" "${CUDNN_INCLUDE_DIR}")
  target_compile_definitions(Mylos::cudnn INTERFACE NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING CUDNN_FRONTEND_SKIP_JSON_LIB)
  target_link_libraries(Mylos::cudnn INTERFACE ${CMAKE_DL_LIBS})
endif()
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_FRONTEND_INCLUDE_DIR)
