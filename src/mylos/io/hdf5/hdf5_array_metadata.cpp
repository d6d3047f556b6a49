// Attributes and dimension scales of arrays.
#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/io/hdf5/hdf5_array.hpp"
#include "mylos/io/hdf5/hdf5_library.hpp"
#include "mylos/io/hdf5/hdf5_versions.hpp"

namespace mylos::hdf5 {
namespace {

constexpr std::size_t max_attributes = 256;
constexpr std::size_t max_attribute_bytes = std::size_t{64} << 10;

/// What an attribute's calls of HDF5 return, checked.
struct AttributeOf {
  const std::string& file;
  std::string what;

  template <class Returned>
  Returned read(Returned returned) const {
    return checked_read(returned, file, what);
  }
};

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

void read_texts(const AttributeOf& of, hid_t id, hid_t type, std::size_t count, Attribute& attribute) {
  const auto append = [&](std::string_view text) {
    if (!attribute.text.empty()) attribute.text += '\n';
    attribute.text += text.substr(0, max_attribute_bytes);
  };
  attribute.is_text = true;
  if (checked(H5Tis_variable_str(type)) > 0) {
    std::vector<char*> texts(count);
    of.read(H5Aread(id, type, static_cast<void*>(texts.data())));
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
  of.read(H5Aread(id, type, texts.data()));
  for (std::size_t i = 0; i < count; ++i) {
    std::string text(texts.data() + i * bytes, bytes);
    text.resize(text.find_last_not_of(std::string_view("\0 ", 2)) + 1);
    append(text.c_str());
  }
}

/// Reads one attribute.
Attribute read_attribute(const AttributeOf& of, hid_t object, const std::string& name) {
  const Handle opened(of.read(H5Aopen(object, name.c_str(), H5P_DEFAULT)), H5Aclose);
  const Handle type(of.read(H5Aget_type(opened.id())), H5Tclose);
  const Handle space(of.read(H5Aget_space(opened.id())), H5Sclose);
  const auto points = checked(H5Sget_simple_extent_npoints(space.id()));
  Attribute attribute;
  attribute.name = name;
  if (points < 1 || static_cast<std::size_t>(points) > max_attribute_bytes / sizeof(double)) return attribute;
  const auto count = static_cast<std::size_t>(points);
  switch (H5Tget_class(type.id())) {
    case H5T_STRING:
      read_texts(of, opened.id(), type.id(), count, attribute);
      break;
    case H5T_INTEGER:
    case H5T_FLOAT:
      attribute.numbers.resize(count);
      attribute.type = stored_type(type.id());
      of.read(H5Aread(opened.id(), H5T_NATIVE_DOUBLE, attribute.numbers.data()));
      break;
    default:
      break;
  }
  return attribute;
}

/// Returns the path of the object that a reference in `dataset` refers to; empty if it refers to nothing or
/// to what has no path.
std::string path_of_reference(const AttributeOf& of, hid_t dataset, const hobj_ref_t& reference) {
  if (reference == 0) return "";
  const Handle object(of.read(H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, &reference)), H5Oclose);
  const auto length = static_cast<std::size_t>(of.read(H5Iget_name(object.id(), nullptr, 0)));
  std::string name(length, '\0');
  of.read(H5Iget_name(object.id(), name.data(), length + 1));
  return name;
}

}  // namespace

std::vector<Attribute> Array::attributes() const {
  const LibraryScope scope;
  std::vector<Attribute> attributes;
  for (const std::string& name : attribute_names(id(), file_path(), path(), max_attributes)) {
    const AttributeOf of{file_path(), fmt::format("attribute '{}' of array {}", printable(name), path())};
    attributes.push_back(read_attribute(of, id(), name));
  }
  return attributes;
}

std::vector<std::string> Array::scales() const {
  const LibraryScope scope;
  const std::size_t rank = facts().dims.size();
  std::vector<std::string> paths(rank);
  const AttributeOf of{file_path(), fmt::format("attribute '{}' of array {}", "DIMENSION_LIST", path())};
  if (of.read(H5Aexists(id(), "DIMENSION_LIST")) == 0) return paths;
  const Handle attribute(of.read(H5Aopen(id(), "DIMENSION_LIST", H5P_DEFAULT)), H5Aclose);
  const Handle type(of.read(H5Aget_type(attribute.id())), H5Tclose);
  const Handle space(of.read(H5Aget_space(attribute.id())), H5Sclose);
  if (H5Tget_class(type.id()) != H5T_VLEN ||
      checked(H5Sget_simple_extent_npoints(space.id())) != static_cast<hssize_t>(rank))
    return paths;
  const Handle base(H5Tget_super(type.id()), H5Tclose);
  if (checked(H5Tequal(base.id(), H5T_STD_REF_OBJ)) == 0) return paths;
  std::vector<hvl_t> lists(rank);
  of.read(H5Aread(attribute.id(), type.id(), lists.data()));
  std::vector<hobj_ref_t> first(rank, 0);  // 0 refers to nothing
  for (std::size_t i = 0; i < rank; ++i)
    if (lists[i].len > 0) first[i] = *static_cast<hobj_ref_t*>(lists[i].p);
  reclaim(type.id(), space.id(), lists.data());
  for (std::size_t i = 0; i < rank; ++i) paths[i] = path_of_reference(of, id(), first[i]);
  return paths;
}

}  // namespace mylos::hdf5
