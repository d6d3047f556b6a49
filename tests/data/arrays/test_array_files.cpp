#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "data/arrays/array_builders.hpp"
#include "mylos/data/arrays/files/file_pattern.hpp"

namespace mylos {
namespace {

using namespace testing_support;

std::string refusal_of(const std::vector<std::string>& files, const ArrayOptions& options) {
  return error_of([&] { (void)open_array_store(files, options); });
}

testing::AssertionResult has_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    if (text.find(part) == std::string::npos)
      return testing::AssertionFailure() << "no '" << part << "' in: " << text;
  }
  return testing::AssertionSuccess();
}

TEST(ArrayFiles, PatternsAreSortedAndMustMatch) {
  const TemporaryFolder folder;
  for (const char* name : {"run10", "run02", "run01", "other", "run[1]"}) write_file(folder / name, "");
  EXPECT_EQ(files_of({folder / "run0[1-2]", folder / "other"}),
            (std::vector<std::string>{folder / "other", folder / "run01", folder / "run02"}));
  EXPECT_EQ(files_of({folder / "run[1]"}),
            (std::vector<std::string>{folder / "run[1]"}));  // a name before a pattern
  EXPECT_TRUE(has_parts(error_of([&] { (void)files_of({folder / "no*"}); }), {"no*", "matches no file"}));
  EXPECT_TRUE(has_parts(error_of([&] { (void)files_of({folder / "none"}); }), {"none", "no such file"}));
  EXPECT_TRUE(has_parts(error_of([&] {
                          (void)files_of({folder / "run0*", folder / "run01"});
                        }),
                        {"run01", "two"}));
  EXPECT_TRUE(has_parts(error_of([&] {
                          (void)files_of({folder / "run01", folder / "./run01"});
                        }),
                        {"/run01 and ", "/./run01", "the same file"}));
}

TEST(ArrayFiles, ThatDoNotFitAreRefused) {
  const TemporaryFolder folder;
  const ArrayOptions options = one_array("/u", {"time", "y", "x"});
  const std::string good = write_arrays(folder / "good.h5", "f['u'] = code(4, 2, 3)");
  const auto other = [&](const std::string& lines) {
    return refusal_of({good, write_arrays(folder / "other.h5", lines)}, options);
  };
  EXPECT_TRUE(has_parts(other("f['u'] = code(4, 2, 4)"), {"good.h5", "other.h5", "/u", "[2, 3]", "[2, 4]"}));
  EXPECT_TRUE(
      has_parts(other("f['u'] = code(4, 2, 3).astype('f4')"), {"good.h5", "other.h5", "float32", "float64"}));
  EXPECT_TRUE(has_parts(other("f['v'] = code(4, 2, 3)"), {"other.h5: /u is missing; / has v"}));
  EXPECT_TRUE(has_parts(
      refusal_of({write_arrays(folder / "deep.h5", "f['flow/v'] = code(4, 2, 3); f['mask'] = code(2, 3)")},
                 one_array("/flow/deeper/u", {"time", "y", "x"})),
      {"/flow/deeper/u is missing; /flow has v"}));
  EXPECT_TRUE(has_parts(other("f['u'] = code(4, 2)"), {"other.h5", "/u", "2 dimensions", "time y x"}));
  EXPECT_TRUE(has_parts(other("f['u'] = code(1, 2, 3)"), {"other.h5", "/u", "1 level", "needs 2"}));
  EXPECT_TRUE(has_parts(other("f['u'] = ['a', 'b']"), {"other.h5", "/u", "expected numbers"}));
  EXPECT_TRUE(
      has_parts(other("f['u'] = code(4, 2, 3).astype('c16')"), {"other.h5", "compound", "two arrays"}));
  EXPECT_TRUE(has_parts(other("f['u'] = code(4, 2, 3).astype('g')"), {"float128", "floats of 8 to 64 bits"}));
  EXPECT_TRUE(has_parts(other("f.create_dataset('u', data=code(4, 2, 3), compression='lzf')"),
                        {"other.h5", "/u", "lzf", "not built in"}));
  EXPECT_TRUE(has_parts(other("f.create_dataset('u', (4, 2, 3), chunks=(1, 2, 3))"),
                        {"other.h5", "/u", "never written"}));
  EXPECT_TRUE(
      has_parts(other("f.create_dataset('u', (2**60, 2**30, 3), chunks=(1, 2, 3))"), {"other.h5", "/u"}));
  EXPECT_TRUE(has_parts(other("f['u'] = h5py.ExternalLink('good.h5', '/u')"), {"other.h5", "/u", "link"}));
  ArrayOptions sliced = options;
  sliced.slice = {{"y", 2, std::nullopt}};
  EXPECT_TRUE(has_parts(refusal_of({good}, sliced), {"good.h5", "/u", "\"y\"", "2:", "nothing is left"}));
  write_file(folder / "classic.nc", "CDF\x01 and more");
  EXPECT_TRUE(has_parts(refusal_of({folder / "classic.nc"}, options), {"classic NetCDF", "nccopy"}));
  write_file(folder / "text.h5", "time y x");
  EXPECT_TRUE(has_parts(refusal_of({folder / "text.h5"}, options), {"text.h5", "not an HDF5 file"}));
}

