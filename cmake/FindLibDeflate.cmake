# LibDeflate::libdeflate, for its CRC-32 (about three times as fast as zlib's).
find_path(LibDeflate_INCLUDE_DIR libdeflate.h)
find_library(LibDeflate_LIBRARY deflate)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibDeflate REQUIRED_VARS LibDeflate_LIBRARY LibDeflate_INCLUDE_DIR)
if(LibDeflate_FOUND AND NOT TARGET LibDeflate::libdeflate)
  add_library(LibDeflate::libdeflate UNKNOWN IMPORTED)
  set_target_properties(LibDeflate::libdeflate PROPERTIES
    IMPORTED_LOCATION "${LibDeflate_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${LibDeflate_INCLUDE_DIR}")
endif()
mark_as_advanced(LibDeflate_INCLUDE_DIR LibDeflate_LIBRARY)
