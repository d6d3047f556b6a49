#include "mylos/io/hdf5/hdf5.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <numeric>
#include <thread>

#include "io/support.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/internal.hpp"
#include "support/refusal.hpp"

namespace mylos::hdf5_test {

using namespace testing_support;
using hdf5::File;

TEST(Hdf5, PythonReadsWhatWasWritten) {
  const TemporaryFolder folder;
  const std::string path = folder / "all.h5";
  std::vector<float> floats(6);
  std::iota(floats.begin(), floats.end(), 0.5f);
  const std::vector<std::int64_t> integers{-1, 1LL << 40, 7};
  {
    auto file = File::create(path, {.user_block = 512});
    file.create_dataset("/model/dense/weight", DType::fp32, {2, 3}).write(0, 6, floats.data());
    file.create_dataset("/history/step", DType::int64, {3}).write(0, 3, integers.data());
    const double scale = 65536;
    file.create_dataset("/scaler/scale", DType::fp64, {}).write(0, 1, &scale);
    file.create_text("/deck", 40).write_text("name = \"fashion\"");
    file.write_attribute("/", "format", "mylos-checkpoint");
    file.write_attribute("/", "step", std::int64_t{500});
    file.write_attribute("/model/dense/weight", "crc32", std::int64_t{7});
    file.close();
  }
  EXPECT_EQ(
      python("import h5py\nf = h5py.File('" + path +
             "')\n"
             "print(f.userblock_size, f['/model/dense/weight'][:].tolist(), f['/model/dense/weight'].dtype)\n"
             "print(f['/history/step'][:].tolist(), f['/scaler/scale'][()], f['/deck'][()].decode())\n"
             "print(f.attrs['format'].decode(), f.attrs['step'], f['/model/dense/weight'].attrs['crc32'])"),
      "512 [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]] float32\n"
      "[-1, 1099511627776, 7] 65536.0 name = \"fashion\"\n"
      "mylos-checkpoint 500 7\n");
}

TEST(Hdf5, WhatPythonWroteIsReadAndConverted) {
  const TemporaryFolder folder;
  const std::string path = folder / "python.h5";
  python("import h5py, numpy as n\nf = h5py.File('" + path +
         "', 'w')\n"
         "f['labels'] = n.arange(5, dtype='>i8')\n"
         "f.create_dataset('zipped', data=n.arange(12, dtype='f4').reshape(4, 3), compression='gzip', "
         "shuffle=True)\n"
         "f.attrs['name'] = 'Graupel'\nf.attrs['classes'] = n.int32(10)\n");
  const auto file = File::open(path);
  std::vector<std::int32_t> labels(5);
  file.dataset("/labels").read(0, 5, labels.data());
  EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  std::vector<double> zipped(5);
  file.dataset("/zipped").read(2, 5, zipped.data());
  EXPECT_EQ(zipped, (std::vector<double>{2, 3, 4, 5, 6}));
  EXPECT_EQ(file.text_attribute("/", "name"), "Graupel");
  EXPECT_EQ(file.integer_attribute("/", "classes"), 10);
}

TEST(Hdf5, EveryRangeOfElementsReadsAsTheFlatArray) {
  const TemporaryFolder folder;
  std::vector<std::int32_t> values(4 * 3 * 5);
  std::iota(values.begin(), values.end(), 0);
  auto file = File::create(folder / "range.h5");
  auto dataset = file.create_dataset("/x", DType::int32, {4, 3, 5});
  for (std::int64_t first = 0; first < 60; first += 7) {  // written in pieces that do not match rows
    dataset.write(first, std::min<std::int64_t>(7, 60 - first), values.data() + first);
  }
  for (std::int64_t first = 0; first <= 60; ++first) {
    for (std::int64_t count = 0; first + count <= 60; ++count) {
      std::vector<std::int32_t> read(static_cast<std::size_t>(count));
      dataset.read(first, count, read.data());
      ASSERT_EQ(read, std::vector<std::int32_t>(values.begin() + first, values.begin() + first + count))
          << first << " " << count;
    }
  }
  std::int32_t beyond = 0;
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::internal,
                            {file.path() + ": dataset /x has 60 elements", "[60, 61)"},
                            [&] { dataset.read(60, 1, &beyond); }));
}