TEST(ArrayFiles, AnUnreadableChunkIsNamed) {
  const TemporaryFolder folder;
  const std::string path =
      write_arrays(folder / "a.h5",
                   "d = f.create_dataset('u', data=code(8, 2, 3), chunks=(1, 2, 3), fletcher32=True)\n"
                   "at = d.id.get_chunk_info(5).byte_offset\nf.close()\n"
                   "b = open(f'" +
                       folder.path() + "/a.h5', 'r+b'); b.seek(at + 3); b.write(b'x'); b.close()");
  // One slab holds all levels of so small an array.
  const auto store = open_array_store({path}, one_array("/u", {"time", "y", "x"}));
  EXPECT_TRUE(
      has_parts(error_of([&] { inputs_of(*store, 0); }), {"a.h5", "/u", "is damaged", "/u[0, 0, 0]"}));
}

TEST(ArrayFiles, AChangeWhileReadingIsNoticed) {
  const TemporaryFolder folder;
  const char* lines = "f['u'] = n.zeros((8, 256, 512), 'f4')";  // a level is a slab
  const std::string path = write_arrays(folder / "a.h5", lines);
  const auto store = open_array_store({path}, one_array("/u", {"time", "y", "x"}));
  inputs_of(*store, 0);
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(2));
  EXPECT_TRUE(has_parts(error_of([&] { inputs_of(*store, 5); }), {"a.h5", "has changed"}));
}

TEST(ArrayFiles, MoreThanAreKeptOpen) {
  const TemporaryFolder folder;
  python("import h5py, numpy as n\nfor i in range(40):\n  h5py.File('" + folder.path() +
         "/run%02d.h5' % i, 'w')['u'] = n.full((3, 4), i + 0.5)");
  const auto store = open_array_store({folder / "run*.h5"}, one_array("/u", {"time", "x"}));
  ASSERT_EQ(store->samples(), 80);
  for (std::int64_t sample = 79; sample >= 0; sample -= 3)
    EXPECT_EQ(inputs_of(*store, sample).back(), static_cast<float>(sample / 2) + 0.5f);
}

TEST(ArrayFiles, CoordinatesAndUnitsAreKept) {
  const TemporaryFolder folder;
  write_arrays(
      folder / "a.h5",
      "f['u'] = code(4, 3); f['time'] = n.arange(4) * 0.5; f['x'] = n.array([10, 20, 30], 'f4')\n"
      "f['time'].attrs['units'] = 'seconds since 2000-01-01'; f['u'].attrs['units'] = 'm s-1'\n"
      "f['u'].attrs['scale_factor'] = 1.0\n"
      "for i, s in enumerate(['time', 'x']):\n  f[s].make_scale(s); f['u'].dims[i].attach_scale(f[s])");
  ArrayOptions options = one_array("/u", {"time", "x"});
  options.slice = {{"x", 1, std::nullopt}};
  const ArrayCoordinates found = open_array_store({folder / "a.h5"}, options)->coordinates(0, "/u");
  ASSERT_EQ(found.axes.size(), 2u);
  EXPECT_EQ(found.axes[0].scale, "/time");
  EXPECT_EQ(found.axes[0].values, (std::vector<double>{0, 0.5, 1, 1.5}));
  ASSERT_EQ(found.axes[0].attributes.size(), 1u);
  EXPECT_EQ(found.axes[0].attributes[0].text, "seconds since 2000-01-01");
  EXPECT_EQ(found.axes[1].values, (std::vector<double>{20, 30}));
  ASSERT_EQ(found.attributes.size(), 1u);
  EXPECT_EQ(found.attributes[0].text, "m s-1");
}

}  // namespace
}  // namespace mylos
