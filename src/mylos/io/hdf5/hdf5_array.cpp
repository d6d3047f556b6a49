#include "mylos/io/hdf5/hdf5_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/io/hdf5/hdf5_chunks.hpp"
#include "mylos/io/hdf5/hdf5_library.hpp"
#include "mylos/io/hdf5/hdf5_number_types.hpp"

namespace mylos::hdf5 {
namespace {

constexpr std::size_t max_array_rank = 8;
constexpr std::int64_t read_piece_bytes = std::int64_t{8} << 20;
/// HDF5 stores no larger chunks; a chunk is held in memory while one of its elements is read.
constexpr double max_chunk_bytes = 4294967295.0;
/// Chunks of an extendible array may be larger than the array, up to this size.
constexpr double max_idle_chunk_bytes = 64.0 * 1024 * 1024;

/// The names of the filters that HDF5 may have built in, and the largest ratio of compression of each: a file
/// that claims more is malicious or damaged. scaleoffset stores nothing for a constant chunk.
struct KnownFilter {
  H5Z_filter_t id;
  const char* name;
  double max_ratio;
};
constexpr KnownFilter known_filters[] = {
    {H5Z_FILTER_DEFLATE, "gzip", 1032},
    {H5Z_FILTER_SHUFFLE, "shuffle", 1},
    {H5Z_FILTER_FLETCHER32, "fletcher32", 1},
    {H5Z_FILTER_SZIP, "szip", 8192},
    {H5Z_FILTER_NBIT, "nbit", 64},
    {H5Z_FILTER_SCALEOFFSET, "scaleoffset", 1e9},
};

/// Reads the names of the filters, and returns the largest ratio of compression that they can reach.
double read_filters(const std::string& where, hid_t creation, std::vector<std::string>& names) {
  double ratio = 1;
  for (const StoredFilter& stored : filters_of(creation)) {
    const H5Z_filter_t id = stored.id;
    unsigned settings = 0;
    const auto* const known = std::find_if(std::begin(known_filters), std::end(known_filters),
                                           [&](const KnownFilter& filter) { return filter.id == id; });
    const bool can_decode = known != std::end(known_filters) && checked(H5Zfilter_avail(id)) > 0 &&
                            checked(H5Zget_filter_info(id, &settings)) >= 0 &&
                            (settings & H5Z_FILTER_CONFIG_DECODE_ENABLED) != 0;
    if (!can_decode) {
      fail_input(
          errors::unsupported_feature,
          "{} needs the filter {} ({}), which this HDF5 library has not built in; `h5repack -f GZIP=4` "
          "writes the file with gzip",
          where, static_cast<int>(id), known == std::end(known_filters) ? stored.name : known->name);
    }
    names.emplace_back(known->name);
    ratio *= known->max_ratio;
  }
  return ratio;
}

}  // namespace

struct Array::State {
  File file;
  std::string path;
  hid_t id = -1;
  ArrayFacts facts;
  std::unique_ptr<ChunkReader> chunks;  // nothing: HDF5 reads them

  State(const File& of, std::string name) : file(of), path(std::move(name)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (id < 0) return;
    const LibraryScope scope;
    H5Dclose(id);
  }

  void open();
  void read_dims(const std::string& where);
  void check_storage(const std::string& where);
  [[nodiscard]] std::optional<double> unwritten_value() const;
  void swap_bytes(const Box& box, void* numbers) const;
};

void Array::State::read_dims(const std::string& where) {
  const Handle space(checked_read(H5Dget_space(id), file.path(), path), H5Sclose);
  const int rank = checked(H5Sget_simple_extent_ndims(space.id()));
  if (static_cast<std::size_t>(rank) > max_array_rank)
    fail_input(errors::too_large, "{} has {} dimensions, at most {} are read", where, rank, max_array_rank);
  if (H5Sget_simple_extent_type(space.id()) == H5S_NULL)
    fail_input(errors::bad_dataset, "{} has a null dataspace, expected elements", where);
  std::array<hsize_t, max_array_rank> extent{};
  std::array<hsize_t, max_array_rank> most{};
  checked(H5Sget_simple_extent_dims(space.id(), extent.data(), most.data()));
  std::int64_t bytes = size_of(facts.type);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) {
    const auto length = static_cast<std::int64_t>(extent[i]);
    if (length < 0 || (length > 0 && bytes > std::numeric_limits<std::int64_t>::max() / length))
      fail_input(errors::too_large, "{} claims more elements than 63 bits can count", where);
    bytes *= std::max<std::int64_t>(1, length);
    facts.dims.push_back(length);
    facts.unlimited.push_back(most[i] == H5S_UNLIMITED);
  }
}

