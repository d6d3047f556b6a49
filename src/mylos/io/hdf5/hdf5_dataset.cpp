#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/io/hdf5/hdf5_chunks.hpp"
#include "mylos/io/hdf5/hdf5_library.hpp"
#include "mylos/io/hdf5/hdf5_selection.hpp"

namespace mylos::hdf5 {
namespace {

constexpr std::int64_t piece_bytes = std::int64_t{4} << 20;
constexpr std::size_t max_texts_bytes = std::size_t{64} << 20;

/// The largest compression ratio of deflate (zlib's technical notes): a file that claims more is malicious or
/// damaged.
constexpr std::int64_t max_compression = 1032;

/// Throws Error if the dataset's chunks are too large. HDF5 holds a complete chunk in memory, even if it has
/// few elements: chunks of an extendible dataset can exceed the dataset.
void check_chunks(const std::string& where, hid_t creation, std::size_t element_bytes, std::int64_t bytes) {
  std::array<hsize_t, max_rank> extent{};
  const int rank = checked(H5Pget_chunk(creation, static_cast<int>(max_rank), extent.data()));
  double chunk = static_cast<double>(element_bytes);
  for (int i = 0; i < rank; ++i) chunk *= static_cast<double>(extent[static_cast<std::size_t>(i)]);
  if (chunk > static_cast<double>(std::max(bytes, piece_bytes))) {
    fail_input(errors::too_large, "{} has chunks of {}, but all its elements are {}", where,
               format_bytes(static_cast<std::int64_t>(chunk)), format_bytes(bytes));
  }
}

/// Throws Error unless every HDF5 library can decode the dataset's filters. Returns whether it is compressed.
bool check_filters(const std::string& where, hid_t creation) {
  bool compressed = false;
  for (const auto& [filter, name, setting] : filters_of(creation)) {
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32) {
      fail_input(errors::unsupported_feature, "{} needs the filter {} ({}), expected gzip or none", where,
                 static_cast<int>(filter), name);
    }
    compressed = compressed || filter == H5Z_FILTER_DEFLATE;
  }
  return compressed;
}

}  // namespace

Dataset::State::State() = default;

Dataset::State::~State() {
  if (id < 0 || file->id < 0) return;
  const LibraryScope scope;
  H5Dclose(id);
}

void Dataset::State::describe() {
  const std::string where = fmt::format("{}: dataset {}", file->path, path);
  const Handle file_type(checked_read(H5Dget_type(id), file->path, path), H5Tclose);
  const Handle space(checked_read(H5Dget_space(id), file->path, path), H5Sclose);
  const Handle creation(checked_read(H5Dget_create_plist(id), file->path, path), H5Pclose);

  type = dtype_of_numbers(file_type.id());
  is_text = H5Tget_class(file_type.id()) == H5T_STRING;
  type_text = hdf5::type_text(file_type.id());
  element_bytes = H5Tget_size(file_type.id());
  const int rank = checked(H5Sget_simple_extent_ndims(space.id()));
  if (static_cast<std::size_t>(rank) > max_rank) {
    fail_input(errors::too_large, "{} has {} dimensions, at most {} are read", where, rank, max_rank);
  }
  std::array<hsize_t, max_rank> extent{};
  checked(H5Sget_simple_extent_dims(space.id(), extent.data(), nullptr));
  dims.assign(extent.begin(), extent.begin() + rank);
  if (H5Sget_simple_extent_type(space.id()) == H5S_NULL) {  // it would be taken for a scalar
    fail_input(errors::bad_dataset, "{} has a null dataspace, expected elements", where);
  }
  const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  size = empty ? 0 : 1;
  auto bytes = static_cast<std::int64_t>(element_bytes);
  for (const auto length : dims) {
    if (empty) break;
    if (length < 0 || bytes > std::numeric_limits<std::int64_t>::max() / length) {
      fail_input(errors::too_large, "{} claims more elements than 63 bits can count", where);
    }
    size *= length;
    bytes *= length;
  }
  if (empty) return;

  const auto layout = checked(H5Pget_layout(creation.id()));
  if (layout == H5D_VIRTUAL || checked(H5Pget_external_count(creation.id())) > 0) {
    fail_input(errors::unsupported_feature, "{} keeps its data in another file, which is not followed",
               where);
  }
  if (layout == H5D_CHUNKED) check_chunks(where, creation.id(), element_bytes, bytes);
  const bool compressed = layout == H5D_CHUNKED && check_filters(where, creation.id());
  const std::int64_t stored = stored_bytes_of(id, file->path, path);
  if (stored < (compressed ? bytes / max_compression : bytes)) {
    fail_input(errors::damaged, "{} has {} stored, its dimensions need {}", where, format_bytes(stored),
               format_bytes(bytes));
  }
  if (type || (is_text && checked(H5Tis_variable_str(file_type.id())) == 0))
    chunks = ChunkReader::of(id, file->path, path);
}

