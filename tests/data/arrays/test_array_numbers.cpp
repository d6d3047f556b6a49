#include <gtest/gtest.h>

#include <array>

#include "data/arrays/array_builders.hpp"
#include "support/refusal.hpp"

namespace mylos {
namespace {

using namespace testing_support;

float value_of(const std::string& path, std::optional<double> fill = std::nullopt) {
  ArrayOptions options = one_array("/a", {"sample", "channel"});
  options.fill = fill;
  return inputs_of(*open_array_store({path}, options), 1).front();
}

TEST(ArrayNumbers, OfEveryStoredTypeHaveTheirValue) {
  const TemporaryFolder folder;
  const std::array types = {"f2", ">f2", "f4", ">f4", "f8", ">f8", "i1", "u1",  "i2", ">i2",
                            "u2", ">u2", "i4", ">i4", "u4", ">u4", "i8", ">i8", "u8", ">u8"};
  std::string lines;
  for (const std::string type : types)
    lines += "f['" + type + "'] = n.array([[7], [97], [5]], '" + type + "')\n";
  write_arrays(folder / "a.h5", lines);
  for (const std::string type : types) {
    const auto store = open_array_store({folder / "a.h5"}, one_array("/" + type, {"sample", "channel"}));
    EXPECT_EQ(inputs_of(*store, 1).front(), 97.0f) << type;
  }
  EXPECT_EQ(value_of(write_arrays(folder / "b.h5", "f['a'] = n.array([[False], [True]])")), 1.0f);
}

TEST(ArrayNumbers, FollowTheirAttributes) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  write_arrays(path, "f['a'] = n.array([[0], [0x3fc0]], 'u2'); f['a'].attrs['dtype'] = 'bfloat16'");
  EXPECT_EQ(value_of(path), 1.5f);
  write_arrays(path,
               "f['a'] = n.array([[1], [-300]], 'i2')\n"
               "f['a'].attrs['scale_factor'] = 0.01; f['a'].attrs['add_offset'] = 273.15");
  EXPECT_EQ(value_of(path), static_cast<float>(-300.0 * 0.01 + 273.15));
  write_arrays(path, "f['a'] = n.array([[1], [-1]], 'i1'); f['a'].attrs['_Unsigned'] = 'true'");
  EXPECT_EQ(value_of(path), 255.0f);
  // The attribute is signed, as the stored number is.
  write_arrays(path,
               "f['a'] = n.array([[1], [-1]], 'i1'); f['a'].attrs['_Unsigned'] = 'true'\n"
               "f['a'].attrs['_FillValue'] = n.int8(-1)");
  EXPECT_EQ(value_of(path, 0.5), 0.5f);
  write_arrays(path,
               "f['a'] = n.array([[1], [-99]], 'i2'); f['a'].attrs['_FillValue'] = n.int16(-99)\n"
               "f['a'].attrs['scale_factor'] = 2.0");
  EXPECT_EQ(value_of(path, 0.25), 0.25f);
  write_arrays(path,
               "f['a'] = n.array([[1], [1e20]], 'f4'); f['a'].attrs['missing_value'] = n.float32([1e20])");
  EXPECT_EQ(value_of(path, -1.0), -1.0f);
  // No float is 1e20: an attribute in double means the nearest.
  write_arrays(path,
               "f['a'] = n.array([[1], [1e20]], 'f4'); f['a'].attrs['missing_value'] = n.float64(1e20)");
  EXPECT_EQ(value_of(path, -1.0), -1.0f);
  write_arrays(path, "f['a'] = n.array([[1], [n.nan]])");
  EXPECT_EQ(value_of(path, 3.0), 3.0f);
}

TEST(ArrayNumbers, OutsideOfTheValidRangeAreMissing) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  const auto second = [&](const std::string& number, const std::string& attributes) {
    write_arrays(path, "f['a'] = n.array([[1], [" + number + "]], 'i2'); t = f['a'].attrs\n" + attributes);
    return value_of(path, -5.0);
  };
  EXPECT_EQ(second("40", "t['valid_max'] = n.int16(40)"), 40.0f);
  EXPECT_EQ(second("41", "t['valid_max'] = n.int16(40)"), -5.0f);
  EXPECT_EQ(second("-3", "t['valid_min'] = n.int16(-2)"), -5.0f);
  EXPECT_EQ(second("-2", "t['valid_min'] = n.int16(-2)"), -2.0f);
  EXPECT_EQ(second("9", "t['valid_range'] = n.int16([0, 8])"), -5.0f);
  // Of packed numbers the range has the type of the packed ones, or else that of the values.
  const std::string packed = "t['scale_factor'] = 0.5; ";
  EXPECT_EQ(second("8", packed + "t['valid_range'] = n.int16([0, 8])"), 4.0f);
  EXPECT_EQ(second("9", packed + "t['valid_range'] = n.int16([0, 8])"), -5.0f);
  EXPECT_EQ(second("9", packed + "t['valid_range'] = n.float64([0, 8])"), 4.5f);
  EXPECT_EQ(second("17", packed + "t['valid_range'] = n.float64([0, 8])"), -5.0f);
  EXPECT_EQ(second("-1", "t['_Unsigned'] = 'true'; t['valid_range'] = n.int16([0, -2])"), -5.0f);
  EXPECT_EQ(second("-2", "t['_Unsigned'] = 'true'; t['valid_range'] = n.int16([0, -2])"), 65534.0f);
  write_arrays(path, "f['a'] = n.array([[1], [9]]); f['a'].attrs['valid_max'] = 8.0");
  const std::string message = error_of([&] { value_of(path); });
  EXPECT_NE(message.find("/a[1, 0] (stored indices, counted from 0) is 9, which stands for a missing value"),
            std::string::npos)
      << message;
}

