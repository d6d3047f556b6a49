#include "hostile_hdf5.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mylos/io/files/digest.hpp"

namespace mylos::fuzz {
namespace {

constexpr hsize_t max_data = hsize_t{1} << 22;  // bytes that are written to a dataset

/// An HDF5 identifier of any kind.
class Id {
 public:
  explicit Id(hid_t id) : id_(id) {}
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  ~Id() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  [[nodiscard]] hid_t get() const { return id_; }

 private:
  hid_t id_;
};

hid_t text_type(std::size_t bytes) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, bytes);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  return type;
}

/// Types that a reader may or may not expect.
hid_t any_type(FuzzedDataProvider& input) {
  const hid_t plain[] = {H5T_STD_U8LE,   H5T_STD_I8LE,   H5T_STD_U16LE, H5T_STD_U16BE,  H5T_STD_U32LE,
                         H5T_STD_I32LE,  H5T_STD_I32BE,  H5T_STD_I64LE, H5T_STD_U64LE,  H5T_IEEE_F32LE,
                         H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_STD_B8LE,  H5T_STD_REF_OBJ};
  const auto choice = input.ConsumeIntegralInRange<std::size_t>(0, std::size(plain) + 5);
  if (choice < std::size(plain)) return H5Tcopy(plain[choice]);
  switch (choice - std::size(plain)) {
    case 0:
      return text_type(input.ConsumeIntegralInRange<std::size_t>(1, 5000));
    case 1:
      return text_type(H5T_VARIABLE);
    case 2: {
      const hid_t compound = H5Tcreate(H5T_COMPOUND, 12);
      H5Tinsert(compound, "r", 0, H5T_IEEE_F32LE);
      H5Tinsert(compound, "i", 4, H5T_IEEE_F64LE);
      return compound;
    }
    case 3: {
      const hsize_t extents[] = {input.ConsumeIntegralInRange<hsize_t>(1, 1000), 3};
      return H5Tarray_create2(H5T_IEEE_F32LE, 2, extents);
    }
    case 4:
      return H5Tenum_create(H5T_STD_I32LE);
    default: {
      const hid_t half = H5Tcopy(H5T_IEEE_F32LE);
      H5Tset_fields(half, 15, 10, 5, 0, 10);
      H5Tset_size(half, 2);
      return half;
    }
  }
}

std::vector<hsize_t> any_dims(FuzzedDataProvider& input) {
  const hsize_t lengths[] = {1,
                             0,
                             2,
                             3,
                             7,
                             1000,
                             hsize_t{1} << 20,
                             hsize_t{1} << 31,
                             hsize_t{1} << 32,
                             hsize_t{1} << 62,
                             ~hsize_t{0} - 1};
  std::vector<hsize_t> dims(input.ConsumeIntegralInRange<std::size_t>(0, 10));
  for (hsize_t& extent : dims) extent = input.PickValueInArray(lengths);
  return dims;
}

hsize_t bytes_of(hid_t type, const std::vector<hsize_t>& dims) {
  hsize_t bytes = H5Tget_size(type);
  for (const hsize_t extent : dims) {
    if (extent != 0 && bytes > (hsize_t{1} << 40) / extent) return ~hsize_t{0};
    bytes *= extent;
  }
  return bytes;
}