void Array::State::check_storage(const std::string& where) {
  const Handle creation(checked_read(H5Dget_create_plist(id), file.path(), path), H5Pclose);
  const auto layout = checked(H5Pget_layout(creation.id()));
  if (layout == H5D_VIRTUAL || checked(H5Pget_external_count(creation.id())) > 0)
    fail_input(errors::unsupported_feature, "{} keeps its data in another file, which is not followed",
               where);
  double ratio = 1;
  double chunk_bytes = 0;
  if (layout == H5D_CHUNKED) {
    std::array<hsize_t, max_array_rank> extent{};
    const int rank = checked(H5Pget_chunk(creation.id(), static_cast<int>(max_array_rank), extent.data()));
    auto bytes = static_cast<double>(size_of(facts.type));
    for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) {
      facts.chunk.push_back(static_cast<std::int64_t>(extent[i]));
      bytes *= static_cast<double>(extent[i]);
    }
    if (bytes > max_chunk_bytes || facts.chunk.size() != facts.dims.size())
      fail_input(errors::damaged, "{} has impossible chunks", where);
    chunk_bytes = bytes;
    ratio = read_filters(where, creation.id(), facts.filters);
  }
  facts.stored_bytes = stored_bytes_of(id, file.path(), path);
  auto bytes = static_cast<double>(size_of(facts.type));
  for (const auto length : facts.dims) bytes *= static_cast<double>(length);
  if (chunk_bytes > std::max(bytes, max_idle_chunk_bytes)) {
    fail_input(errors::too_large, "{} has chunks of {}, but all its elements are {}", where,
               format_bytes(static_cast<std::int64_t>(chunk_bytes)),
               format_bytes(static_cast<std::int64_t>(bytes)));
  }
  if (static_cast<double>(facts.stored_bytes) * ratio < bytes) {
    fail_input(errors::damaged,
               "{} has {} stored, its dimensions need {}: a part of it was never written, or is missing",
               where, format_bytes(facts.stored_bytes), format_bytes(static_cast<std::int64_t>(bytes)));
  }
}

std::optional<double> Array::State::unwritten_value() const {
  const Handle creation(checked_read(H5Dget_create_plist(id), file.path(), path), H5Pclose);
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  H5D_fill_time_t time = H5D_FILL_TIME_NEVER;
  checked(H5Pfill_value_defined(creation.id(), &defined));
  checked(H5Pget_fill_time(creation.id(), &time));
  if (defined != H5D_FILL_VALUE_USER_DEFINED || time == H5D_FILL_TIME_NEVER) return std::nullopt;
  double value = 0;
  checked_read(H5Pget_fill_value(creation.id(), H5T_NATIVE_DOUBLE, &value), file.path(), path);
  return value;
}

/// Converts numbers of the file, read as they are, to this machine's order of bytes.
void Array::State::swap_bytes(const Box& box, void* numbers) const {
  std::size_t size = 1;
  for (const std::int64_t count : box.count) size *= static_cast<std::size_t>(count);
  const Handle stored(checked_read(H5Dget_type(id), file.path(), path), H5Tclose);
  checked(H5Tconvert(stored.id(), number_in_memory(facts.type).id(), size, numbers, nullptr, H5P_DEFAULT));
}