TEST(Hdf5, LongTransfersInPiecesAreWhole) {
  const TemporaryFolder folder;
  const std::int64_t rows = 1301, columns = 4099;  // 21 MB, five pieces
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  std::iota(values.begin(), values.end(), 0.0f);
  auto file = File::create(folder / "long.h5");
  auto dataset = file.create_dataset("/x", DType::fp32, {rows, columns});
  dataset.write(0, rows * columns, values.data());
  std::vector<float> read(values.size() - 5);
  dataset.read(3, rows * columns - 5, read.data());
  EXPECT_TRUE(std::equal(read.begin(), read.end(), values.begin() + 3));
}

TEST(Hdf5, TheSameCallsGiveTheSameBytes) {
  const TemporaryFolder folder;
  for (const char* name : {"a.h5", "b.h5"}) {
    auto file = File::create(folder / name);
    const float value = 3;
    file.create_dataset("/x/y", DType::fp32, {1}).write(0, 1, &value);
    file.write_attribute("/x", "step", std::int64_t{4});
    file.close();
    if (std::string(name) == "a.h5") std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  }
  EXPECT_TRUE(read_file(folder / "a.h5") == read_file(folder / "b.h5"));
}

TEST(Hdf5, AnAttributeFilledInLaterDoesNotMoveTheFile) {
  const TemporaryFolder folder;
  auto file = File::create(folder / "a.h5");
  const float value = 3;
  file.create_dataset("/x", DType::fp32, {1}).write(0, 1, &value);
  file.write_attribute("/x", "crc32", std::int64_t{0});
  file.flush();
  const auto bytes = file.bytes();
  file.write_attribute("/x", "crc32", std::int64_t{0xcbf43926});
  file.close();
  EXPECT_EQ(File::open(folder / "a.h5").integer_attribute("/x", "crc32"), 0xcbf43926);
  EXPECT_EQ(static_cast<std::int64_t>(std::filesystem::file_size(folder / "a.h5")), bytes);
}

TEST(Hdf5, ChildrenAreListedByNameAndKind) {
  const TemporaryFolder folder;
  auto file = File::create(folder / "a.h5");
  (void)file.create_text("/model/head/bias", 4);
  (void)file.create_text("/model/body", 4);
  std::string listed;
  for (const auto& child : file.children("/model")) {
    listed += child.name + (child.kind == hdf5::ObjectKind::group ? "/ " : " ");
  }
  EXPECT_EQ(listed, "body head/ ");
  EXPECT_TRUE(file.exists("/model/head"));
  EXPECT_FALSE(file.exists("/model/tail/weight"));
  EXPECT_TRUE(file.has_attribute("/", "x") == false);
}

TEST(Hdf5, DatasetsMayOutliveTheirFile) {
  const TemporaryFolder folder;
  auto file = File::create(folder / "a.h5");
  const auto dataset = file.create_dataset("/x", DType::int32, {2});
  file.close();
  EXPECT_EQ(dataset.size(), 2);
}

TEST(Hdf5, WhatIsNoHdf5FileIsRefused) {
  const TemporaryFolder folder;
  const auto refuses = [](const std::string& path, ErrorId id) {
    return test::refuses(ExitCode::bad_input, id, {path + ": "}, [&] { (void)File::open(path); });
  };
  EXPECT_TRUE(refuses(folder / "none.h5", errors::no_such_file));
  EXPECT_TRUE(refuses(folder.path(), errors::not_a_file));
  write_file(folder / "empty.h5", "");
  EXPECT_TRUE(refuses(folder / "empty.h5", errors::wrong_format));
  write_file(folder / "text.h5", "label,x,y\n1,2,3\n");
  EXPECT_TRUE(refuses(folder / "text.h5", errors::wrong_format));
}

TEST(Hdf5, ATruncatedFileIsRefused) {
  const TemporaryFolder folder;
  {
    auto file = File::create(folder / "whole.h5");
    const std::vector<float> values(1000);
    file.create_dataset("/x", DType::fp32, {1000}).write(0, 1000, values.data());
    file.close();
  }
  write_file(folder / "cut.h5", read_file(folder / "whole.h5").substr(0, 3000));
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::truncated,
                            {(folder / "cut.h5") + ": ", "HDF5: truncated file: eof = 3000,"},
                            [&] { (void)File::open(folder / "cut.h5"); }));
}

