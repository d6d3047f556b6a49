#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "io/support.hpp"
#include "mylos/io/hdf5/hdf5_array.hpp"
#include "mylos/io/hdf5/hdf5_axes.hpp"
#include "support/refusal.hpp"

namespace mylos::hdf5_arrays_test {

using namespace testing_support;
using hdf5::Array;
using hdf5::File;

/// Everything that is in the file: paths, kinds, attributes, and the numbers of arrays.
std::string contents_of(const File& file, const std::string& group) {
  std::string text;
  const bool has_note = file.has_attribute(group, "note");
  text += group + (has_note ? " note " + file.text_attribute(group, "note") : "") + '\n';
  for (const hdf5::Child& child : file.children(group)) {
    const std::string path = (group == "/" ? "" : group) + "/" + child.name;
    if (child.kind == hdf5::ObjectKind::group) text += contents_of(file, path);
    if (child.kind != hdf5::ObjectKind::dataset) continue;
    const Array array(file, path);
    float first = 0;
    array.read({{0}, {1}, {1}}, &first);
    text += fmt::format("{} {} {}", path, file.exists(path), first);
    for (const hdf5::Attribute& attribute : array.attributes())
      text += fmt::format(" {} {}", attribute.name, attribute.text);
    text += fmt::format(" scale '{}'\n", array.scales().front());
  }
  return text;
}

TEST(Hdf5Arrays, AnObjectThatCannotBeReadIsNotTakenForNone) {
  const TemporaryFolder folder;
  const std::string path = folder / "whole.h5";
  {
    File file = File::create(path);
    const float value = 3;
    for (const char* name : {"/x", "/one/two/a", "/one/b"})
      file.create_dataset(name, DType::fp32, {1}).write(0, 1, &value);
    file.write_attribute("/one/two/a", "units", "m");
    file.write_attribute("/one", "note", "of a group");
    hdf5::make_scale(file, "/x", "x");
    hdf5::attach_scales(file, "/one/b", std::vector<std::string>{"/x"});
    file.close();
  }
  EXPECT_EQ(contents_of(File::open(path), "/").substr(0, 2), "/\n");
  const std::string bytes = read_file(path);
  int objects = 0;
  for (std::size_t at = bytes.find("OHDR"); at != std::string::npos; at = bytes.find("OHDR", at + 1)) {
    std::string damaged = bytes;
    damaged[at + 6] = static_cast<char>(damaged[at + 6] ^ 1);  // which the checksum of the header covers
    write_file(path, damaged);
    EXPECT_THROW(contents_of(File::open(path), "/"), Error) << "the object header at byte " << at;
    ++objects;
  }
  EXPECT_EQ(objects, 6);  // of /, /one, /one/two and the three arrays
}

TEST(Hdf5Arrays, ABoxWithStepsIsReadInPieces) {
  const TemporaryFolder folder;
  const std::string path = folder / "long.h5";
  constexpr std::int64_t rows = 5 << 20;  // 20 MiB, of which every second is 10: two pieces
  std::vector<std::int32_t> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), 0);
  {
    File file = File::create(path);
    file.create_dataset("/x", DType::int32, {rows}).write(0, rows, numbers.data());
    file.close();
  }
  std::vector<std::int32_t> odd(rows / 2);
  Array(File::open(path), "/x").read({{1}, {2}, {rows / 2}}, odd.data());
  for (std::size_t i = 0; i < odd.size(); ++i) ASSERT_EQ(odd[i], static_cast<std::int32_t>(2 * i + 1));
}

TEST(Hdf5Arrays, ScalesKnowTheArrayAndItsAxis) {
  const TemporaryFolder folder;
  const std::string path = folder / "scales.h5";
  {
    File file = File::create(path);
    const std::vector<float> zeros(6);
    file.create_dataset("/u", DType::fp32, {2, 3}).write(0, 6, zeros.data());
    file.create_dataset("/v", DType::fp32, {3, 2}).write(0, 6, zeros.data());
    file.create_dataset("/y", DType::fp32, {2}).write(0, 2, zeros.data());
    file.create_dataset("/x", DType::fp32, {3}).write(0, 3, zeros.data());
    hdf5::make_scale(file, "/y", "y");
    hdf5::make_scale(file, "/x", "x");
    hdf5::attach_scales(file, "/u", std::vector<std::string>{"/y", "/x"});
    hdf5::attach_scales(file, "/v", std::vector<std::string>{"/x", "/y"});
    file.close();
  }
  EXPECT_EQ(
      python("import h5py\nf = h5py.File('" + path +
             "')\n"
             "for s in 'xy': print(s, sorted((f[r].name, int(i)) for r, i in f[s].attrs['REFERENCE_LIST']))\n"
             "for a in 'uv': print(a, [d[0].name for d in f[a].dims])\n"),
      "x [('/u', 1), ('/v', 0)]\ny [('/u', 0), ('/v', 1)]\nu ['/y', '/x']\nv ['/x', '/y']\n");
}

TEST(Hdf5Arrays, CopiedAttributesLeaveOutWhatDescribesTheOtherFile) {
  const TemporaryFolder folder;
  const std::string from = folder / "from.h5";
  const std::string to = folder / "to.h5";
  python("import h5py, numpy as n\nf = h5py.File('" + from +
         "', 'w')\nd = f.create_dataset('u', data=n.zeros(2))\n"
         "d.attrs['_Netcdf4Dimid'] = n.int32(3)\nd.attrs['_Netcdf4Coordinates'] = n.int32([0, 1])\n"
         "d.attrs['_NCProperties'] = 'version=2'\nd.attrs['NAME'] = 'u'\nd.attrs['units'] = 'K'\n"
         "d.attrs['levels'] = n.float32([1, 2])\nd.attrs['left out'] = 7\n");
  {
    const std::vector<std::string_view> except = {"left out"};
    File file = File::create(to);
    const float zero = 0;
    file.create_dataset("/u", DType::fp32, {1}).write(0, 1, &zero);
    hdf5::copy_attributes(File::open(from), "/u", file, "/u", except);
    file.close();
  }
  EXPECT_EQ(python("import h5py\nprint(sorted(h5py.File('" + to + "')['u'].attrs))"),
            "['levels', 'units']\n");
}

}  // namespace mylos::hdf5_arrays_test
