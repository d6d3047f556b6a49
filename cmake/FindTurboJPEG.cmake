# TurboJPEG::turbojpeg, libjpeg-turbo's own interface (at least 2.1).
find_path(TurboJPEG_INCLUDE_DIR turbojpeg.h)
find_library(TurboJPEG_LIBRARY turbojpeg)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TurboJPEG REQUIRED_VARS TurboJPEG_LIBRARY TurboJPEG_INCLUDE_DIR)
if(TurboJPEG_FOUND)
  file(STRINGS "${TurboJPEG_INCLUDE_DIR}/turbojpeg.h" turbojpeg_limit REGEX "TJFLAG_LIMITSCANS")  # since 2.1
  if(NOT turbojpeg_limit)
    set(TurboJPEG_FOUND OFF)
  endif()
endif()
if(TurboJPEG_FOUND AND NOT TARGET TurboJPEG::turbojpeg)
  add_library(TurboJPEG::turbojpeg UNKNOWN IMPORTED)
  set_target_properties(TurboJPEG::turbojpeg PROPERTIES
    IMPORTED_LOCATION "${TurboJPEG_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${TurboJPEG_INCLUDE_DIR}")
endif()
mark_as_advanced(TurboJPEG_INCLUDE_DIR TurboJPEG_LIBRARY)
