#include "mylos/io/hdf5/hdf5_chunks.hpp"

#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"

namespace mylos::hdf5 {
namespace {

constexpr std::size_t sum_bytes = 4;  // of fletcher32, behind the data
/// A chunk up to this size is kept for the next call: with the buffer beside it, it takes the 1 MiB that an
/// array has for HDF5's own cache of chunks, which stays empty.
constexpr std::size_t max_kept_bytes = std::size_t{1} << 19;

/// Returns HDF5's sum of the bytes: of 16-bit words, the first byte of each the upper one.
std::uint32_t fletcher32(std::span<const std::byte> data) {
  constexpr std::size_t words_before_overflow = 360;
  std::uint32_t sum = 0;
  std::uint32_t sum_of_sums = 0;
  const auto fold = [](std::uint32_t value) { return (value & 0xffffU) + (value >> 16U); };
  const auto byte = [&](std::size_t i) {
    return i < data.size() ? std::to_integer<std::uint32_t>(data[i]) : 0;
  };
  for (std::size_t i = 0, words = 0; i < data.size(); i += 2) {
    sum += byte(i) << 8U | byte(i + 1);
    sum_of_sums += sum;
    if (++words % words_before_overflow != 0) continue;
    sum = fold(sum);
    sum_of_sums = fold(sum_of_sums);
  }
  sum = fold(fold(sum));
  sum_of_sums = fold(fold(sum_of_sums));
  return sum_of_sums << 16U | sum;
}

/// Puts the bytes of each element, which the filter has grouped by their offsets in it, together again.
void unshuffle(std::span<const std::byte> from, std::size_t element, std::span<std::byte> to) {
  const std::size_t count = from.size() / element;
  for (std::size_t offset = 0; offset < element; ++offset)
    for (std::size_t i = 0; i < count; ++i) to[i * element + offset] = from[offset * count + i];
  std::copy(from.begin() + static_cast<std::ptrdiff_t>(count * element), from.end(),
            to.begin() + static_cast<std::ptrdiff_t>(count * element));
}

bool is_decoded_here(const StoredFilter& filter) {
  return filter.id == H5Z_FILTER_DEFLATE || filter.id == H5Z_FILTER_SHUFFLE ||
         filter.id == H5Z_FILTER_FLETCHER32;
}

}  // namespace

std::unique_ptr<ChunkReader> ChunkReader::of(hid_t dataset, const std::string& file,
                                             const std::string& path) {
  const Handle creation(checked_read(H5Dget_create_plist(dataset), file, path), H5Pclose);
  if (checked(H5Pget_layout(creation.id())) != H5D_CHUNKED) return nullptr;
  const std::vector<StoredFilter> filters = filters_of(creation.id());
  if (filters.empty() || !std::all_of(filters.begin(), filters.end(), is_decoded_here)) return nullptr;
  std::unique_ptr<ChunkReader> reader(new ChunkReader(dataset, file, path));
  reader->filters_ = filters;
  reader->rank_ = static_cast<std::size_t>(
      checked(H5Pget_chunk(creation.id(), static_cast<int>(max_rank), reader->extent_.data())));
  const Handle type(checked_read(H5Dget_type(dataset), file, path), H5Tclose);
  reader->element_bytes_ = reader->chunk_bytes_ = H5Tget_size(type.id());
  for (std::size_t d = 0; d < reader->rank_; ++d) reader->chunk_bytes_ *= reader->extent_[d];
  reader->fill_.resize(reader->element_bytes_);
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  checked(H5Pfill_value_defined(creation.id(), &defined));
  if (defined == H5D_FILL_VALUE_USER_DEFINED)
    checked(H5Pget_fill_value(creation.id(), type.id(), reader->fill_.data()));
  return reader;
}

ChunkReader::ChunkReader(hid_t dataset, const std::string& file, const std::string& path)
    : dataset_(dataset), file_(file), path_(path) {}

void ChunkReader::fail_chunk(std::string_view problem) const {
  std::vector<hsize_t> first;
  for (std::size_t d = 0; d < rank_; ++d) first.push_back(loaded_.value()[d] * extent_[d]);
  fail_input(errors::damaged, "{}: {} is damaged: the chunk at [{}] {}", file_, path_, fmt::join(first, ", "),
             problem);
}

const std::byte* ChunkReader::load(const Index& chunk) {
  if (chunk == loaded_) return is_stored_ ? bytes_.data() : nullptr;
  loaded_ = chunk;
  Index offset = chunk;
  for (std::size_t d = 0; d < rank_; ++d) offset[d] *= extent_[d];
  std::uint32_t skipped = 0;
  try {
    {
      const LibraryScope scope;
      hsize_t stored = 0;
      if (H5Dget_chunk_storage_size(dataset_, offset.data(), &stored) < 0) {
        // Which HDF5 1.10 also says of a chunk that was never written. This one answers, but goes through
        // all.
        unsigned mask = 0;
        haddr_t address = HADDR_UNDEF;
        checked_read(H5Dget_chunk_info_by_coord(dataset_, offset.data(), &mask, &address, &stored), file_,
                     path_);
      }
      is_stored_ = stored > 0;
      if (!is_stored_) return nullptr;
      // gzip makes incompressible data longer by less.
      if (stored > chunk_bytes_ + chunk_bytes_ / 256 + 1024) fail_chunk("has more bytes than its data");
      bytes_.resize(stored);
      checked_read(H5Dread_chunk(dataset_, H5P_DEFAULT, offset.data(), &skipped, bytes_.data()), file_,
                   path_);
    }
    decode(skipped);
  } catch (...) {
    loaded_.reset();
    throw;
  }
  return bytes_.data();
}

void ChunkReader::decode(std::uint32_t skipped_filters) {
  const auto is_skipped = [&](std::size_t i) { return (skipped_filters >> i & 1U) != 0; };
  for (std::size_t i = filters_.size(); i-- > 0;) {
    if (is_skipped(i)) continue;
    if (filters_[i].id == H5Z_FILTER_FLETCHER32) {
      if (bytes_.size() < sum_bytes) fail_chunk("is too short");
      std::uint32_t sum = 0;
      std::memcpy(&sum, bytes_.data() + bytes_.size() - sum_bytes, sum_bytes);
      bytes_.resize(bytes_.size() - sum_bytes);
      if (fletcher32(bytes_) != sum) fail_chunk("does not have its checksum");
    } else if (filters_[i].id == H5Z_FILTER_SHUFFLE) {
      const std::size_t element = filters_[i].setting;
      if (element == 0) fail_chunk("is shuffled in elements of no size");
      other_.resize(bytes_.size());
      unshuffle(bytes_, element, other_);
      bytes_.swap(other_);
    } else {
      std::size_t expected = chunk_bytes_;
      for (std::size_t k = 0; k < i; ++k)
        if (filters_[k].id == H5Z_FILTER_FLETCHER32 && !is_skipped(k)) expected += sum_bytes;
      other_.resize(expected);
      auto inflated = static_cast<uLongf>(expected);
      const int status = ::uncompress(reinterpret_cast<Bytef*>(other_.data()), &inflated,
                                      reinterpret_cast<const Bytef*>(bytes_.data()), bytes_.size());
      if (status == Z_BUF_ERROR || (status == Z_OK && inflated != expected))
        fail_chunk(fmt::format("does not inflate to its {} bytes", expected));
      if (status != Z_OK) fail_chunk("is not what gzip wrote");
      bytes_.swap(other_);
    }
  }
  if (bytes_.size() != chunk_bytes_)
    fail_chunk(fmt::format("has {} bytes, its extents need {}", bytes_.size(), chunk_bytes_));
}

void ChunkReader::copy(std::span<const Overlap> overlaps, const std::byte* from, std::byte* to) const {
  const Overlap& along = overlaps.front();
  from += along.first * along.from;
  to += along.begin * along.to;
  const bool is_last = overlaps.size() == 1;
  if (is_last && along.step == 1 && along.from > 0) {
    std::memcpy(to, from, (along.end - along.begin) * element_bytes_);
    return;
  }
  for (hsize_t i = along.begin; i < along.end; ++i, from += along.step * along.from, to += along.to) {
    if (is_last) {
      std::memcpy(to, from, element_bytes_);
    } else {
      copy(overlaps.subspan(1), from, to);
    }
  }
}

void ChunkReader::read(std::span<const hsize_t> start, std::span<const hsize_t> step,
                       std::span<const hsize_t> count, std::byte* destination) {
  const std::lock_guard lock(reading_);
  const auto step_of = [&](std::size_t d) { return step.empty() ? hsize_t{1} : step[d]; };
  Index chunk{};
  Index first{};
  Index last{};
  for (std::size_t d = 0; d < rank_; ++d) {
    if (count[d] == 0) return;
    first[d] = chunk[d] = start[d] / extent_[d];
    last[d] = (start[d] + (count[d] - 1) * step_of(d)) / extent_[d];
  }
  std::array<Overlap, max_rank> overlaps{};
  for (bool more = true; more;) {
    bool is_empty = false;
    std::size_t from = element_bytes_;
    std::size_t to = element_bytes_;
    for (std::size_t d = rank_; d-- > 0; from *= extent_[d], to *= count[d]) {
      const hsize_t origin = chunk[d] * extent_[d];
      const hsize_t end = origin + extent_[d];
      const auto index_from = [&](hsize_t element) {  // of the first element of the box from there on
        return element <= start[d] ? 0 : (element - start[d] + step_of(d) - 1) / step_of(d);
      };
      const hsize_t begin = index_from(origin);
      overlaps[d] = {begin,
                     std::min(count[d], index_from(end)),
                     start[d] + begin * step_of(d) - origin,
                     step_of(d),
                     from,
                     to};
      is_empty = is_empty || overlaps[d].begin >= overlaps[d].end;
    }
    if (!is_empty) {
      const std::byte* bytes = load(chunk);
      if (bytes == nullptr)
        for (Overlap& along : overlaps) along.from = 0;
      copy({overlaps.data(), rank_}, bytes == nullptr ? fill_.data() : bytes, destination);
    }
    more = false;
    for (std::size_t d = rank_; d-- > 0 && !more;) {
      more = chunk[d] < last[d];
      chunk[d] = more ? chunk[d] + 1 : first[d];
    }
  }
  if (chunk_bytes_ <= max_kept_bytes) return;
  loaded_.reset();
  bytes_ = {};
  other_ = {};
}

}  // namespace mylos::hdf5
