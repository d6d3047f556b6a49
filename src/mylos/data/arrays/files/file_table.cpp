#include "mylos/data/arrays/files/file_table.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/regular_file.hpp"

namespace mylos {
namespace {

FileStamp stamp_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    fail_input(errors::cannot_read, "{}: cannot be read: {}", path, std::strerror(errno));
  return {status.st_size,
          static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

/// Names the formats that users may take for NetCDF-4.
void refuse_classic_netcdf(const std::string& path) {
  if (file_text(path, 3) != "CDF") return;
  fail_input(errors::wrong_format,
             "{}: is a classic NetCDF file, expected NetCDF-4 or HDF5; `nccopy -k nc4 {} NEW.nc` converts it",
             path, path);
}

hdf5::File open_array_file(const std::string& path) {
  require_regular_file(path);
  refuse_classic_netcdf(path);
  return hdf5::File::open(path);
}

}  // namespace

OpenArrayFile::OpenArrayFile(const std::string& path, const std::vector<std::string>& names,
                             const ArrayOptions& options, const ReadGrid& grid)
    : file(open_array_file(path)) {
  arrays.reserve(names.size());
  for (const std::string& name : names) arrays.emplace_back(file, name, options, grid);
}

ArrayOptions with_available_targets(const std::string& file, ArrayOptions options, GroundTruth truth) {
  if (truth == GroundTruth::required) {
    if (options.targets.empty())
      fail_input(errors::missing_key, "data.arrays.targets is missing: the arrays that the network predicts");
    return options;
  }
  if (options.targets.empty()) return options;
  const OpenArrayFile opened(file, {options.inputs.front()}, options, grid_axes_of(options));
  const bool has_all = std::all_of(options.targets.begin(), options.targets.end(),
                                   [&](const std::string& target) { return opened.file.exists(target); });
  if (has_all) return options;
  options.targets.clear();
  options.targets_are = TargetsAre::state;
  options.differences.clear();
  return options;
}

FileTable::FileTable(std::vector<std::string> paths, std::vector<std::string> arrays,
                     const ArrayOptions& options, ReadGrid grid)
    : paths_(std::move(paths)),
      arrays_(std::move(arrays)),
      options_(options),
      grid_(std::move(grid)),
      stamps_(paths_.size()),
      open_(std::min(max_open, paths_.size())) {}

FileTable::FileTable(const FileTable& whole, const GridPart& part)
    : FileTable(whole.paths_, whole.arrays_, whole.options_, {whole.grid_.axes, part}) {
  stamps_ = whole.stamps_;
}

const OpenArrayFile& FileTable::open(std::int64_t file) {
  ++clock_;
  Entry* oldest = &open_.front();
  for (Entry& entry : open_) {
    if (entry.file == file) {
      entry.used = clock_;
      return *entry.open;
    }
    if (entry.used < oldest->used) oldest = &entry;
  }
  const auto number = static_cast<std::size_t>(file);
  const std::string& path = paths_[number];
  *oldest = {};
  auto opened = [&] {
    require_regular_file(path);
    const FileStamp before = stamp_of(path);
    auto result = std::make_unique<OpenArrayFile>(path, arrays_, options_, grid_);
    if (stamps_[number].bytes == 0) stamps_[number] = before;
    return result;
  }();
  require_unchanged(file);
  *oldest = {file, clock_, std::move(opened)};
  return *oldest->open;
}

void FileTable::require_unchanged(std::int64_t file) const {
  const auto number = static_cast<std::size_t>(file);
  if (stamp_of(paths_[number]) == stamps_[number]) return;
  fail_input(
      errors::file_changed,
      "{}: has changed since it was opened first (its size, or the time of its last change); start again",
      paths_[number]);
}

std::int64_t FileTable::memory_bytes() const {
  constexpr std::int64_t structures = std::int64_t{512} << 10;  // of an open file
  constexpr std::int64_t chunk_cache = std::int64_t{1} << 20;   // of an open array
  std::int64_t bytes = 0;
  for (const std::string& path : paths_)
    bytes += static_cast<std::int64_t>(sizeof(std::string) + sizeof(FileStamp) + path.capacity());
  std::int64_t chunked = 0;  // arrays
  std::int64_t chunk = 0;    // the largest, which HDF5 holds twice while it is decoded
  for (const Entry& entry : open_) {
    if (!entry.open) continue;
    std::int64_t in_file = 0;
    for (const OpenArray& array : entry.open->arrays) {
      const hdf5::ArrayFacts& facts = array.array().facts();
      if (facts.chunk.empty()) continue;
      ++in_file;
      std::int64_t one = size_of(facts.type);
      for (const std::int64_t extent : facts.chunk) one *= extent;
      chunk = std::max(chunk, one);
    }
    chunked = std::max(chunked, in_file);
  }
  return bytes + static_cast<std::int64_t>(open_.size()) * (structures + chunked * chunk_cache) + 2 * chunk;
}

}  // namespace mylos
