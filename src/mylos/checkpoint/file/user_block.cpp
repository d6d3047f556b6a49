#include "mylos/checkpoint/file/user_block.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/io/files/output_file.hpp"
#include "mylos/io/files/piece_digest.hpp"
#include "mylos/io/files/raw_file.hpp"

namespace mylos {
namespace {

/// Returns the user block. It depends only on its arguments: verification creates it again and compares all
/// of it.
std::string make_block(FileKind kind, const std::string& digest, std::int64_t file_bytes) {
  std::string block = fmt::format(
      "{} {}\nbytes {}\ndigest {} (xxh3-128 of the crc32s of every {} bytes from byte {} on)\n"
      "The rest is HDF5: h5dump and h5py read this file as it is.\n",
      format_of(kind).name, format_of(kind).version, file_bytes, digest, PieceDigest::piece_bytes,
      user_block_bytes);
  block.resize(static_cast<std::size_t>(user_block_bytes) - 1, ' ');
  return block + '\n';
}

std::string read_block(const std::string& path) {
  try {
    return file_text(path, static_cast<std::size_t>(user_block_bytes));
  } catch (const Error& error) {
    // A file that cannot be read may be intact: a restart must not pass over it as over a damaged one.
    if (error.id() == errors::not_a_file) throw;
    throw Error(ExitCode::failed, errors::cannot_read, error.what());
  }
}

std::int64_t size_of_file(const std::string& path) {
  std::error_code failure;
  const std::filesystem::file_status status = std::filesystem::status(path, failure);
  if (status.type() == std::filesystem::file_type::not_found)
    fail_input(errors::no_such_file, "{}: there is no such file", path);
  if (failure) fail_run(errors::cannot_read, "{}: cannot be read: {}", path, failure.message());
  if (!std::filesystem::is_regular_file(status)) fail_input(errors::not_a_file, "{}: is not a file", path);
  const auto bytes = std::filesystem::file_size(path, failure);
  if (failure) fail_run(errors::cannot_read, "{}: cannot be read: {}", path, failure.message());
  return static_cast<std::int64_t>(bytes);
}

std::optional<FileKind> kind_of_block(std::string_view block) {
  for (const FileKind kind : {FileKind::checkpoint, FileKind::model}) {
    if (block.starts_with(format_of(kind).name)) return kind;
  }
  return std::nullopt;
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

void write_user_block(const std::string& path, const std::string& digest, FileKind kind) {
  const std::string block = make_block(kind, digest, size_of_file(path));
  OutputFile file(path, O_WRONLY, path);
  file.write(0, block);
  file.close();
}

FileKind verify_user_block(const std::string& path, ReadableKinds kinds) {
  const std::int64_t bytes = size_of_file(path);
  if (bytes == 0) fail_input(errors::truncated, "{}: is empty", path);
  const std::string block = read_block(path);
  const std::optional<FileKind> kind = kind_of_block(block);
  if (!kind) fail_input(errors::wrong_format, "{}: is not a Mylos checkpoint", path);
  const FileFormat format = format_of(*kind);
  const std::int64_t version = number_after(block, fmt::format("{} ", format.name));
  if (version >= 0 && version != format.version) {
    fail_input(errors::unknown_version, "{}: has format version {}, this program reads {}", path, version,
               format.version);
  }
  const std::int64_t written = number_after(block, "\nbytes ");
  if (bytes < user_block_bytes || (written > bytes && written >= 0)) {
    fail_input(errors::truncated, "{}: is truncated: {} bytes of {}", path, bytes, written);
  }
  if (block != make_block(*kind, contents_digest(path), bytes)) {
    fail_input(errors::damaged,
               "{}: is damaged: its contents do not have the digest that was written with them", path);
  }
  if (*kind == FileKind::model && kinds == ReadableKinds::checkpoints) {
    fail_input(errors::weights_only,
               "{}: is a model file, which `mylos export` wrote without the state of a run; it is for info, "
               "eval, predict and sample; use a checkpoint of the run here",
               path);
  }
  return *kind;
}

std::optional<FileKind> kind_of_file(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return std::nullopt;
  return kind_of_block(read_block(path));
}

}  // namespace mylos