/// Reads elements as they are stored, of a dataset that has `chunks`.
void Dataset::State::read_chunks(std::int64_t first, std::int64_t count, std::byte* destination) const {
  for_each_box(dims, first, count, [&](const Index& start, const Index& box) {
    chunks->read({start.data(), dims.size()}, {}, {box.data(), dims.size()}, destination);
    std::size_t bytes = element_bytes;
    for (std::size_t d = 0; d < dims.size(); ++d) bytes *= box[d];
    destination += bytes;
  });
}

const std::string& Dataset::path() const {
  return state_->path;
}
std::optional<DType> Dataset::type() const {
  return state_->type;
}
bool Dataset::is_text() const {
  return state_->is_text;
}
const std::string& Dataset::type_name() const {
  return state_->type_text;
}
const std::vector<std::int64_t>& Dataset::dims() const {
  return state_->dims;
}
std::int64_t Dataset::size() const {
  return state_->size;
}
std::int64_t Dataset::rows() const {
  return dims().empty() ? 1 : dims().front();
}
std::int64_t Dataset::row_size() const {
  return rows() == 0 ? 0 : size() / rows();
}

void Dataset::require_rank(std::size_t rank, std::string_view shape) const {
  if (dims().size() == rank) return;
  fail_input(errors::bad_dataset, "{}: dataset {} has {} dimension{}, expected {} {}", state_->file->path,
             path(), dims().size(), dims().size() == 1 ? "" : "s", rank, shape);
}

void Dataset::refuse_type(std::string_view expected) const {
  fail_input(errors::bad_dataset, "{}: dataset {} holds {}, expected {}", state_->file->path, path(),
             type_name(), expected);
}

void Dataset::require(std::initializer_list<DType> types, std::size_t rank, std::string_view shape) const {
  require_rank(rank, shape);
  if (std::find(types.begin(), types.end(), type()) != types.end()) return;
  std::string expected;
  for (const auto wanted : types) {
    if (!expected.empty()) expected += " or ";
    expected += name_in_files(wanted);
  }
  refuse_type(expected);
}

void Dataset::move(std::int64_t first, std::int64_t count, DType memory_type, void* memory,
                   bool write) const {
  const State& dataset = *state_;
  const std::string& file = dataset.file->path;
  if (first < 0 || count < 0 || first > size() - count) {
    fail_run(errors::internal, "{}: dataset {} has {} elements, [{}, {}) was asked for", file, path(), size(),
             first, first + count);
  }
  const auto memory_bytes = static_cast<std::int64_t>(size_of(memory_type));
  // Pieces consist of complete rows if a row fits: each piece is then one box of the file.
  const std::int64_t widest = std::max(memory_bytes, static_cast<std::int64_t>(dataset.element_bytes));
  std::int64_t piece = std::max<std::int64_t>(1, piece_bytes / widest);
  if (row_size() > 0 && row_size() < piece) piece -= piece % row_size();
  auto* position = static_cast<std::byte*>(memory);
  while (count > 0) {
    const std::int64_t length = std::min(piece, count);
    std::vector<std::byte> stored;  // in the file's type
    if (dataset.chunks && !write) {
      stored.resize(static_cast<std::size_t>(length * widest));
      dataset.read_chunks(first, length, stored.data());
    }
    const LibraryScope scope;
    const Handle file_space(H5Dget_space(dataset.id), H5Sclose);
    const auto memory_length = static_cast<hsize_t>(length);
    const Handle memory_space(H5Screate_simple(1, &memory_length, nullptr), H5Sclose);
    const Handle in_memory = type_in_memory(memory_type);
    select_range(file_space.id(), dims(), first, length);
    if (write) {
      checked_write(
          H5Dwrite(dataset.id, in_memory.id(), memory_space.id(), file_space.id(), H5P_DEFAULT, position),
          *dataset.file, path());
      require_written(*dataset.file);
    } else if (dataset.chunks) {
      const Handle type(checked_read(H5Dget_type(dataset.id), file, path()), H5Tclose);
      checked(H5Tconvert(type.id(), in_memory.id(), static_cast<std::size_t>(length), stored.data(), nullptr,
                         H5P_DEFAULT));
      std::copy_n(stored.begin(), length * memory_bytes, position);
    } else {
      checked_read(
          H5Dread(dataset.id, in_memory.id(), memory_space.id(), file_space.id(), H5P_DEFAULT, position),
          file, path());
    }
    if (!write) require_not_truncated(*dataset.file);
    first += length;
    count -= length;
    position += length * memory_bytes;
  }
}

