#include "mylos/data/files/checked_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/io/files/digest.hpp"
#include "mylos/io/hdf5/hdf5_dispatch.hpp"

namespace mylos {
namespace {

/// A piece is compared right after it was read, while it is still in the cache.
constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;
constexpr std::int64_t max_digests_of_piece = 4096;

/// A block is read completely even for one row; it must not be larger, whatever the file states.
constexpr std::int64_t max_block_bytes = std::int64_t{1} << 20;

}  // namespace

struct CheckedArray::State {
  State(const hdf5::File& file, const hdf5::Dataset& dataset, DType type)
      : file_path(file.path()), array(dataset), as(type) {
    row_bytes = array.row_size() * static_cast<std::int64_t>(size_of(as));
  }

  /// Throws Error unless the digests fit this array.
  void open_digests(const hdf5::File& file) {
    const std::string path = digests_of(array.path());
    const std::string stamp = fmt::format("`mylos prepare stamp {}` recomputes digests", file_path);
    if (!file.exists(path)) {
      fail_input(errors::missing_dataset, "{}: has digests of blocks, but none of {}; {}", file_path,
                 array.path(), stamp);
    }
    digests = file.dataset(path);
    digests->require({DType::uint32}, 1, "[blocks]");
    const std::int64_t rows = file.integer_attribute(path, "rows");
    if (rows < 1)
      fail_input(errors::bad_dataset, "{}: attribute 'rows' of {} is {}, expected at least 1", file_path,
                 path, rows);
    block_rows = std::min(rows, std::max<std::int64_t>(1, array.rows()));
    const std::int64_t blocks = array.rows() / block_rows + (array.rows() % block_rows == 0 ? 0 : 1);
    if (digests->size() != blocks) {
      fail_input(errors::damaged, "{}: has {} digests of {} rows of {} each, but its {} rows need {}; {}",
                 file_path, digests->size(), rows, array.path(), array.rows(), blocks, stamp);
    }
    if (block_rows > 1 && block_rows > max_block_bytes / std::max<std::int64_t>(1, row_bytes)) {
      fail_input(errors::too_large,
                 "{}: attribute 'rows' of {} is {}, and such a block of rows of {} is larger than {}; {}",
                 file_path, path, rows, format_bytes(row_bytes), format_bytes(max_block_bytes), stamp);
    }
    compared.resize(static_cast<std::size_t>(blocks));
    expected.resize(static_cast<std::size_t>(std::min(blocks, blocks_of_piece())));
    if (block_rows > 1) block.resize(static_cast<std::size_t>(block_rows * row_bytes));
  }

  [[nodiscard]] std::int64_t blocks_of_piece() const {
    const std::int64_t bytes = std::max<std::int64_t>(1, block_rows * row_bytes);
    return std::clamp<std::int64_t>(piece_bytes / bytes, 1, max_digests_of_piece);
  }

  void read_rows(std::int64_t first, std::int64_t count, void* destination) const {
    const std::int64_t row = array.row_size();
    hdf5::dispatch(as, [&](auto tag) {
      array.read(first * row, count * row, static_cast<typename decltype(tag)::type*>(destination));
    });
  }

  [[nodiscard]] bool is_all_compared(std::int64_t first, std::int64_t count) {
    const std::lock_guard lock(mutex);
    const std::int64_t end = (first + count + block_rows - 1) / block_rows;
    for (std::int64_t i = first / block_rows; i < end; ++i) {
      if (!compared[static_cast<std::size_t>(i)]) return false;
    }
    return true;
  }

  /// Compares rows [first, first + count), which are complete blocks in memory. The caller holds the lock.
  void compare(std::int64_t first, std::int64_t count, const std::byte* rows) {
    const std::int64_t first_block = first / block_rows;
    const std::int64_t blocks = (count + block_rows - 1) / block_rows;
    digests->read(first_block, blocks, expected.data());
    for (std::int64_t i = 0; i < blocks; ++i) {
      const auto number = static_cast<std::size_t>(first_block + i);
      if (compared[number]) continue;
      const std::int64_t length = std::min(block_rows, count - i * block_rows);
      const std::uint32_t crc =
          crc32_of(rows + i * block_rows * row_bytes, static_cast<std::size_t>(length * row_bytes));
      if (crc != expected[static_cast<std::size_t>(i)]) {
        const std::int64_t begin = first + i * block_rows;
        fail_changed(file_path, fmt::format("a value of {} in rows {} to {} (counted from 0)", array.path(),
                                            begin, begin + length - 1));
      }
      compared[number] = true;
    }
  }

  /// Reads rows [first, first + count) of one block, of which the caller needs no others.
  void read_part(std::int64_t first, std::int64_t count, std::byte* destination) {
    const std::lock_guard lock(mutex);
    const std::int64_t begin = first / block_rows * block_rows;
    if (compared[static_cast<std::size_t>(first / block_rows)]) return read_rows(first, count, destination);
    const std::int64_t length = std::min(block_rows, array.rows() - begin);
    read_rows(begin, length, block.data());
    compare(begin, length, block.data());
    std::memcpy(destination, block.data() + (first - begin) * row_bytes,
                static_cast<std::size_t>(count * row_bytes));
  }

  std::string file_path;
  hdf5::Dataset array;
  DType as;
  std::int64_t row_bytes = 0;
  std::optional<hdf5::Dataset> digests;  // nothing: no comparison
  std::int64_t block_rows = 1;

  std::mutex mutex;  // guards the members below
  std::vector<bool> compared;
  std::vector<std::uint32_t> expected;
  std::vector<std::byte> block;
};

CheckedArray::CheckedArray(const hdf5::File& file, const hdf5::Dataset& array, DType as, Digests digests)
    : state_(std::make_shared<State>(file, array, as)) {
  if (digests == Digests::compared && file.exists("/digests")) state_->open_digests(file);
}

const hdf5::Dataset& CheckedArray::dataset() const {
  return state_->array;
}

void CheckedArray::read(std::int64_t first, std::int64_t count, void* destination) const {
  State& state = *state_;
  if (!state.digests || state.is_all_compared(first, count)) {
    return state.read_rows(first, count, destination);
  }
  auto* position = static_cast<std::byte*>(destination);
  const std::int64_t end = first + count;
  const std::int64_t rows = state.array.rows();
  while (first < end) {
    const std::int64_t block_end = std::min((first / state.block_rows + 1) * state.block_rows, rows);
    std::int64_t next = std::min(block_end, end);
    if (first % state.block_rows == 0 && block_end <= end) {  // and all complete blocks that fit in one read
      next = std::min(first + state.blocks_of_piece() * state.block_rows, end);
      if (next < rows) next -= next % state.block_rows;
      state.read_rows(first, next - first, position);
      const std::lock_guard lock(state.mutex);
      state.compare(first, next - first, position);
    } else {
      state.read_part(first, next - first, position);
    }
    position += (next - first) * state.row_bytes;
    first = next;
  }
}

std::int64_t CheckedArray::memory_bytes() const {
  const State& state = *state_;
  return static_cast<std::int64_t>(state.block.size() + state.expected.size() * sizeof(std::uint32_t) +
                                   state.compared.size() / 8);
}

}  // namespace mylos
