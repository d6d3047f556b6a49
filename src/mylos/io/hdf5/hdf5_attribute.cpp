#include <fmt/format.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/io/hdf5/hdf5_library.hpp"

namespace mylos::hdf5 {
namespace {

/// Upper bound of a text attribute. A file from elsewhere may claim any length; Mylos's own text attributes
/// are names and digests.
constexpr std::size_t max_text_bytes = std::size_t{1} << 20;

void write(const File::State& file, const std::string& path, const std::string& name, hid_t file_type,
           hid_t memory_type, const void* value) {
  const std::string what = fmt::format("attribute '{}' of {}", name, path);
  const Handle object = open_object(file, path);
  const bool exists = checked_read(H5Aexists(object.id(), name.c_str()), file.path, path) > 0;
  if (exists) {
    // An attribute of the same type is overwritten in place, so that a value written later does not move
    // anything in the file.
    const Handle attribute(checked_read(H5Aopen(object.id(), name.c_str(), H5P_DEFAULT), file.path, what),
                           H5Aclose);
    const Handle type(checked_read(H5Aget_type(attribute.id()), file.path, what), H5Tclose);
    if (checked(H5Tequal(type.id(), file_type)) > 0) {
      checked_write(H5Awrite(attribute.id(), memory_type, value), file, what);
      return;
    }
  }
  if (exists) checked_write(H5Adelete(object.id(), name.c_str()), file, what);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(
      checked_write(H5Acreate2(object.id(), name.c_str(), file_type, space.id(), H5P_DEFAULT, H5P_DEFAULT),
                    file, what),
      H5Aclose);
  checked_write(H5Awrite(attribute.id(), memory_type, value), file, what);
}

/// Opens a scalar attribute of the class that `expected` describes.
Handle open_attribute(const File::State& file, const std::string& path, const std::string& name,
                      H5T_class_t type_class, std::string_view expected) {
  const Handle object = open_object(file, path);
  const std::string what = fmt::format("attribute '{}' of {}", name, path);
  if (checked_read(H5Aexists(object.id(), name.c_str()), file.path, what) == 0) {
    fail_input(errors::missing_dataset, "{}: {} has no attribute '{}', expected {}", file.path, path, name,
               expected);
  }
  Handle attribute(checked_read(H5Aopen(object.id(), name.c_str(), H5P_DEFAULT), file.path, what), H5Aclose);
  const Handle type(checked_read(H5Aget_type(attribute.id()), file.path, what), H5Tclose);
  const Handle space(checked_read(H5Aget_space(attribute.id()), file.path, what), H5Sclose);
  if (H5Tget_class(type.id()) != type_class || H5Sget_simple_extent_npoints(space.id()) != 1) {
    fail_input(errors::bad_dataset, "{}: attribute '{}' of {} is not {}", file.path, name, path, expected);
  }
  return attribute;
}

void read(const File::State& file, const std::string& path, const std::string& name, hid_t attribute,
          hid_t type, void* value) {
  checked_read(H5Aread(attribute, type, value), file.path, fmt::format("attribute '{}' of {}", name, path));
}

}  // namespace

void File::write_attribute(const std::string& path, const std::string& name, std::string_view value) {
  const LibraryScope scope;
  const Handle type = text_type(value.size());
  const std::string text(value);  // at least one byte, as in the type
  write(*state_, path, name, type.id(), type.id(), text.c_str());
}

void File::write_attribute(const std::string& path, const std::string& name, const char* value) {
  write_attribute(path, name, std::string_view(value));
}

void File::write_attribute(const std::string& path, const std::string& name, std::int64_t value) {
  const LibraryScope scope;
  write(*state_, path, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

bool File::has_attribute(const std::string& path, const std::string& name) const {
  const LibraryScope scope;
  const Handle object = open_object(*state_, path);
  return checked_read(H5Aexists(object.id(), name.c_str()), this->path(), path) > 0;
}

std::string File::text_attribute(const std::string& path, const std::string& name) const {
  const LibraryScope scope;
  const Handle attribute = open_attribute(*state_, path, name, H5T_STRING, "a text");
  const Handle type(H5Aget_type(attribute.id()), H5Tclose);
  if (checked(H5Tis_variable_str(type.id())) > 0) {  // as h5py writes them
    char* value = nullptr;
    read(*state_, path, name, attribute.id(), type.id(), &value);
    std::string text = value == nullptr ? "" : value;
    checked(H5free_memory(value));
    return text;
  }
  const std::size_t bytes = H5Tget_size(type.id());
  if (bytes > max_text_bytes) {
    fail_input(errors::too_large, "{}: attribute '{}' of {} claims {} bytes, at most {} are read",
               this->path(), name, path, bytes, max_text_bytes);
  }
  std::string text(bytes, '\0');
  read(*state_, path, name, attribute.id(), type.id(), text.data());
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

std::int64_t File::integer_attribute(const std::string& path, const std::string& name) const {
  const LibraryScope scope;
  const Handle attribute = open_attribute(*state_, path, name, H5T_INTEGER, "an integer");
  std::int64_t value = 0;
  read(*state_, path, name, attribute.id(), H5T_NATIVE_INT64, &value);
  return value;
}

}  // namespace mylos::hdf5
