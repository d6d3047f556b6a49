#include "mylos/io/hdf5/hdf5_axes.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/io/hdf5/hdf5_library.hpp"

namespace mylos::hdf5 {
namespace {

// Names of the "HDF5 Dimension Scale Specification".
constexpr const char* scales_of_array = "DIMENSION_LIST";
constexpr const char* arrays_of_scale = "REFERENCE_LIST";
constexpr std::size_t max_copied_bytes = std::size_t{64} << 10;

/// An entry of REFERENCE_LIST: an array, and which of its axes has the scale.
struct ScaleUse {
  hobj_ref_t array;
  int axis;
};

Handle reference_list_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(ScaleUse)), H5Tclose);
  H5Tinsert(type.id(), "dataset", HOFFSET(ScaleUse, array), H5T_STD_REF_OBJ);
  H5Tinsert(type.id(), "dimension", HOFFSET(ScaleUse, axis), H5T_NATIVE_INT);
  return type;
}

[[noreturn]] void fail_to_write(const File& file, const std::string& path, const char* attribute) {
  hdf5::fail_to_write(file.state(), fmt::format("attribute '{}' of {} cannot be written", attribute, path));
}

void write_list(const File& file, const std::string& path, const char* name, hid_t type, std::size_t count,
                const void* values) {
  const Handle object = open_object(file.state(), path);
  if (H5Aexists(object.id(), name) > 0) H5Adelete(object.id(), name);
  const auto extent = static_cast<hsize_t>(count);
  const Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
  const Handle attribute(H5Acreate2(object.id(), name, type, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.ok() || H5Awrite(attribute.id(), type, values) < 0) fail_to_write(file, path, name);
}

/// Returns the entries that the scale has.
std::vector<ScaleUse> uses_of(const File& file, const std::string& scale, hid_t type) {
  const Handle object = open_object(file.state(), scale);
  if (H5Aexists(object.id(), arrays_of_scale) <= 0) return {};
  const Handle attribute(H5Aopen(object.id(), arrays_of_scale, H5P_DEFAULT), H5Aclose);
  const Handle space(H5Aget_space(attribute.id()), H5Sclose);
  std::vector<ScaleUse> uses(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.id())));
  if (H5Aread(attribute.id(), type, uses.data()) < 0) fail_to_write(file, scale, arrays_of_scale);
  return uses;
}

hobj_ref_t reference_to(const File& file, const std::string& path) {
  hobj_ref_t reference{};
  if (H5Rcreate(&reference, file.state().id, path.c_str(), H5R_OBJECT, -1) < 0) {
    fail_run(ErrorId::cannot_write, "{}: {} cannot be referred to: {}", file.path(), path, last_error());
  }
  return reference;
}

bool is_copied(const char* name, std::span<const std::string_view> except) {
  constexpr std::string_view of_scales[] = {scales_of_array, arrays_of_scale, "CLASS", "NAME",
                                            "DIMENSION_LABELS"};
  const std::string_view text(name);
  return std::ranges::find(of_scales, text) == std::end(of_scales) && !text.starts_with("_Netcdf4") &&
         text != "_NCProperties" && std::ranges::find(except, text) == except.end();
}

struct Copy {
  hid_t to;
  std::span<const std::string_view> except;
  bool failed = false;
};

/// Copies one attribute as it is stored.
void copy_attribute(hid_t from, const char* name, Copy& copy) {
  const Handle source(H5Aopen(from, name, H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(source.id()), H5Tclose);
  const Handle space(H5Aget_space(source.id()), H5Sclose);
  if (!source.ok() || !type.ok() || !space.ok()) return;
  const H5T_class_t kind = H5Tget_class(type.id());
  if (kind != H5T_INTEGER && kind != H5T_FLOAT && kind != H5T_STRING) return;
  const bool is_empty = H5Sget_simple_extent_type(space.id()) == H5S_NULL;  // an empty text of NetCDF
  const auto count = is_empty ? 0 : static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.id()));
  const std::size_t size = H5Tget_size(type.id());
  if (count > max_copied_bytes || size > max_copied_bytes || count * size > max_copied_bytes) return;
  std::vector<char> bytes(std::max<std::size_t>(1, count * size));
  if (count > 0 && H5Aread(source.id(), type.id(), bytes.data()) < 0) return;
  const Handle made(H5Acreate2(copy.to, name, type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!made.ok() || (count > 0 && H5Awrite(made.id(), type.id(), bytes.data()) < 0)) copy.failed = true;
  if (count > 0 && H5Tis_variable_str(type.id()) > 0)
    H5Dvlen_reclaim(type.id(), space.id(), H5P_DEFAULT, bytes.data());
}

}  // namespace

void make_scale(File& file, const std::string& dataset, const std::string& name) {
  const LibraryScope scope;
  const Handle object = open_object(file.state(), dataset);
  const auto write_text = [&](const char* attribute, const std::string& value) {
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.id(), value.size() + 1);
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle made(H5Acreate2(object.id(), attribute, type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT),
                      H5Aclose);
    if (!made.ok() || H5Awrite(made.id(), type.id(), value.c_str()) < 0)
      fail_to_write(file, dataset, attribute);
  };
  write_text("CLASS", "DIMENSION_SCALE");
  write_text("NAME", name);
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
  const Handle source = open_object(from.state(), path);
  const Handle target = open_object(to.state(), to_path);
  Copy copy{target.id(), except};
  const auto take = [](hid_t object, const char* name, const H5A_info_t*, void* data) -> herr_t {
    Copy& job = *static_cast<Copy*>(data);
    if (is_copied(name, job.except)) copy_attribute(object, name, job);
    return 0;
  };
  hsize_t index = 0;
  if (H5Aiterate2(source.id(), H5_INDEX_NAME, H5_ITER_INC, &index, take, &copy) < 0)
    fail_to_read(fmt::format("{}: the attributes of {} cannot be listed", from.path(), path));
  H5Eclear2(H5E_DEFAULT);
  if (copy.failed) fail_to_write(to, to_path, "of the data");
}

void write_number_attribute(File& file, const std::string& path, const char* name, double value) {
  const LibraryScope scope;
  const Handle object = open_object(file.state(), path);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle made(H5Acreate2(object.id(), name, H5T_IEEE_F64LE, space.id(), H5P_DEFAULT, H5P_DEFAULT),
                    H5Aclose);
  if (!made.ok() || H5Awrite(made.id(), H5T_NATIVE_DOUBLE, &value) < 0) fail_to_write(file, path, name);
}

}  // namespace mylos::hdf5
