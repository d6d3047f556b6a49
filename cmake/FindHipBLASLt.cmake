# HipBLASLt::hipblaslt, from ROCm's folders, ROCM_PATH, HipBLASLt_ROOT or CMAKE_PREFIX_PATH. At least 1.0.
find_path(HipBLASLt_INCLUDE_DIR hipblaslt/hipblaslt.h HINTS $ENV{ROCM_PATH}/include PATHS /opt/rocm/include)
find_library(HipBLASLt_LIBRARY hipblaslt HINTS $ENV{ROCM_PATH}/lib PATHS /opt/rocm/lib)
if(HipBLASLt_INCLUDE_DIR)
  file(STRINGS "${HipBLASLt_INCLUDE_DIR}/hipblaslt/hipblaslt-version.h" hipblaslt_version_lines
       REGEX "^#define HIPBLASLT_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE "#define [A-Z_]+ +" "" hipblaslt_version_numbers "${hipblaslt_version_lines}")
  string(REPLACE ";" "." HipBLASLt_VERSION "${hipblaslt_version_numbers}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HipBLASLt
  REQUIRED_VARS HipBLASLt_LIBRARY HipBLASLt_INCLUDE_DIR VERSION_VAR HipBLASLt_VERSION)
if(HipBLASLt_FOUND AND NOT TARGET HipBLASLt::hipblaslt)
  add_library(HipBLASLt::hipblaslt UNKNOWN IMPORTED)
  set_target_properties(HipBLASLt::hipblaslt PROPERTIES
    IMPORTED_LOCATION "${HipBLASLt_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${HipBLASLt_INCLUDE_DIR}")
endif()
mark_as_advanced(HipBLASLt_INCLUDE_DIR HipBLASLt_LIBRARY)
