// The function of exported source that reads the file of weights (source_weights.hpp).
#pragma once

#include <string>

namespace mylos {

/// Returns the function for C, with the network's $name in its own, or for C++. In the text, $count and $crc
/// are those of the file.
[[nodiscard]] std::string c_weight_loader(bool is_cpp);
/// Returns the subroutine, with the names in upper case as fortran_source.cpp has them, COUNT and CRC.
[[nodiscard]] std::string fortran_weight_loader();

}  // namespace mylos