void Array::State::open() {
  const std::string where = fmt::format("{}: array {}", file.path(), path);
  if (!file.exists(path)) {
    fail_input(errors::missing_dataset, "{}: {} is missing; {}", file.path(), path,
               contents_around(file, path));
  }
  // HDF5 follows no links here: open_object() has checked the path.
  if (H5Iget_type(open_object(*file.state_, path).id()) != H5I_DATASET)
    fail_input(errors::bad_dataset, "{} is not an array", where);
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  // Boxes are made of complete chunks, each of which is read once: the cache holds one chunk.
  constexpr std::size_t cached_chunks = 101;  // slots
  constexpr std::size_t cache_bytes = std::size_t{1} << 20;
  checked(H5Pset_chunk_cache(access.id(), cached_chunks, cache_bytes, 1.0));
  id = checked_read(H5Dopen2(file.state_->id, path.c_str(), access.id()), file.path(), path);
  const Handle type(checked_read(H5Dget_type(id), file.path(), path), H5Tclose);
  const auto stored = number_type(type.id());
  if (!stored)
    fail_input(
        errors::bad_dataset, "{} holds {}, expected numbers: integers or floats of 8 to 64 bits{}", where,
        type_text(type.id()),
        H5Tget_class(type.id()) == H5T_COMPOUND ? "; write the parts of complex numbers as two arrays" : "");
  facts.type = *stored;
  // HDF5 converts no enum to floating point.
  if (H5Tget_class(type.id()) != H5T_ENUM) facts.unwritten = unwritten_value();
  facts.big_endian = H5Tget_size(type.id()) > 1 && H5Tget_order(type.id()) == H5T_ORDER_BE;
  read_dims(where);
  check_storage(where);
  chunks = ChunkReader::of(id, file.path(), path);
}

Array::Array(const File& file, const std::string& path) : state_(std::make_shared<State>(file, path)) {
  const LibraryScope scope;
  state_->open();
}

const std::string& Array::path() const {
  return state_->path;
}
const std::string& Array::file_path() const {
  return state_->file.path();
}
const ArrayFacts& Array::facts() const {
  return state_->facts;
}

void Array::read(const Box& box, void* destination) const {
  const State& array = *state_;
  const std::size_t rank = array.facts.dims.size();
  std::array<hsize_t, max_array_rank> start{};
  std::array<hsize_t, max_array_rank> step{};
  std::array<hsize_t, max_array_rank> count{};
  std::int64_t row_bytes = size_of(array.facts.type);  // of an index of the first dimension that is split
  std::size_t split = rank;
  for (std::size_t i = 0; i < rank; ++i) {
    start[i] = static_cast<hsize_t>(box.start[i]);
    step[i] = static_cast<hsize_t>(box.step[i]);
    count[i] = static_cast<hsize_t>(box.count[i]);
    if (box.count[i] == 0) return;
    if (split == rank && box.count[i] > 1) {
      split = i;
    } else if (split < rank) {
      row_bytes *= box.count[i];
    }
  }
  if (array.chunks) {
    array.chunks->read({start.data(), rank}, {step.data(), rank}, {count.data(), rank},
                       static_cast<std::byte*>(destination));
    const LibraryScope scope;
    require_not_truncated(*array.file.state_);
    if (array.facts.big_endian) array.swap_bytes(box, destination);
    return;
  }
  const std::int64_t rows = split < rank ? box.count[split] : 1;
  std::int64_t piece = std::max<std::int64_t>(1, read_piece_bytes / row_bytes);
  const std::int64_t chunk =
      split < rank && !array.facts.chunk.empty() && box.step[split] == 1 ? array.facts.chunk[split] : 1;
  if (piece < rows) piece = std::max(chunk, piece - piece % chunk);
  auto* position = static_cast<std::byte*>(destination);
  for (std::int64_t row = 0; row < rows;) {
    std::int64_t length = std::min(piece, rows - row);
    if (split < rank) {
      const std::int64_t first = box.start[split] + row * box.step[split];
      if (row + length < rows && chunk > 1) {  // a piece ends where a chunk ends
        const std::int64_t excess = (first + length) % chunk;
        if (excess < length) length -= excess;
      }
      start[split] = static_cast<hsize_t>(first);
      count[split] = static_cast<hsize_t>(length);
    }
    const LibraryScope scope;
    const Handle file_space(H5Dget_space(array.id), H5Sclose);
    // A memory space of the box's shape: HDF5 maps chunks to any other shape element by element.
    const Handle memory_space(
        rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(rank), count.data(), nullptr),
        H5Sclose);
    const Handle type = number_in_memory(array.facts.type);
    const bool done =
        (rank == 0 || H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, start.data(), step.data(),
                                          count.data(), nullptr) >= 0) &&
        H5Dread(array.id, type.id(), memory_space.id(), file_space.id(), H5P_DEFAULT, position) >= 0;
    if (!done) fail_to_read(fmt::format("{}: array {} cannot be read", file_path(), path()));
    require_not_truncated(*array.file.state_);
    row += length;
    position += length * row_bytes;
  }
}

std::int64_t Array::id() const {
  return state_->id;
}

}  // namespace mylos::hdf5
