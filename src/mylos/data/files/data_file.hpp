// Opens the files that a run learns from.
#pragma once

#include <fmt/format.h>

#include "mylos/base/error.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

/// Calls hdf5::File::open; its message also explains how to make such a file.
inline hdf5::File open_data_file(const std::string& path) {
  try {
    return hdf5::File::open(path);
  } catch (const Error& error) {
    throw error.with(fmt::format("{}; `mylos prepare` makes data files", error.message()));
  }
}

}  // namespace mylos
