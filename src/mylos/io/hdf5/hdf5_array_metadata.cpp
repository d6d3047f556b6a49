// Attributes and dimension scales of arrays.
#include <algorithm>
#include <array>

#include "mylos/base/error.hpp"
#include "mylos/io/hdf5/hdf5_array.hpp"
#include "mylos/io/hdf5/hdf5_library.hpp"
#include "mylos/io/hdf5/hdf5_versions.hpp"

namespace mylos::hdf5 {
namespace {

constexpr std::size_t max_attributes = 256;
constexpr std::size_t max_attribute_bytes = std::size_t{64} << 10;

/// Returns the type in which an attribute's numbers are stored, to write them alike; fp64 for unusual ones.
NumberType stored_type(hid_t type) {
  const auto numbers = dtype_of_numbers(type);
  const std::size_t bytes = H5Tget_size(type);
  if (H5Tget_class(type) == H5T_FLOAT) return bytes == 4 ? NumberType::fp32 : NumberType::fp64;
  if (numbers == DType::uint8) return NumberType::uint8;
  if (numbers == DType::uint16) return NumberType::uint16;
  if (numbers == DType::uint32) return NumberType::uint32;
  if (numbers == DType::uint64) return NumberType::uint64;
  if (bytes == 1) return NumberType::int8;
  if (bytes == 2) return NumberType::int16;
  return bytes == 4 ? NumberType::int32 : NumberType::int64;
}

void read_texts(hid_t id, hid_t type, std::size_t count, Attribute& attribute) {
  const auto append = [&](std::string_view text) {
    if (!attribute.text.empty()) attribute.text += '\n';
    attribute.text += text.substr(0, max_attribute_bytes);
  };
  attribute.is_text = true;
  if (H5Tis_variable_str(type) > 0) {
    std::vector<char*> texts(count);
    if (H5Aread(id, type, static_cast<void*>(texts.data())) < 0) return;
    for (char* text : texts) {
      if (text == nullptr) continue;
      append(text);
      H5free_memory(text);
    }
    return;
  }
  const std::size_t bytes = H5Tget_size(type);
  if (bytes > max_attribute_bytes / count) return;
  std::vector<char> texts(bytes * count);
  if (H5Aread(id, type, texts.data()) < 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text(texts.data() + i * bytes, bytes);
    text.resize(text.find_last_not_of(std::string_view("\0 ", 2)) + 1);
    append(text.c_str());
  }
}

/// Reads one attribute; returns false if it holds neither text nor numbers.
bool read_attribute(hid_t object, const char* name, Attribute& attribute) {
  const Handle opened(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  if (!opened.ok()) return false;
  const Handle type(H5Aget_type(opened.id()), H5Tclose);
  const Handle space(H5Aget_space(opened.id()), H5Sclose);
  const auto points = H5Sget_simple_extent_npoints(space.id());
  attribute.name = name;
  if (points < 1 || static_cast<std::size_t>(points) > max_attribute_bytes / sizeof(double)) return false;
  const auto count = static_cast<std::size_t>(points);
  switch (H5Tget_class(type.id())) {
    case H5T_STRING:
      read_texts(opened.id(), type.id(), count, attribute);
      return true;
    case H5T_INTEGER:
    case H5T_FLOAT:
      attribute.numbers.resize(count);
      attribute.type = stored_type(type.id());
      return H5Aread(opened.id(), H5T_NATIVE_DOUBLE, attribute.numbers.data()) >= 0;
    default:
      return false;
  }
}

/// Returns the path of the object that a reference in `dataset` refers to; empty if it cannot be followed.
std::string path_of_reference(hid_t dataset, const hobj_ref_t& reference) {
  const Handle object(H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, &reference), H5Oclose);
  if (!object.ok()) return "";
  std::array<char, 1024> name{};
  const auto length = H5Iget_name(object.id(), name.data(), name.size());
  return length > 0 && static_cast<std::size_t>(length) < name.size() ? name.data() : "";
}

}  // namespace

std::vector<Attribute> Array::attributes() const {
  const LibraryScope scope;
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5A_info_t*, void* data) -> herr_t {
    auto& all = *static_cast<std::vector<std::string>*>(data);
    all.emplace_back(name);
    return all.size() > max_attributes ? -1 : 0;
  };
  hsize_t index = 0;
  if (H5Aiterate2(id(), H5_INDEX_NAME, H5_ITER_INC, &index, add, &names) < 0) {
    if (names.size() > max_attributes)
      fail_input(ErrorId::too_large, "{}: array {} has more than {} attributes", file_path(), path(),
                 max_attributes);
    fail_to_read(fmt::format("{}: the attributes of array {} cannot be read", file_path(), path()));
  }
  std::sort(names.begin(), names.end());
  std::vector<Attribute> attributes;
  for (const std::string& name : names) {
    Attribute attribute;
    if (read_attribute(id(), name.c_str(), attribute)) attributes.push_back(std::move(attribute));
  }
  H5Eclear2(H5E_DEFAULT);
  return attributes;
}

std::vector<std::string> Array::scales() const {
  const LibraryScope scope;
  const std::size_t rank = facts().dims.size();
  std::vector<std::string> paths(rank);
  if (H5Aexists(id(), "DIMENSION_LIST") <= 0) return paths;
  const Handle attribute(H5Aopen(id(), "DIMENSION_LIST", H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(attribute.id()), H5Tclose);
  const Handle space(H5Aget_space(attribute.id()), H5Sclose);
  if (!attribute.ok() || H5Tget_class(type.id()) != H5T_VLEN ||
      H5Sget_simple_extent_npoints(space.id()) != static_cast<hssize_t>(rank))
    return paths;
  const Handle base(H5Tget_super(type.id()), H5Tclose);
  if (H5Tequal(base.id(), H5T_STD_REF_OBJ) <= 0) return paths;
  std::vector<hvl_t> lists(rank);
  if (H5Aread(attribute.id(), type.id(), lists.data()) >= 0) {
    for (std::size_t i = 0; i < rank; ++i) {
      if (lists[i].len > 0) paths[i] = path_of_reference(id(), *static_cast<hobj_ref_t*>(lists[i].p));
    }
    reclaim(type.id(), space.id(), lists.data());
  }
  H5Eclear2(H5E_DEFAULT);
  return paths;
}

}  // namespace mylos::hdf5