void Dataset::read_unconverted(std::int64_t first, std::int64_t count, void* destination) const {
  if (!type()) refuse_type("numbers");
  move(first, count, *type(), destination, false);
}

std::string Dataset::read_text() const {
  require_rank(0, "(a scalar)");
  if (!is_text()) refuse_type("text");
  const LibraryScope scope;
  const Handle type(H5Dget_type(state_->id), H5Tclose);
  if (checked(H5Tis_variable_str(type.id())) > 0) {
    fail_input(errors::bad_dataset, "{}: dataset {} holds variable-length text, expected fixed-length",
               state_->file->path, path());
  }
  std::string text(state_->element_bytes, '\0');
  checked_read(H5Dread(state_->id, type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), state_->file->path,
               path());
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

std::vector<std::string> Dataset::read_texts() const {
  if (dims().size() > 1) require_rank(1, "[texts]");
  if (!is_text()) refuse_type("text");
  const LibraryScope scope;
  const Handle type(H5Dget_type(state_->id), H5Tclose);
  std::vector<std::string> texts(static_cast<std::size_t>(size()));
  if (texts.empty()) return texts;
  const auto require_room_for = [&](std::size_t bytes) {
    if (bytes <= max_texts_bytes) return;
    fail_input(errors::too_large, "{}: dataset {} holds more than {} of text", state_->file->path, path(),
               format_bytes(static_cast<std::int64_t>(max_texts_bytes)));
  };
  if (checked(H5Tis_variable_str(type.id())) > 0) {
    // Texts are read one at a time: a small file may refer to one long text many times.
    const Handle space(H5Dget_space(state_->id), H5Sclose);
    const hsize_t one = 1;
    const Handle memory_space(H5Screate_simple(1, &one, nullptr), H5Sclose);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      char* value = nullptr;
      select_range(space.id(), dims(), static_cast<std::int64_t>(i), 1);
      checked_read(H5Dread(state_->id, type.id(), memory_space.id(), space.id(), H5P_DEFAULT, &value),
                   state_->file->path, path());
      if (value == nullptr) continue;
      texts[i] = value;
      H5free_memory(value);
      bytes += texts[i].size();
      require_room_for(bytes);
    }
  } else {
    require_room_for(texts.size() * state_->element_bytes);
    std::string all(texts.size() * state_->element_bytes, '\0');
    if (state_->chunks) {
      state_->read_chunks(0, size(), reinterpret_cast<std::byte*>(all.data()));
    } else {
      checked_read(H5Dread(state_->id, type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()),
                   state_->file->path, path());
    }
    const bool has_blanks = H5Tget_strpad(type.id()) == H5T_STR_SPACEPAD;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      texts[i] = all.substr(i * state_->element_bytes, state_->element_bytes).c_str();
      if (has_blanks) texts[i].resize(texts[i].find_last_not_of(' ') + 1);
    }
  }
  require_not_truncated(*state_->file);
  return texts;
}

void Dataset::write_text(std::string_view text) {
  if (!is_text() || text.size() > state_->element_bytes) {
    fail_run(errors::internal, "{}: dataset {} has no room for {} bytes of text", state_->file->path, path(),
             text.size());
  }
  std::string padded(text);
  padded.resize(state_->element_bytes, '\0');
  const LibraryScope scope;
  const Handle memory_type = text_type(padded.size());
  if (H5Dwrite(state_->id, memory_type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()) < 0) {
    fail_to_write(*state_->file, fmt::format("dataset {} cannot be written", path()));
  }
}

std::int64_t Dataset::file_offset() const {
  const LibraryScope scope;
  const haddr_t offset = H5Dget_offset(state_->id);
  if (offset == HADDR_UNDEF) {
    fail_run(errors::library_failed, "{}: dataset {} has no place in the file: {}", state_->file->path,
             path(), last_error());
  }
  return static_cast<std::int64_t>(offset);
}

}  // namespace mylos::hdf5
