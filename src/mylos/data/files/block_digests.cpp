#include "mylos/data/files/block_digests.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {
namespace {

constexpr std::int64_t block_bytes = std::int64_t{64} << 10;

std::uint32_t digest_of(const std::string& text) {
  return crc32_of(text.data(), text.size());
}

}  // namespace

std::int64_t rows_per_digest(std::int64_t row_bytes) {
  return std::max<std::int64_t>(1, block_bytes / row_bytes);
}

std::string digests_of(const std::string& dataset) {
  return "/digests" + dataset;
}

BlockDigests::BlockDigests(std::int64_t block_rows, std::int64_t row_bytes)
    : block_rows_(block_rows), row_bytes_(row_bytes) {}

void BlockDigests::add(const void* rows, std::int64_t count) {
  const auto* position = static_cast<const std::byte*>(rows);
  const std::int64_t block = block_rows_ * row_bytes_;
  for (std::int64_t left = count * row_bytes_; left > 0;) {
    const std::int64_t bytes = std::min(left, block - filled_);
    crc_ = crc32_of(position, static_cast<std::size_t>(bytes), crc_);
    filled_ += bytes;
    position += bytes;
    left -= bytes;
    if (filled_ < block) return;
    digests_.push_back(crc_);
    crc_ = 0;
    filled_ = 0;
  }
}

void BlockDigests::create(hdf5::File& file, const std::string& dataset, std::int64_t rows) const {
  const std::string path = digests_of(dataset);
  (void)file.create_dataset(path, DType::uint32, {(rows + block_rows_ - 1) / block_rows_});
  file.write_attribute(path, "rows", block_rows_);
}

void BlockDigests::write(hdf5::File& file, const std::string& dataset) {
  if (filled_ > 0) digests_.push_back(crc_);
  file.dataset(digests_of(dataset)).write(0, static_cast<std::int64_t>(digests_.size()), digests_.data());
}

void write_text_digest(hdf5::File& file, const std::string& dataset, const std::string& text) {
  const std::string path = digests_of(dataset);
  const std::uint32_t digest = digest_of(text);
  file.create_dataset(path, DType::uint32, {1}).write(0, 1, &digest);
  file.write_attribute(path, "rows", std::int64_t{1});
}

void require_text_digest(const hdf5::File& file, const std::string& dataset, const std::string& text) {
  if (!file.exists("/digests")) return;
  const hdf5::Dataset digests = file.dataset(digests_of(dataset));
  digests.require({DType::uint32}, 1, "[1]");
  std::uint32_t written = 0;
  if (digests.size() == 1) digests.read(0, 1, &written);
  if (digests.size() != 1 || written != digest_of(text)) fail_changed(file.path(), dataset);
}

void fail_changed(const std::string& file, const std::string& what) {
  fail_input(
      errors::damaged,
      "{}: {} was changed since `mylos prepare` wrote the file, or is damaged; if the change is intended, "
      "`mylos prepare stamp {}` recomputes statistics and digests; otherwise prepare the file again",
      file, what, file);
}

}  // namespace mylos