void write_attribute(hid_t object, const std::string& name, hid_t type, const std::vector<hsize_t>& dims,
                     const void* value) {
  const Id space(dims.empty() ? H5Screate(H5S_SCALAR)
                              : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
  const Id attribute(H5Acreate2(object, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  if (attribute.get() >= 0 && value != nullptr) H5Awrite(attribute.get(), type, value);
}

void add_attribute(hid_t object, const ExpectedAttribute& expected, FuzzedDataProvider& input) {
  std::string text = expected.text;
  std::int64_t value = expected.value;
  switch (input.ConsumeIntegralInRange<int>(0, 5)) {
    case 1:
      return;
    case 2:
      if (text.empty()) value = input.ConsumeIntegral<std::int64_t>();
      if (!text.empty()) text = input.ConsumeRandomLengthString(2000) + '\0';
      break;
    case 3: {
      const Id type(any_type(input));
      const std::vector<std::byte> zeros(static_cast<std::size_t>(H5Tget_size(type.get())));
      return write_attribute(object, expected.name, type.get(), {}, zeros.data());
    }
    case 4: {
      const std::int64_t values[] = {value, value, value};
      return write_attribute(object, expected.name, H5T_STD_I64LE, {3}, values);
    }
    case 5: {
      const Id variable(text_type(H5T_VARIABLE));
      const char* characters = text.c_str();
      return write_attribute(object, expected.name, variable.get(), {}, &characters);
    }
    default:
      break;
  }
  if (text.empty()) return write_attribute(object, expected.name, H5T_STD_I64LE, {}, &value);
  const Id type(text_type(text.size()));
  write_attribute(object, expected.name, type.get(), {}, text.data());
}

/// How a dataset lies in the file: as our writer does it, or some other way.
void choose_storage(hid_t creation, hid_t type, std::vector<hsize_t>& dims, std::vector<hsize_t>& most,
                    FuzzedDataProvider& input) {
  const auto choice = input.ConsumeIntegralInRange<int>(0, 7);
  if (choice <= 1 || dims.empty()) {
    if (choice == 1) H5Pset_layout(creation, H5D_COMPACT);
    return;
  }
  if (choice == 2) {
    H5Pset_external(creation, "/etc/hostname", 0, H5F_UNLIMITED);
    return;
  }
  std::vector<hsize_t> chunk(dims.size(), 1);
  if (bytes_of(type, dims) <= max_data) {  // in one piece: a million pieces take HDF5 gigabytes
    for (std::size_t i = 0; i < dims.size(); ++i) chunk[i] = std::max<hsize_t>(1, dims[i]);
  }
  if (choice == 3) {  // larger than the dataset: it may grow
    most.assign(dims.size(), H5S_UNLIMITED);
    constexpr hsize_t longest = hsize_t{1} << 25;
    std::vector<hsize_t> larger = chunk;
    larger.back() = input.ConsumeIntegralInRange<hsize_t>(std::min(chunk.back(), longest), longest);
    if (bytes_of(type, larger) <= longest) chunk = larger;
  }
  H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
  if (choice == 4) H5Pset_fletcher32(creation);
  if (choice == 5) H5Pset_shuffle(creation);
  if (choice == 6) H5Pset_scaleoffset(creation, H5Z_SO_INT, 0);
  if (choice != 4) H5Pset_deflate(creation, 9);
}

/// Of zeros, or of random bytes while the input has any; with the CRC-32 of what was written.
void write_data(hid_t dataset, hid_t type, const std::vector<hsize_t>& dims, bool with_crc,
                FuzzedDataProvider& input) {
  const hsize_t bytes = bytes_of(type, dims);
  if (bytes > max_data || H5Tis_variable_str(type) > 0) return;
  std::vector<std::uint8_t> data(static_cast<std::size_t>(bytes));
  if (!data.empty() && input.ConsumeBool())
    input.ConsumeData(data.data(), std::min<std::size_t>(data.size(), 64));
  if (!data.empty()) H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data());
  if (!with_crc) return;
  std::size_t counted = data.size();
  if (H5Tget_class(type) ==
      H5T_STRING) {  // as our writer counts texts: without their padding, one byte at least
    while (counted > 1 && data[counted - 1] == 0) --counted;
  }
  add_attribute(dataset, {"crc32", "", crc32_of(data.data(), counted)}, input);
}

void add_dataset(hid_t file, const std::string& path, hid_t type, std::vector<hsize_t> dims, bool with_crc,
                 FuzzedDataProvider& input) {
  const Id creation(H5Pcreate(H5P_DATASET_CREATE));
  const Id links(H5Pcreate(H5P_LINK_CREATE));
  H5Pset_create_intermediate_group(links.get(), 1);
  std::vector<hsize_t> most = dims;
  choose_storage(creation.get(), type, dims, most, input);
  const Id space(dims.empty() ? H5Screate(input.ConsumeBool() ? H5S_NULL : H5S_SCALAR)
                              : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), most.data()));
  const Id dataset(
      H5Dcreate2(file, path.c_str(), type, space.get(), links.get(), creation.get(), H5P_DEFAULT));
  if (dataset.get() >= 0) write_data(dataset.get(), type, dims, with_crc, input);
}

