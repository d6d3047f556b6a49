#include "mylos/checkpoint/file/user_block.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/io/files/piece_digest.hpp"
#include "mylos/io/files/raw_file.hpp"

namespace mylos {
namespace {

/// Returns the user block. It depends only on its arguments: verification creates it again and compares all
/// of it.
std::string make_block(const std::string& digest, std::int64_t file_bytes) {
  std::string block = fmt::format(
      "{} {}\nbytes {}\ndigest {} (xxh3-128 of the crc32s of every {} bytes from byte {} on)\n"
      "The rest is HDF5: h5dump and h5py read this file as it is.\n",
      checkpoint_format, checkpoint_version, file_bytes, digest, PieceDigest::piece_bytes, user_block_bytes);
  block.resize(static_cast<std::size_t>(user_block_bytes) - 1, ' ');
  return block + '\n';
}

std::string read_block(const std::string& path) {
  std::string block(static_cast<std::size_t>(user_block_bytes), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_run(ErrorId::cannot_read, "{}: cannot be opened: {}", path, std::strerror(errno));
  file.read(block.data(), user_block_bytes);
  if (file.bad()) fail_run(ErrorId::cannot_read, "{}: cannot be read: {}", path, std::strerror(errno));
  block.resize(static_cast<std::size_t>(file.gcount()));
  return block;
}

std::int64_t size_of_file(const std::string& path) {
  std::error_code failure;
  const std::filesystem::file_status status = std::filesystem::status(path, failure);
  if (status.type() == std::filesystem::file_type::not_found)
    fail_input(ErrorId::no_such_file, "{}: there is no such file", path);
  if (failure) fail_run(ErrorId::cannot_read, "{}: cannot be read: {}", path, failure.message());
  if (!std::filesystem::is_regular_file(status)) fail_input(ErrorId::not_a_file, "{}: is not a file", path);
  const auto bytes = std::filesystem::file_size(path, failure);
  if (failure) fail_run(ErrorId::cannot_read, "{}: cannot be read: {}", path, failure.message());
  return static_cast<std::int64_t>(bytes);
}

/// Returns the number after `name` in the block, or -1.
std::int64_t number_after(std::string_view block, std::string_view name) {
  const auto start = block.find(name);
  if (start == std::string_view::npos) return -1;
  std::int64_t value = 0;
  std::size_t digits = 0;
  for (const char c : block.substr(start + name.size())) {
    if (c < '0' || c > '9' || ++digits > 18) break;
    value = value * 10 + (c - '0');
  }
  return digits == 0 ? -1 : value;
}

}  // namespace

std::string contents_digest(const std::string& path) {
  PieceDigest digest(user_block_bytes);
  RawFile(path, RawFile::Access::read, RawFile::Cache::use)
      .read(user_block_bytes, [&](const std::byte* data, std::int64_t bytes) { digest.update(data, bytes); });
  return digest.finish();
}

void write_user_block(const std::string& path, const std::string& digest) {
  const std::string block = make_block(digest, size_of_file(path));
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.write(block.data(), user_block_bytes);
  file.flush();
  if (!file)
    fail_run(ErrorId::cannot_write, "{}: its digest cannot be written: {}", path, std::strerror(errno));
}

void verify_user_block(const std::string& path) {
  const std::int64_t bytes = size_of_file(path);
  if (bytes == 0) fail_input(ErrorId::truncated, "{}: is empty", path);
  const std::string block = read_block(path);
  if (!block.starts_with(checkpoint_format))
    fail_input(ErrorId::wrong_format, "{}: is not a Mylos checkpoint", path);
  const std::int64_t version = number_after(block, fmt::format("{} ", checkpoint_format));
  if (version >= 0 && version != checkpoint_version) {
    fail_input(ErrorId::unknown_version, "{}: has format version {}, this program reads {}", path, version,
               checkpoint_version);
  }
  const std::int64_t written = number_after(block, "\nbytes ");
  if (bytes < user_block_bytes || (written > bytes && written >= 0)) {
    fail_input(ErrorId::truncated, "{}: is truncated: {} bytes of {}", path, bytes, written);
  }
  if (block != make_block(contents_digest(path), bytes)) {
    fail_input(ErrorId::damaged,
               "{}: is damaged: its contents do not have the digest that was written with them", path);
  }
}

bool begins_with_format(const std::string& path) {
  std::error_code failure;
  return std::filesystem::is_regular_file(path, failure) && read_block(path).starts_with(checkpoint_format);
}

}  // namespace mylos
