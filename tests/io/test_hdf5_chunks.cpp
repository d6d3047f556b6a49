#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "io/support.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/io/hdf5/hdf5_array.hpp"
#include "support/refusal.hpp"

namespace mylos::hdf5_chunks_test {

using namespace testing_support;
using hdf5::Array;
using hdf5::File;

/// Writes a file with h5py: lines that use f, n (numpy) and zlib.
std::string write(const std::string& path, const std::string& lines) {
  python("import h5py, zlib, numpy as n\nf = h5py.File('" + path + "', 'w')\n" + lines);
  return path;
}

TEST(Hdf5Chunks, OfEachFilterAreReadAsHdf5Does) {
  const TemporaryFolder folder;
  const std::string path = write(
      folder / "a.h5",
      "r = n.random.default_rng(1)\nx = r.standard_normal((23, 7, 11))\nf['plain'] = x\n"
      "for i, o in enumerate([dict(compression='gzip'), dict(compression='gzip', shuffle=True),\n"
      "    dict(compression='gzip', shuffle=True, fletcher32=True), dict(shuffle=True), "
      "dict(fletcher32=True),\n"
      "    dict(compression='gzip', fillvalue=3.0), dict(compression='gzip', maxshape=(None, 7, None))]):\n"
      "  for t in ['<f8', '>f8']: f.create_dataset(f'{i}{t}', data=x, dtype=t, chunks=(4, 3, 5), **o)\n");
  const File file = File::open(path);
  const Array plain(file, "/plain");
  const std::vector<Array::Box> boxes = {
      {{0, 0, 0}, {1, 1, 1}, {23, 7, 11}}, {{3, 2, 4}, {1, 1, 1}, {6, 2, 3}},
      {{1, 0, 2}, {3, 2, 4}, {7, 4, 2}},   {{22, 6, 10}, {9, 9, 9}, {1, 1, 1}},
      {{0, 1, 0}, {11, 1, 5}, {3, 1, 3}},  {{5, 0, 0}, {1, 1, 1}, {2, 0, 11}}};
  const auto read = [](const Array& array, const Array::Box& box) {
    std::vector<double> values(static_cast<std::size_t>(box.count[0] * box.count[1] * box.count[2]));
    array.read(box, values.data());
    return values;
  };
  for (int i = 0; i < 7; ++i) {
    for (const char* type : {"<f8", ">f8"}) {
      const Array array(file, fmt::format("/{}{}", i, type));
      for (std::size_t k = 0; k < boxes.size(); ++k)
        EXPECT_EQ(read(array, boxes[k]), read(plain, boxes[k])) << array.path() << ", box " << k;
    }
    std::vector<float> range(300);  // of a Dataset, which converts
    std::vector<float> expected(300);
    file.dataset(fmt::format("/{}>f8", i)).read(50, 300, range.data());
    file.dataset("/plain").read(50, 300, expected.data());
    EXPECT_EQ(range, expected) << i;
  }
}

TEST(Hdf5Chunks, ThatWereNeverWrittenHaveTheFillValue) {
  const TemporaryFolder folder;
  const std::string path =
      write(folder / "a.h5",
            "d = f.create_dataset('a', (6, 4), '>i4', chunks=(2, 4), compression='gzip', "
            "fillvalue=-7)\nd[2:4] = n.arange(8).reshape(2, 4)\n");
  std::vector<std::int32_t> values(9);
  Array(File::open(path), "/a").read({{1, 1}, {1, 1}, {3, 3}}, values.data());
  EXPECT_EQ(values, (std::vector<std::int32_t>{-7, -7, -7, 1, 2, 3, 5, 6, 7}));
}

TEST(Hdf5Chunks, OfAnotherSizeAreRefused) {
  struct Case {
    const char* options;
    const char* chunk;  // of 8 x 60 floats, which have 1920 bytes
    const char* says;
  };
  const std::vector<Case> cases = {
      {"compression='gzip'", "zlib.compress(bytes(10))", "does not inflate to its 1920 bytes"},
      {"compression='gzip'", "zlib.compress(bytes(1919))", "does not inflate to its 1920 bytes"},
      {"compression='gzip'", "zlib.compress(bytes(1921))", "does not inflate to its 1920 bytes"},
      {"compression='gzip'", "zlib.compress(bytes(1 << 20))", "does not inflate to its 1920 bytes"},
      {"compression='gzip'", "zlib.compress(bytes(20 << 20))", "has more bytes than its data"},
      {"compression='gzip'", "bytes(1920)", "is not what gzip wrote"},
      {"shuffle=True", "bytes(2020)", "has 2020 bytes, its extents need 1920"},
      {"fletcher32=True", "bytes(1920) + b'1234'", "does not have its checksum"},
  };
  const TemporaryFolder folder;
  std::string lines = "x = n.ones((16, 60), 'f4')\n";
  for (std::size_t i = 0; i < cases.size(); ++i)
    lines +=
        fmt::format("f.create_dataset('a{}', data=x, chunks=(8, 60), {}).id.write_direct_chunk((8, 0), {})\n",
                    i, cases[i].options, cases[i].chunk);
  const std::string path = write(folder / "a.h5", lines);
  const File file = File::open(path);
  std::vector<float> values(960);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string name = fmt::format("/a{}", i);
    const std::string text =
        fmt::format("{}: {} is damaged: the chunk at [8, 0] {}", path, name, cases[i].says);
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::damaged, {text}, [&] {
      Array(file, name).read({{0, 0}, {1, 1}, {16, 60}}, values.data());
    })) << i;
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::damaged, {text}, [&] {
      file.dataset(name).read(0, 960, values.data());
    })) << i;
  }
}

}  // namespace mylos::hdf5_chunks_test
