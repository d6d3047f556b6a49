#include "mylos/checkpoint/file/stored_bytes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <vector>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/checkpoint/file/widened_values.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {
namespace {

static_assert(std::endian::native == std::endian::little,
              "checkpoint files are little-endian, and bytes are written unchanged");

std::int64_t elements_per_piece(DType type) {
  return piece_bytes / element_bytes(type);
}

using HostBytes = Kokkos::View<std::byte*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using DeviceBytes = Kokkos::View<std::byte*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using ConstDeviceBytes = Kokkos::View<const std::byte*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Calls fill(first, count, host memory of these elements in the file's type) for the piece: once if the host
/// can access the state's memory and it has the file's type, otherwise part by part through a buffer.
void fill_piece(const StateArray& array, const StatePiece& piece,
                const std::function<void(std::int64_t, std::int64_t, std::byte*)>& fill) {
  auto* start = static_cast<std::byte*>(piece.data);
  const bool is_near = memory_is_host || !array.on_device;
  if (is_near && !array.memory_type) {
    if (piece.count > 0) fill(piece.first, piece.count, start);
    return;
  }
  const std::int64_t max_count = elements_per_piece(array.type);
  std::vector<std::byte> buffer(static_cast<std::size_t>(array.bytes_of(std::min(max_count, piece.count))));
  for (std::int64_t done = 0; done < piece.count; done += max_count) {
    const std::int64_t length = std::min(max_count, piece.count - done);
    if (array.memory_type) {
      auto* const floats = reinterpret_cast<float*>(buffer.data());
      const StatePiece part{piece.first + done, length, start + array.memory_bytes_of(done)};
      fill(part.first, length, buffer.data());
      round_into(array, part, floats);
      continue;
    }
    const auto bytes = static_cast<std::size_t>(array.bytes_of(length));
    const HostBytes host(buffer.data(), bytes);
    const DeviceBytes device(start + array.bytes_of(done), bytes);
    fill(piece.first + done, length, buffer.data());
    Kokkos::deep_copy(device, host);
  }
}

/// Returns the CRC-32 of elements [first, first + count) of the dataset, continued from `crc`.
std::uint32_t continue_crc(const hdf5::Dataset& dataset, std::int64_t first, std::int64_t count,
                           std::uint32_t crc) {
  const std::int64_t width = element_bytes(*dataset.type());
  const std::int64_t max_count = elements_per_piece(*dataset.type());
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(max_count, count) * width));
  for (std::int64_t done = 0; done < count; done += max_count) {
    const std::int64_t length = std::min(max_count, count - done);
    dataset.read_unconverted(first + done, length, buffer.data());
    crc = crc32_of(buffer.data(), static_cast<std::size_t>(length * width), crc);
  }
  return crc;
}

/// Reads 16-bit floats of the dataset as floats. Returns the CRC-32 of what the file holds, continued from
/// `crc`.
std::uint32_t read_widened(const hdf5::Dataset& dataset, std::int64_t first, std::int64_t count,
                           float* floats, std::uint32_t crc) {
  dispatch(*dataset.type(), [&]<class T>(TypeTag<T>) {
    const std::int64_t max_count = elements_per_piece(*dataset.type());
    std::vector<T> buffer(static_cast<std::size_t>(std::min(max_count, count)));
    for (std::int64_t done = 0; done < count; done += max_count) {
      const std::int64_t length = std::min(max_count, count - done);
      dataset.read_unconverted(first + done, length, buffer.data());
      crc = crc32_of(buffer.data(), static_cast<std::size_t>(length) * sizeof(T), crc);
      for (std::int64_t i = 0; i < length; ++i)
        floats[done + i] = to_float(buffer[static_cast<std::size_t>(i)]);
    }
  });
  return crc;
}

}  // namespace

std::uint32_t write_bytes(RawFile& file, std::int64_t offset, const StateArray& array,
                          const StatePiece& piece) {
  std::uint32_t crc = 0;
  const auto* start = static_cast<const std::byte*>(piece.data);
  const std::int64_t file_offset = offset + array.bytes_of(piece.first);
  file.write(file_offset, array.bytes_of(piece.count),
             [&](std::byte* buffer, std::int64_t first, std::int64_t count) {
               const auto bytes = static_cast<std::size_t>(count);
               if (array.memory_type) {
                 widen_bytes(array, piece, first, count, buffer);
               } else if (memory_is_host || !array.on_device) {
                 std::memcpy(buffer, start + first, bytes);
               } else {
                 Kokkos::deep_copy(HostBytes(buffer, bytes), ConstDeviceBytes(start + first, bytes));
               }
               crc = crc32_of(buffer, bytes, crc);
             });
  return crc;
}

std::uint32_t read_elements(const hdf5::Dataset& dataset, const StateArray& state_array) {
  const DType stored = *dataset.type();
  const bool is_widened = stored != state_array.type && !state_array.memory_type;
  StateArray array = state_array;
  if (stored == state_array.memory_type) {  // in the file as in memory
    array.type = stored;
    array.memory_type.reset();
  }
  std::uint32_t crc = 0;
  std::int64_t end = 0;  // of what was read
  for (const StatePiece& piece : array.pieces) {
    crc = continue_crc(dataset, end, piece.first - end, crc);
    fill_piece(array, piece, [&](std::int64_t from, std::int64_t length, std::byte* host) {
      if (is_widened) {
        crc = read_widened(dataset, from, length, reinterpret_cast<float*>(host), crc);
        return;
      }
      dataset.read_unconverted(from, length, host);
      crc = crc32_of(host, static_cast<std::size_t>(array.bytes_of(length)), crc);
    });
    end = piece.first + piece.count;
  }
  return continue_crc(dataset, end, array.size() - end, crc);
}

std::uint32_t crc_of(const hdf5::Dataset& dataset) {
  if (dataset.is_text()) return crc_of_text(dataset.read_text());
  using enum DType;
  dataset.require({fp32, fp64, int32, int64, uint8, uint16, uint32, uint64, fp16, bf16},
                  dataset.dims().size(), "");
  return continue_crc(dataset, 0, dataset.size(), 0);
}

std::uint32_t crc_of_text(std::string_view text) {
  return text.empty() ? crc32_of("", 1) : crc32_of(text.data(), text.size());
}

void require_crc(const hdf5::File& file, const std::string& path, std::uint32_t crc) {
  const auto stored = static_cast<std::uint32_t>(file.integer_attribute(path, crc_attribute));
  if (stored != crc) {
    fail_input(errors::damaged, "{}: {} is damaged: its CRC-32 is {:08x}, {:08x} was written", file.path(),
               path, crc, stored);
  }
}

}  // namespace mylos
