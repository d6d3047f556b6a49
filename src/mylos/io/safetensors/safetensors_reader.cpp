#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <optional>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/io/safetensors/safetensors.hpp"
#include "mylos/io/safetensors/safetensors_header.hpp"

namespace mylos::safetensors {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's byte order is taken as it is");

constexpr std::int64_t length_bytes = 8;  // of the number at the start of the file

std::int64_t size_of_file(const std::string& path) {
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status)) fail_input(errors::no_such_file, "{}: there is no such file", path);
  if (!std::filesystem::is_regular_file(status)) fail_input(errors::not_a_file, "{}: is not a file", path);
  const auto bytes = std::filesystem::file_size(path, failure);
  if (failure) fail_input(errors::cannot_read, "{}: cannot be read: {}", path, failure.message());
  return static_cast<std::int64_t>(bytes);
}

void read_bytes(std::ifstream& file, const std::string& path, void* destination, std::int64_t bytes) {
  file.read(static_cast<char*>(destination), bytes);
  if (!file) fail_input(errors::cannot_read, "{}: cannot be read", path);
}

/// Returns the bytes of the header, after checking them against the file and the format's limit.
std::int64_t header_bytes(std::ifstream& file, const std::string& path, std::int64_t file_bytes) {
  if (file_bytes < length_bytes) {
    fail_input(
        errors::wrong_format,
        "{}: {} bytes are not a safetensors file, which begins with the length of its header in {} bytes",
        path, file_bytes, length_bytes);
  }
  std::uint64_t claimed = 0;
  read_bytes(file, path, &claimed, length_bytes);
  if (claimed > static_cast<std::uint64_t>(file_bytes - length_bytes)) {
    if (claimed > static_cast<std::uint64_t>(max_header_bytes))
      fail_input(errors::wrong_format,
                 "{}: is not a safetensors file, whose first {} bytes are the length of its header", path,
                 length_bytes);
    fail_input(errors::truncated,
               "{}: is truncated or not a safetensors file: it claims a header of {} bytes, {} follow", path,
               claimed, file_bytes - length_bytes);
  }
  if (claimed > static_cast<std::uint64_t>(max_header_bytes)) {
    fail_input(errors::too_large, "{}: claims a header of {} bytes, more than the {} that the format allows",
               path, claimed, max_header_bytes);
  }
  return static_cast<std::int64_t>(claimed);
}

/// Returns the type of a tensor whose numbers are all floats exactly; nothing of others.
std::optional<DType> float_type(const Entry& entry) {
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16}) {
    if (word_of(type) == entry.type) return type;
  }
  return std::nullopt;
}

/// Reads elements of T into floats through a buffer of a few MiB.
template <class T>
void read_as(std::ifstream& file, const std::string& path, std::span<float> values) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  std::vector<T> buffer(std::min(piece, values.size()));
  for (std::size_t done = 0; done < values.size(); done += piece) {
    const std::size_t count = std::min(piece, values.size() - done);
    read_bytes(file, path, buffer.data(), static_cast<std::int64_t>(count * sizeof(T)));
    for (std::size_t i = 0; i < count; ++i) values[done + i] = to_float(buffer[i]);
  }
}

/// Rounds doubles to floats through a buffer of a few MiB.
void read_rounded_doubles(std::ifstream& file, const std::string& path, const Entry& entry,
                          std::span<float> values) {
  constexpr std::size_t piece = std::size_t{1} << 19;
  std::vector<double> buffer(std::min(piece, values.size()));
  for (std::size_t done = 0; done < values.size(); done += piece) {
    const std::size_t count = std::min(piece, values.size() - done);
    read_bytes(file, path, buffer.data(), static_cast<std::int64_t>(count * sizeof(double)));
    for (std::size_t i = 0; i < count; ++i) {
      const double value = buffer[i];
      values[done + i] = static_cast<float>(value);
      if (!std::isfinite(value) || std::isfinite(values[done + i])) continue;
      fail_input(errors::not_finite,
                 "{}: tensor '{}' has {} as its element {} (counted from 0), beyond the range of float", path,
                 printable(entry.name), value, done + i);
    }
  }
}

}  // namespace