/// A group, a link of some kind, or a named type at `path`.
void add_other(hid_t file, const std::string& path, FuzzedDataProvider& input) {
  const Id links(H5Pcreate(H5P_LINK_CREATE));
  H5Pset_create_intermediate_group(links.get(), 1);
  switch (input.ConsumeIntegralInRange<int>(0, 5)) {
    case 0:
      H5Idec_ref(H5Gcreate2(file, path.c_str(), links.get(), H5P_DEFAULT, H5P_DEFAULT));
      break;
    case 1:
      H5Lcreate_soft("/inputs", file, path.c_str(), links.get(), H5P_DEFAULT);
      break;
    case 2:
      H5Lcreate_external("other.h5", "/inputs", file, path.c_str(), links.get(), H5P_DEFAULT);
      break;
    case 3:  // a group that holds itself
      H5Lcreate_hard(file, "/", file, path.c_str(), links.get(), H5P_DEFAULT);
      break;
    case 4: {
      const Id type(any_type(input));
      H5Tcommit2(file, path.c_str(), type.get(), links.get(), H5P_DEFAULT, H5P_DEFAULT);
      break;
    }
    default:
      H5Lcreate_soft(path.c_str(), file, path.c_str(), links.get(), H5P_DEFAULT);
  }
}

void add_object(hid_t file, const ExpectedDataset& expected, bool with_crc, FuzzedDataProvider& input) {
  const Id type(expected.text_bytes > 0 ? text_type(expected.text_bytes) : H5Tcopy(expected.type));
  switch (input.ConsumeIntegralInRange<int>(0, 5)) {
    case 1:
      return;
    case 2: {
      const Id other(any_type(input));
      return add_dataset(file, expected.path, other.get(), expected.dims, with_crc, input);
    }
    case 3:
      return add_dataset(file, expected.path, type.get(), any_dims(input), with_crc, input);
    case 4:
      return add_other(file, expected.path, input);
    case 5: {
      const Id other(any_type(input));
      return add_dataset(file, expected.path, other.get(), any_dims(input), with_crc, input);
    }
    default:
      return add_dataset(file, expected.path, type.get(), expected.dims, with_crc, input);
  }
}

void add_expected(hid_t file, const ExpectedDataset& expected, bool with_crc, FuzzedDataProvider& input) {
  add_object(file, expected, with_crc, input);
  if (expected.rows == 0) return;
  const Id object(H5Oopen(file, expected.path.c_str(), H5P_DEFAULT));
  if (object.get() >= 0) add_attribute(object.get(), {"rows", "", expected.rows}, input);
}

/// In a group of the file or a new one, by a name of any bytes but zero and '/'.
std::string any_path(const ExpectedFile& expected, FuzzedDataProvider& input) {
  const auto& near =
      expected.datasets[input.ConsumeIntegralInRange<std::size_t>(0, expected.datasets.size() - 1)].path;
  std::string name = input.ConsumeRandomLengthString(40);
  std::replace(name.begin(), name.end(), '\0', '_');
  return near.substr(0, near.rfind('/')) + "/" +
         (name.empty() || name[0] == '/' || name == "." ? "more" : name);
}

}  // namespace

void make_hostile_file(const std::string& path, const ExpectedFile& expected, FuzzedDataProvider& input) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const Id creation(H5Pcreate(H5P_FILE_CREATE));
  H5Pset_userblock(creation.get(), expected.user_block);
  const Id access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get());
  for (const ExpectedAttribute& attribute : expected.attributes) add_attribute(file, attribute, input);
  for (const ExpectedDataset& dataset : expected.datasets)
    add_expected(file, dataset, expected.with_crc, input);
  const auto more = input.ConsumeIntegralInRange<int>(0, 4);
  for (int i = 0; i < more; ++i) {
    const std::string added_path = any_path(expected, input);
    if (input.ConsumeBool()) {
      add_other(file, added_path, input);
    } else {
      const Id type(any_type(input));
      add_dataset(file, added_path, type.get(), any_dims(input), expected.with_crc, input);
    }
  }
  H5Fclose(file);
}

}  // namespace mylos::fuzz
