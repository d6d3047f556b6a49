#include "mylos/io/hdf5/hdf5_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/io/hdf5/hdf5_library.hpp"
#include "mylos/io/hdf5/hdf5_versions.hpp"

namespace mylos::hdf5 {
namespace {

// Names of the "HDF5 Dimension Scale Specification".
constexpr const char* scales_of_array = "DIMENSION_LIST";
constexpr const char* arrays_of_scale = "REFERENCE_LIST";
constexpr std::size_t max_copied_bytes = std::size_t{64} << 10;
constexpr std::size_t max_copied_attributes = 65536;

/// An entry of REFERENCE_LIST: an array, and which of its axes has the scale.
struct ScaleUse {
  hobj_ref_t array;
  int axis;
};

Handle reference_list_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(ScaleUse)), H5Tclose);
  checked(H5Tinsert(type.id(), "dataset", HOFFSET(ScaleUse, array), H5T_STD_REF_OBJ));
  checked(H5Tinsert(type.id(), "dimension", HOFFSET(ScaleUse, axis), H5T_NATIVE_INT));
  return type;
}

/// Makes an attribute of an open object, and writes its value unless that is null.
void write_new(const File& file, const std::string& path, hid_t object, const char* name, hid_t stored,
               hid_t space, hid_t in_memory, const void* value) {
  const std::string what = fmt::format("attribute '{}' of {}", name, path);
  const Handle made(
      checked_write(H5Acreate2(object, name, stored, space, H5P_DEFAULT, H5P_DEFAULT), file.state(), what),
      H5Aclose);
  if (value != nullptr) checked_write(H5Awrite(made.id(), in_memory, value), file.state(), what);
}

void write_list(const File& file, const std::string& path, const char* name, hid_t type, std::size_t count,
                const void* values) {
  const Handle object = open_object(file.state(), path);
  if (checked_read(H5Aexists(object.id(), name), file.path(), path) > 0)
    checked_write(H5Adelete(object.id(), name), file.state(), path);
  const auto extent = static_cast<hsize_t>(count);
  const Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
  write_new(file, path, object.id(), name, type, space.id(), type, values);
}

/// Returns the entries that the scale has.
std::vector<ScaleUse> uses_of(const File& file, const std::string& scale, hid_t type) {
  const Handle object = open_object(file.state(), scale);
  if (checked_read(H5Aexists(object.id(), arrays_of_scale), file.path(), scale) == 0) return {};
  const Handle attribute(checked_read(H5Aopen(object.id(), arrays_of_scale, H5P_DEFAULT), file.path(), scale),
                         H5Aclose);
  const Handle space(checked_read(H5Aget_space(attribute.id()), file.path(), scale), H5Sclose);
  std::vector<ScaleUse> uses(static_cast<std::size_t>(checked(H5Sget_simple_extent_npoints(space.id()))));
  checked_read(H5Aread(attribute.id(), type, uses.data()), file.path(), scale);
  return uses;
}

hobj_ref_t reference_to(const File& file, const std::string& path) {
  hobj_ref_t reference{};
  checked_read(H5Rcreate(&reference, file.state().id, path.c_str(), H5R_OBJECT, -1), file.path(), path);
  return reference;
}

bool is_copied(std::string_view name, std::span<const std::string_view> except) {
  constexpr std::string_view of_scales[] = {scales_of_array, arrays_of_scale, "CLASS", "NAME",
                                            "DIMENSION_LABELS"};
  return std::ranges::find(of_scales, name) == std::end(of_scales) && !name.starts_with("_Netcdf4") &&
         name != "_NCProperties" && std::ranges::find(except, name) == except.end();
}

/// An open group or dataset.
struct Opened {
  const File& file;
  const std::string& path;
  Handle object;
};