std::int64_t Entry::size() const {
  return elements_of(shape);
}

std::string_view word_of(DType type) {
  if (type == DType::int32) return "I32";
  if (type == DType::fp64) return "F64";
  return type == DType::fp32 ? "F32" : type == DType::fp16 ? "F16" : "BF16";
}

Reader::Reader(const std::string& path) : path_(path) {
  const std::int64_t file_bytes = size_of_file(path);
  file_.open(path, std::ios::binary);
  if (!file_) fail_input(errors::cannot_read, "{}: cannot be opened", path);
  std::string header(static_cast<std::size_t>(header_bytes(file_, path, file_bytes)), '\0');
  read_bytes(file_, path, header.data(), static_cast<std::int64_t>(header.size()));
  data_start_ = length_bytes + static_cast<std::int64_t>(header.size());
  Header parsed = parse_header(header, file_bytes - data_start_, path);
  entries_ = std::move(parsed.entries);
  metadata_ = std::move(parsed.metadata);
  for (std::size_t i = 0; i < entries_.size(); ++i) index_by_name_.emplace(entries_[i].name, i);
}

const Entry* Reader::find(std::string_view name) const {
  const auto found = index_by_name_.find(name);
  return found == index_by_name_.end() ? nullptr : &entries_[found->second];
}

DType Reader::type_of(const Entry& entry) const {
  if (const std::optional<DType> type = float_type(entry)) return *type;
  fail_input(errors::unsupported_feature, "{}: tensor '{}' holds {}; F32, F16 and BF16 are read", path_,
             printable(entry.name), entry.type);
}

std::vector<float> Reader::read(const Entry& entry) {
  static_cast<void>(type_of(entry));  // before memory is allocated
  std::vector<float> values(static_cast<std::size_t>(entry.size()));
  read(entry, 0, values);
  return values;
}

void Reader::require_roundable(const Entry& entry) const {
  if (float_type(entry) || entry.type == word_of(DType::fp64) || entry.type == complex_word) return;
  fail_input(errors::unsupported_feature,
             "{}: tensor '{}' holds {}; F32, F16, BF16, F64 and C64 become weights", path_,
             printable(entry.name), entry.type);
}

std::vector<float> Reader::read_rounded(const Entry& entry) {
  require_roundable(entry);  // before memory is allocated
  if (float_type(entry)) return read(entry);
  const bool is_complex = entry.type == complex_word;
  std::vector<float> values(static_cast<std::size_t>(entry.size()) * (is_complex ? 2 : 1));
  file_.seekg(data_start_ + entry.begin);
  if (is_complex) {
    read_as<float>(file_, path_, values);
  } else {
    read_rounded_doubles(file_, path_, entry, values);
  }
  return values;
}

std::vector<double> Reader::read_doubles(const Entry& entry) {
  if (entry.type != word_of(DType::fp64)) {
    fail_input(errors::unsupported_feature, "{}: tensor '{}' holds {}, expected F64", path_,
               printable(entry.name), entry.type);
  }
  std::vector<double> values(static_cast<std::size_t>(entry.size()));
  file_.seekg(data_start_ + entry.begin);
  read_bytes(file_, path_, values.data(), static_cast<std::int64_t>(values.size() * sizeof(double)));
  return values;
}

void Reader::read(const Entry& entry, std::int64_t first, std::span<float> values) {
  const DType type = type_of(entry);
  file_.seekg(data_start_ + entry.begin + first * static_cast<std::int64_t>(size_of(type)));
  dispatch(type, [&]<class T>(TypeTag<T>) { read_as<T>(file_, path_, values); });
}

}  // namespace mylos::safetensors
