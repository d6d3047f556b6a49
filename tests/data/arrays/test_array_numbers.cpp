#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "data/arrays/array_builders.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "support/refusal.hpp"

namespace mylos {
namespace {

using namespace testing_support;

float value_of(const std::string& path, std::optional<double> fill = std::nullopt,
               const std::string& array = "/a") {
  ArrayOptions options = one_array(array, {"sample", "channel"});
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

/// An array of 1 and a second number, and what that is read as where -5 stands for no value.
struct SecondNumber {
  std::string number;
  std::string attributes;  // lines that use `t`, the attributes
  float value;
};

TEST(ArrayNumbers, OutsideOfTheValidRangeAreMissing) {
  const std::string packed = "t['scale_factor'] = 0.5; ";
  const std::string is_unsigned = "t['_Unsigned'] = 'true'; ";
  const std::vector<SecondNumber> cases = {
      {"40", "t['valid_max'] = n.int16(40)", 40},
      {"41", "t['valid_max'] = n.int16(40)", -5},
      {"-3", "t['valid_min'] = n.int16(-2)", -5},
      {"-2", "t['valid_min'] = n.int16(-2)", -2},
      {"9", "t['valid_range'] = n.int16([0, 8])", -5},
      // Of packed numbers the range has the type of the packed ones, or else that of the values.
      {"8", packed + "t['valid_range'] = n.int16([0, 8])", 4},
      {"9", packed + "t['valid_range'] = n.int16([0, 8])", -5},
      {"9", packed + "t['valid_range'] = n.float64([0, 8])", 4.5},
      {"17", packed + "t['valid_range'] = n.float64([0, 8])", -5},
      {"-1", is_unsigned + "t['valid_range'] = n.int16([0, -2])", -5},
      {"-2", is_unsigned + "t['valid_range'] = n.int16([0, -2])", 65534},
  };
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  std::string lines = "f['a'] = n.array([[1], [9]]); f['a'].attrs['valid_max'] = 8.0\n";
  for (std::size_t i = 0; i < cases.size(); ++i)
    lines += fmt::format("d = f.create_dataset('a{}', data=n.array([[1], [{}]], 'i2')); t = d.attrs\n{}\n", i,
                         cases[i].number, cases[i].attributes);
  write_arrays(path, lines);
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(value_of(path, -5.0, fmt::format("/a{}", i)), cases[i].value)
        << cases[i].number << ' ' << cases[i].attributes;
  const std::string message = error_of([&] { value_of(path); });
  EXPECT_NE(message.find("/a[1, 0] (stored indices, counted from 0) is 9, which stands for a missing value"),
            std::string::npos)
      << message;
}

TEST(ArrayNumbers, ThatNetcdfFilledInAreMissing) {
  struct Unwritten {
    const char* type;
    const char* fill;  // as NetCDF-4 makes a variable: its default is HDF5's value of chunks never written
    const char* attributes;
    float value;
  };
  const std::vector<Unwritten> cases = {
      {"f4", "n.float32(9.969209968386869e36)", "", -5},
      {"f8", "9.969209968386869e36", "", -5},
      {"i2", "-32767", "", -5},
      {"i4", "-2147483647", "", -5},
      {"u2", "65535", "", -5},
      {"i8", "-9223372036854775806", "", -5},
      {"i2", "-32767", "d.attrs['_Unsigned'] = 'true'", -5},
      // Bytes have no default, other fill values are numbers, and _FillValue says which are missing.
      {"i1", "-127", "", -127},
      {"u1", "255", "", 255},
      {"i2", "7", "", 7},
      {"i2", "-32767", "d.attrs['_FillValue'] = n.int16(5)", -32767},
  };
  const TemporaryFolder folder;
  std::string lines = "f['a'] = n.array([[1], [-32767]], 'i2')\n";
  for (std::size_t i = 0; i < cases.size(); ++i)
    lines += fmt::format(
        "d = f.create_dataset('a{}', (2, 1), '{}', chunks=(1, 1), compression='gzip', fillvalue={}); d[0] = "
        "1\n"
        "{}\n",
        i, cases[i].type, cases[i].fill, cases[i].attributes);
  const std::string path = write_arrays(folder / "a.h5", lines);
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(value_of(path, -5.0, fmt::format("/a{}", i)), cases[i].value) << i;
  EXPECT_EQ(value_of(path, -5.0), -32767.0f);  // of no NetCDF
}

TEST(ArrayNumbers, AreRefusedWhereAnAttributeIsNotWhatItsNameSays) {
  std::vector<std::pair<std::string, std::string>> cases = {{"add_offset", "f.ref"},
                                                            {"valid_range", "n.array([1, 2, 3])"},
                                                            {"_Unsigned", "3"},
                                                            {"_Unsigned", "'yes'"}};
  for (const char* value : {"f.ref", "'2'", "n.array([1.0, 2.0])", "0.0", "n.nan", "h5py.Empty('f8')"})
    cases.emplace_back("scale_factor", value);
  for (const char* name : {"_FillValue", "missing_value", "valid_max"})
    for (const char* value : {"'2'", "f.ref", "h5py.Empty('f8')"}) cases.emplace_back(name, value);
  const TemporaryFolder folder;
  std::string lines;
  for (std::size_t i = 0; i < cases.size(); ++i)
    lines += fmt::format("f['a{0}'] = n.array([[1], [2]], 'i2'); f['a{0}'].attrs['{1}'] = {2}\n", i,
                         cases[i].first, cases[i].second);
  const std::string path = write_arrays(folder / "a.h5", lines);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string says =
        fmt::format("{}: array /a{}: its attribute '{}' is not ", path, i, cases[i].first);
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_dataset, {says}, [&] {
      value_of(path, std::nullopt, fmt::format("/a{}", i));
    })) << cases[i].second;
  }
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