TEST(Hdf5, AFileThatIsCutWhileItIsReadIsNotReadAsZeros) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  std::vector<float> values(10'000, 1.0f);
  File::create(path).create_dataset("/x", DType::fp32, {10'000}).write(0, 10'000, values.data());
  const auto whole = std::filesystem::file_size(path);
  const auto dataset = File::open(path).dataset("/x");
  dataset.read(0, 10'000, values.data());
  std::filesystem::resize_file(path, whole - 100);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::file_changed,
                            {path + ": ", fmt::format(" {} bytes", whole - 100), fmt::format(" {}", whole)},
                            [&] { dataset.read(0, 10'000, values.data()); }));
}

TEST(Hdf5, WrongShapeOrTypeNamesFileAndDataset) {
  const TemporaryFolder folder;
  const std::string path = folder / "fashion.h5";
  python("import h5py, numpy as n\nf = h5py.File('" + path +
         "', 'w')\n"
         "f['inputs'] = n.zeros((2, 3, 4), dtype='f4')\nf['labels'] = n.zeros(3, dtype='i2')\n"
         "f['half'] = n.zeros((2, 2), dtype='f2')\n");
  const auto file = File::open(path);
  const auto refuses = [&](const char* name, std::initializer_list<DType> types, std::size_t rank,
                           const char* shape, ErrorId id, const char* found, const char* expected) {
    return test::refuses(ExitCode::bad_input, id, {path + ": dataset " + name, found, expected},
                         [&] { file.dataset(name).require(types, rank, shape); });
  };
  const ErrorId bad = errors::bad_dataset;
  EXPECT_TRUE(refuses("/inputs", {DType::fp32}, 2, "[samples, features]", bad, " 3 dimensions",
                      " 2 [samples, features]"));
  EXPECT_TRUE(
      refuses("/labels", {DType::uint8, DType::int32}, 1, "[samples]", bad, " int16", " uint8 or int32"));
  EXPECT_TRUE(refuses("/half", {DType::fp32}, 2, "[samples, features]", bad, " float16", " float32"));
  EXPECT_TRUE(refuses("/targets", {DType::fp32}, 2, "", errors::missing_dataset, "", ""));
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::missing_dataset,
                            {path + ": / ", "'classes'", "an integer"},
                            [&] { (void)file.integer_attribute("/", "classes"); }));
}

TEST(Hdf5, FloatsOf16BitsAreReadUnconverted) {
  const TemporaryFolder folder;
  const std::string path = folder / "narrow.h5";
  const std::vector<std::uint16_t> bits{0x3c00, 0x0001, 0xfc00, 0x8000, 0x7e01};
  const auto count = static_cast<std::int64_t>(bits.size());
  for (const DType type : {DType::fp16, DType::bf16}) {
    auto file = File::create(path);
    const std::int64_t offset = file.create_dataset("/x", type, {count}).file_offset();
    file.close();
    std::fstream raw(path, std::ios::binary | std::ios::in | std::ios::out);
    raw.seekp(offset).write(reinterpret_cast<const char*>(bits.data()), 2 * count);
    raw.close();
    const auto dataset = File::open(path).dataset("/x");
    EXPECT_EQ(dataset.type(), type);
    EXPECT_EQ(dataset.type_name(), type == DType::fp16 ? "float16" : "bfloat16");
    std::vector<std::uint16_t> found(bits.size());
    dataset.read_unconverted(0, count, found.data());
    EXPECT_EQ(found, bits);
    std::vector<float> floats(bits.size());
    dataset.read(0, count, floats.data());
    EXPECT_EQ(floats[0], type == DType::fp16 ? 1.0f : 0.0078125f);
    EXPECT_EQ(floats[1], type == DType::fp16 ? 0x1p-24f : 0x1p-133f);
    python("import h5py, numpy as n\nx = h5py.File('" + path +
           "')['x'][:]\nassert x[0] == (1 if x.dtype == 'f2' else 0.0078125), x\n"
           "assert x.dtype == ('" +
           (type == DType::fp16 ? "f2" : "f4") + "'), x.dtype\n");
  }
}

TEST(Hdf5, WhatLeadsOutOfTheFileIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "links.h5";
  python(
      "import h5py, numpy as n\nimport os\nos.chdir('" + folder.path() +
      "')\n"
      "open('raw', 'wb').write(b'secret!!')\n"
      "other = h5py.File('other.h5', 'w')\nother['x'] = [1.0]\nother.close()\n"
      "f = h5py.File('links.h5', 'w')\n"
      "f['external'] = h5py.ExternalLink('other.h5', '/x')\nf['soft'] = h5py.SoftLink('/soft')\n"
      "f.create_dataset('outside', (8,), dtype='u1', external=[('raw', 0, 8)])\n"
      "layout = h5py.VirtualLayout(shape=(1,), dtype='f8')\n"
      "layout[:] = h5py.VirtualSource('other.h5', 'x', shape=(1,))\nf.create_virtual_dataset('virtual', "
      "layout)\n"
      "f.create_dataset('lzf', data=n.zeros(4), compression='lzf')\n"
      "f.create_dataset('wide', data=n.zeros(3), maxshape=(None,), chunks=(1 << 22,), compression='gzip')\n"
      "f['null'] = h5py.Empty('f4')\n"
      "f.create_dataset('claims', (1 << 40,), dtype='f8')\n"
      "f.create_dataset('bomb', (1 << 40,), dtype='f8', chunks=(1 << 16,), compression='gzip')\n");
  const auto file = File::open(path);
  const auto refuses = [&](const std::string& name, ErrorId id, const char* found,
                           const char* expected = "") {
    return test::refuses(ExitCode::bad_input, id, {path + ": dataset " + name + " ", found, expected},
                         [&] { (void)file.dataset(name); });
  };
  EXPECT_TRUE(refuses("/external", errors::unsupported_feature, "link (/external)"));
  EXPECT_TRUE(refuses("/soft", errors::unsupported_feature, "link (/soft)"));
  EXPECT_TRUE(refuses("/outside", errors::unsupported_feature, "another file"));
  EXPECT_TRUE(refuses("/virtual", errors::unsupported_feature, "another file"));
  EXPECT_TRUE(refuses("/lzf", errors::unsupported_feature, "filter 32000 (lzf)", "gzip"));
  EXPECT_TRUE(refuses("/wide", errors::too_large, "chunks of 32 MiB", "24 B"));
  EXPECT_TRUE(refuses("/null", errors::bad_dataset, "null dataspace"));
  EXPECT_TRUE(refuses("/claims", errors::damaged, " 0 B ", " 8 TiB"));
  EXPECT_TRUE(refuses("/bomb", errors::damaged, " 0 B ", " 8 TiB"));
}

TEST(Hdf5, SizesThatMultiplyPast63BitsAreRefused) {
  // Each product is 0 modulo 2^64, and an empty storage would be enough for 0 bytes.
  const TemporaryFolder folder;
  const std::string path = folder / "large.h5";
  python(
      "import h5py\nf = h5py.File('" + path +
      "', 'w')\n"
      "for name, shape, kind in (('bytes', (1 << 33, 1 << 31), 'u1'), ('floats', (1 << 31, 1 << 31), 'f4'),\n"
      "                          ('cube', (1 << 22, 1 << 21, 1 << 21), 'u1')):\n"
      "    f.create_dataset(name, shape, dtype=kind, chunks=(1,) * len(shape), compression='gzip')\n");
  const auto file = File::open(path);
  for (const std::string name : {"/bytes", "/floats", "/cube"}) {
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::too_large,
                              {path + ": dataset " + name + " ", "63 bits"},
                              [&] { (void)file.dataset(name); }));
  }
}

TEST(Hdf5, TwoThreadsShareTheLibraryFairly) {
  const TemporaryFolder folder;
  auto file = File::create(folder / "a.h5");
  const std::int64_t size = std::int64_t{8} << 20;  // 32 MiB: eight pieces
  auto dataset = file.create_dataset("/x", DType::fp32, {size});
  const std::vector<float> values(static_cast<std::size_t>(size), 1.0f);
  dataset.write(0, size, values.data());
  std::atomic<bool> stop = false;
  std::atomic<int> long_reads = 0;
  std::thread background([&] {
    std::vector<float> copy(values.size());
    while (!stop) {
      dataset.read(0, size, copy.data());
      ++long_reads;
    }
  });
  // A short read waits for one piece of the long one, not for all of it.
  while (long_reads == 0) std::this_thread::yield();
  const int before = long_reads;
  float value = 0;
  for (int i = 0; i < 16; ++i) dataset.read(i, 1, &value);
  EXPECT_LE(long_reads - before, 4);  // 16 acquisitions against 8 pieces per long read
  stop = true;
  background.join();
  EXPECT_EQ(value, 1.0f);
}

}  // namespace mylos::hdf5_test