/// Copies one attribute as it is stored.
void copy_attribute(const Opened& from, const std::string& name, const Opened& to) {
  const std::string what = fmt::format("attribute '{}' of {}", name, from.path);
  const auto read = [&](auto returned) { return checked_read(returned, from.file.path(), what); };
  const Handle source(read(H5Aopen(from.object.id(), name.c_str(), H5P_DEFAULT)), H5Aclose);
  const Handle type(read(H5Aget_type(source.id())), H5Tclose);
  const Handle space(read(H5Aget_space(source.id())), H5Sclose);
  const H5T_class_t kind = H5Tget_class(type.id());
  if (kind != H5T_INTEGER && kind != H5T_FLOAT && kind != H5T_STRING) return;
  const bool is_empty = H5Sget_simple_extent_type(space.id()) == H5S_NULL;  // an empty text of NetCDF
  const auto count =
      is_empty ? 0 : static_cast<std::size_t>(checked(H5Sget_simple_extent_npoints(space.id())));
  const std::size_t size = H5Tget_size(type.id());
  if (count > max_copied_bytes || size > max_copied_bytes || count * size > max_copied_bytes) return;
  std::vector<char> bytes(std::max<std::size_t>(1, count * size));
  if (count > 0) read(H5Aread(source.id(), type.id(), bytes.data()));
  write_new(to.file, to.path, to.object.id(), name.c_str(), type.id(), space.id(), type.id(),
            count > 0 ? bytes.data() : nullptr);
  if (count > 0 && checked(H5Tis_variable_str(type.id())) > 0) reclaim(type.id(), space.id(), bytes.data());
}

}  // namespace

void make_scale(File& file, const std::string& dataset, const std::string& name) {
  const LibraryScope scope;
  const Handle object = open_object(file.state(), dataset);
  const auto write_text = [&](const char* attribute, const std::string& value) {
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    checked(H5Tset_size(type.id(), value.size() + 1));
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    write_new(file, dataset, object.id(), attribute, type.id(), space.id(), type.id(), value.c_str());
  };
  write_text("CLASS", "DIMENSION_SCALE");
  write_text("NAME", name);
}

void write_labels(File& file, const std::string& path, std::span<const std::string> labels) {
  const LibraryScope scope;
  std::vector<const char*> texts;
  for (const std::string& label : labels) texts.push_back(label.c_str());
  const Handle type = text_type(H5T_VARIABLE);  // h5netcdf reads others as bytes
  const auto extent = static_cast<hsize_t>(labels.size());
  const Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  checked(H5Pset_obj_track_times(creation.id(), false));  // the same calls write the same bytes
  const Handle dataset(checked_write(H5Dcreate2(file.state().id, path.c_str(), type.id(), space.id(),
                                                H5P_DEFAULT, creation.id(), H5P_DEFAULT),
                                     file.state(), path),
                       H5Dclose);
  checked_write(H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()), file.state(),
                path);
}

void attach_scales(File& file, const std::string& array, std::span<const std::string> scales) {
  if (std::all_of(scales.begin(), scales.end(), [](const std::string& scale) { return scale.empty(); }))
    return;
  const LibraryScope scope;
  const Handle entry = reference_list_type();
  std::vector<hobj_ref_t> references(scales.size());
  std::vector<hvl_t> lists(scales.size(), hvl_t{0, nullptr});
  for (std::size_t axis = 0; axis < scales.size(); ++axis) {
    if (scales[axis].empty()) continue;
    references[axis] = reference_to(file, scales[axis]);
    lists[axis] = {1, &references[axis]};
    std::vector<ScaleUse> uses = uses_of(file, scales[axis], entry.id());
    ScaleUse use;
    std::memset(&use, 0, sizeof use);  // its padding is written too
    use.array = reference_to(file, array);
    use.axis = static_cast<int>(axis);
    uses.push_back(use);
    write_list(file, scales[axis], arrays_of_scale, entry.id(), uses.size(), uses.data());
  }
  const Handle type(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose);
  write_list(file, array, scales_of_array, type.id(), lists.size(), lists.data());
}

void copy_attributes(const File& from, const std::string& path, File& to, const std::string& to_path,
                     std::span<const std::string_view> except) {
  const LibraryScope scope;
  const Opened source{from, path, open_object(from.state(), path)};
  const Opened target{to, to_path, open_object(to.state(), to_path)};
  for (const std::string& name :
       attribute_names(source.object.id(), from.path(), path, max_copied_attributes))
    if (is_copied(name, except)) copy_attribute(source, name, target);
}

void write_number_attribute(File& file, const std::string& path, const char* name, double value, DType type) {
  const LibraryScope scope;
  const Handle object = open_object(file.state(), path);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  write_new(file, path, object.id(), name, type == DType::fp32 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE, space.id(),
            H5T_NATIVE_DOUBLE, &value);
}

}  // namespace mylos::hdf5
