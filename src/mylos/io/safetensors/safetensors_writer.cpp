#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/io/safetensors/safetensors.hpp"
#include "mylos/io/safetensors/safetensors_header.hpp"

namespace mylos::safetensors {
namespace {

DType type_of(const NamedShape& tensor, DType of_file) {
  return tensor.type.value_or(of_file);
}

std::int64_t bytes_of(const NamedShape& tensor, DType of_file) {
  return elements_of(tensor.shape) * static_cast<std::int64_t>(size_of(type_of(tensor, of_file)));
}

/// Returns the header, padded with blanks so that the tensors after it start at a multiple of 8 bytes.
std::string header_text(DType type, const std::vector<NamedShape>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t begin = 0;
  for (const NamedShape& tensor : tensors) {
    const std::int64_t end = begin + bytes_of(tensor, type);
    header[tensor.name] = {
        {"dtype", word_of(type_of(tensor, type))}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

Writer::Writer(const std::string& path, DType type, std::vector<NamedShape> tensors,
               const std::map<std::string, std::string>& metadata)
    : path_(path), pending_(path), type_(type), tensors_(std::move(tensors)) {
  const std::string header = header_text(type, tensors_, metadata);
  std::int64_t bytes = 0;
  for (const NamedShape& tensor : tensors_) bytes += bytes_of(tensor, type);
  const std::uint64_t length = header.size();
  reserve_space(pending_.temporary(), static_cast<std::int64_t>(sizeof length + length) + bytes);
  pending_.file().append(std::span<const std::uint64_t>(&length, 1));
  pending_.file().append(header);
}

/// Returns the type of the next tensor, which must have this number of elements.
DType Writer::next_type(std::size_t values) const {
  if (next_ == tensors_.size()) fail_run(errors::internal, "{}: more tensors are written than it has", path_);
  if (static_cast<std::int64_t>(values) != elements_of(tensors_[next_].shape)) {
    fail_run(errors::internal, "{}: tensor '{}' has {} elements, {} are written", path_, tensors_[next_].name,
             elements_of(tensors_[next_].shape), values);
  }
  return type_of(tensors_[next_], type_);
}

void Writer::write(std::span<const float> values) {
  dispatch(next_type(values.size()), [&]<class T>(TypeTag<T>) { write_as<T>(values); });
  ++next_;
}

void Writer::write_doubles(std::span<const double> values) {
  if (next_type(values.size()) != DType::fp64)
    fail_run(errors::internal, "{}: tensor '{}' is not fp64, and doubles are written", path_,
             tensors_[next_].name);
  pending_.file().append(values);
  ++next_;
}

template <class T>
void Writer::write_as(std::span<const float> values) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  std::vector<T> buffer(std::min(piece, values.size()));
  for (std::size_t done = 0; done < values.size(); done += piece) {
    const std::size_t count = std::min(piece, values.size() - done);
    for (std::size_t i = 0; i < count; ++i) {
      const float value = values[done + i];
      buffer[i] = from_float<T>(value);
      if (std::isfinite(value) && !std::isfinite(to_float(buffer[i]))) {
        fail_input(errors::not_finite,
                   "{}: tensor '{}' has {} at place {}, which {} cannot hold; write it in a wider type",
                   path_, tensors_[next_].name, value, done + i, word_of(type_of(tensors_[next_], type_)));
      }
    }
    pending_.file().append(std::span<const T>(buffer.data(), count));
  }
}

void Writer::close() {
  if (next_ != tensors_.size())
    fail_run(errors::internal, "{}: {} of {} tensors were written", path_, next_, tensors_.size());
  pending_.publish();
}

}  // namespace mylos::safetensors