TEST(ArrayNumbers, ThatNetcdfFilledInAreMissing) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  // As NetCDF-4 makes a variable: its default is HDF5's value of chunks that were never written.
  const auto unwritten = [&](const std::string& type, const std::string& fill, const std::string& more = "") {
    write_arrays(path, "d = f.create_dataset('a', (2, 1), '" + type +
                           "', chunks=(1, 1), compression='gzip', " + "fillvalue=" + fill + "); d[0] = 1\n" +
                           more);
    return value_of(path, -5.0);
  };
  EXPECT_EQ(unwritten("f4", "n.float32(9.969209968386869e36)"), -5.0f);
  EXPECT_EQ(unwritten("f8", "9.969209968386869e36"), -5.0f);
  EXPECT_EQ(unwritten("i2", "-32767"), -5.0f);
  EXPECT_EQ(unwritten("i4", "-2147483647"), -5.0f);
  EXPECT_EQ(unwritten("u2", "65535"), -5.0f);
  EXPECT_EQ(unwritten("i8", "-9223372036854775806"), -5.0f);
  EXPECT_EQ(unwritten("i2", "-32767", "d.attrs['_Unsigned'] = 'true'"), -5.0f);
  // Bytes have no default, other fill values are numbers, and _FillValue says which are missing.
  EXPECT_EQ(unwritten("i1", "-127"), -127.0f);
  EXPECT_EQ(unwritten("u1", "255"), 255.0f);
  EXPECT_EQ(unwritten("i2", "7"), 7.0f);
  EXPECT_EQ(unwritten("i2", "-32767", "d.attrs['_FillValue'] = n.int16(5)"), -32767.0f);
  write_arrays(path, "f['a'] = n.array([[1], [-32767]], 'i2')");
  EXPECT_EQ(value_of(path, -5.0), -32767.0f);
}

TEST(ArrayNumbers, AreRefusedWhereAnAttributeIsNotWhatItsNameSays) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  const auto refuses = [&](const std::string& name, const std::string& value) {
    write_arrays(path, "f['a'] = n.array([[1], [2]], 'i2'); f['a'].attrs['" + name + "'] = " + value);
    return test::refuses(ExitCode::bad_input, ErrorId::bad_dataset,
                         {path + ": array /a: its attribute '" + name + "' is not "},
                         [&] { value_of(path); });
  };
  for (const char* value : {"f['a'].ref", "'2'", "n.array([1.0, 2.0])", "0.0", "n.nan", "h5py.Empty('f8')"})
    EXPECT_TRUE(refuses("scale_factor", value)) << value;
  EXPECT_TRUE(refuses("add_offset", "f['a'].ref"));
  for (const char* value : {"'2'", "f['a'].ref", "h5py.Empty('f8')"}) {
    EXPECT_TRUE(refuses("_FillValue", value)) << value;
    EXPECT_TRUE(refuses("missing_value", value)) << value;
    EXPECT_TRUE(refuses("valid_max", value)) << value;
  }
  EXPECT_TRUE(refuses("valid_range", "n.array([1, 2, 3])"));
  EXPECT_TRUE(refuses("_Unsigned", "3"));
  EXPECT_TRUE(refuses("_Unsigned", "'yes'"));
}

TEST(ArrayNumbers, SzipIsDecodedWhereHdf5HasIt) {
  const TemporaryFolder folder;
  if (python("import h5py; print(h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP))").find("True") ==
      std::string::npos)
    GTEST_SKIP() << "this HDF5 has no szip";
  const std::string path = folder / "a.h5";
  write_arrays(path,
               "f.create_dataset('a', data=n.arange(64.0).reshape(64, 1) + 33, chunks=(64, 1), "
               "compression='gzip'); ");
  EXPECT_EQ(value_of(path), 34.0f);
  write_arrays(path,
               "f.create_dataset('a', data=n.arange(640.0).reshape(64, 10) + 33, chunks=(32, 10), "
               "compression='szip')");
  EXPECT_EQ(value_of(path), 43.0f);
}

TEST(ArrayNumbers, MissingOnesAreNamedWithFileArrayAndIndex) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  const auto message = [&](const std::string& lines) {
    write_arrays(path, lines);
    return error_of([&] { inputs_of(*open_array_store({path}, one_array("/a", {"x", "time"})), 2); });
  };
  EXPECT_NE(message("a = code(5, 6); a[3, 2] = n.nan; f['a'] = a")
                .find("a.h5: array /a[3, 2] (stored indices, counted from 0) is nan"),
            std::string::npos);
  EXPECT_NE(message("a = code(5, 6); a[3, 2] = n.inf; f['a'] = a")
                .find("/a[3, 2] (stored indices, counted from 0) is inf"),
            std::string::npos);
  EXPECT_NE(message("a = code(5, 6); a[4, 2] = 1e39; f['a'] = a").find("/a[4, 2]"), std::string::npos);
  const std::string fill =
      message("f['a'] = code(5, 6).astype('i4'); f['a'].attrs['_FillValue'] = n.int32(402)");
  EXPECT_NE(fill.find("/a[4, 2]"), std::string::npos) << fill;
  EXPECT_NE(fill.find("data.fill"), std::string::npos) << fill;
}

}  // namespace
}  // namespace mylos
