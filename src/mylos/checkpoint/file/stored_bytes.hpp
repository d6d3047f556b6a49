// Transfers between the state's memory and the datasets of a file: pieces through the host, with their
// CRC-32.
#pragma once

#include <cstdint>
#include <string_view>

#include "mylos/checkpoint/file/state.hpp"
#include "mylos/io/files/raw_file.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

inline constexpr const char* crc_attribute = "crc32";

/// Maximum bytes that pass through the host at a time.
inline constexpr std::int64_t piece_bytes = RawFile::piece_bytes;

/// Returns the bytes of one element.
[[nodiscard]] constexpr std::int64_t element_bytes(DType type) {
  return static_cast<std::int64_t>(size_of(type));
}

/// Writes a piece of the array, which starts at byte `offset` of the file, bypassing HDF5. Returns the CRC-32
/// of its bytes.
std::uint32_t write_bytes(RawFile& file, std::int64_t offset, const StateArray& array,
                          const StatePiece& piece);
/// Reads all elements of the dataset and stores those of the array's pieces. The dataset has the array's
/// type, or 16 bits: those of the memory, or floats are in memory. Returns the CRC-32 of all.
std::uint32_t read_elements(const hdf5::Dataset& dataset, const StateArray& array);

/// Returns the CRC-32 of the dataset, read piece by piece. Throws Error (bad_input) unless it holds text or
/// numbers of a DType.
[[nodiscard]] std::uint32_t crc_of(const hdf5::Dataset& dataset);
/// Returns the CRC-32 of a text as stored: at least one byte.
[[nodiscard]] std::uint32_t crc_of_text(std::string_view text);

/// Throws Error (bad_input) unless the dataset's stored CRC-32 is `crc`.
void require_crc(const hdf5::File& file, const std::string& path, std::uint32_t crc);

}  // namespace mylos
