// Calls that HDF5 has renamed since 1.10. Each template takes the name that the headers declare: the new one
// if it exists, since a library may be built without the deprecated one.
#pragma once

#include <hdf5.h>

namespace mylos::hdf5 {

/// Finds the type of the object that `name` links to, and the number of hard links to it. `Info` is
/// H5O_info_t, a struct of another version after 1.10.
template <class Info>
[[nodiscard]] herr_t find_info(hid_t group, const char* name, Info& info) {
  if constexpr (requires { H5Oget_info_by_name3(group, name, &info, H5O_INFO_BASIC, H5P_DEFAULT); }) {
    return H5Oget_info_by_name3(group, name, &info, H5O_INFO_BASIC, H5P_DEFAULT);  // since 1.12
  } else {
    return H5Oget_info_by_name2(group, name, &info, H5O_INFO_BASIC, H5P_DEFAULT);
  }
}

/// Frees the variable-length parts that a read of `type` has allocated. `Data` is a pointer. (1.10.8 declares
/// H5Treclaim, but lacks it.)
template <class Data>
void reclaim(hid_t type, hid_t space, Data data) {
  if constexpr (requires { H5Dvlen_reclaim(type, space, H5P_DEFAULT, data); }) {
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, data);
  } else {
    H5Treclaim(type, space, H5P_DEFAULT, data);
  }
}

/// Gives a driver's class the version and the number that HDF5 asks for since 1.14. `Class` is H5FD_class_t.
template <class Class>
void set_version(Class& driver) {
  if constexpr (requires { driver.version; }) {
    driver.version = 1;  // H5FD_CLASS_VERSION
    driver.value = 512;  // the first that is free for programs' own
  }
}

/// Returns whether the file `name`, a const char*, starts like an HDF5 file; negative if it cannot be read.
template <class Name>
[[nodiscard]] htri_t has_signature(Name name) {
  if constexpr (requires { H5Fis_accessible(name, H5P_DEFAULT); }) {  // since 1.12
    return H5Fis_accessible(name, H5P_DEFAULT);
  } else {
    return H5Fis_hdf5(name);
  }
}

}  // namespace mylos::hdf5
