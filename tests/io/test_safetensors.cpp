#include "mylos/io/safetensors/safetensors.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "io/support.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/internal.hpp"
#include "support/refusal.hpp"

namespace mylos::safetensors_test {

using namespace testing_support;
using safetensors::Reader;
using safetensors::Writer;

std::string length_of_header(std::uint64_t bytes) {
  std::string text(sizeof bytes, '\0');
  std::memcpy(text.data(), &bytes, sizeof bytes);
  return text;
}

class Safetensors : public testing::Test {
 protected:
  void write(const std::string& header, std::size_t data_bytes) const {
    write_file(path, length_of_header(header.size()) + header + std::string(data_bytes, 'x'));
  }
  using Parts = std::initializer_list<std::string_view>;
  [[nodiscard]] testing::AssertionResult refused(ErrorId id, Parts parts) const {
    return test::refuses(ExitCode::bad_input, id, parts, [&] {
      try {
        Reader reader(path);
      } catch (const Error& error) {
        EXPECT_TRUE(error.message().starts_with(path + ": ")) << error.what();
        throw;
      }
    });
  }
  [[nodiscard]] testing::AssertionResult refused(const std::string& header, std::size_t data_bytes,
                                                 ErrorId id, Parts parts) const {
    write(header, data_bytes);
    return refused(id, parts);
  }

  TemporaryFolder folder;
  std::string path = folder / "model.safetensors";
};

TEST_F(Safetensors, WhatIsWrittenIsReadBackBitForBit) {
  const std::vector<float> matrix{1.5f, -0.0f, 1e-42f, std::numeric_limits<float>::max(), -3, 7};
  const std::vector<float> scalar{INFINITY};
  Writer writer(path, DType::fp32, {{"b.weight", {2, 3}}, {"a", {}}, {"none", {4, 0}}}, {{"format", "pt"}});
  writer.write(matrix);
  writer.write(scalar);
  writer.write({});
  writer.close();

  Reader reader(path);
  ASSERT_EQ(reader.entries().size(), 3u);
  const safetensors::Entry* weight = reader.find("b.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->type, "F32");
  EXPECT_EQ(weight->shape, (std::vector<std::int64_t>{2, 3}));
  const std::vector<float> read = reader.read(*weight);
  ASSERT_EQ(read.size(), matrix.size());
  EXPECT_EQ(std::memcmp(read.data(), matrix.data(), matrix.size() * sizeof(float)), 0);
  EXPECT_EQ(reader.read(*reader.find("a")), scalar);
  EXPECT_TRUE(reader.read(*reader.find("none")).empty());
  EXPECT_EQ(reader.find("format"), nullptr);
}

TEST_F(Safetensors, PythonReadsTheFileByTheFormatsDescription) {
  Writer writer(path, DType::fp32, {{"wte", {2, 2}}, {"bias", {3}}}, {{"format", "pt"}});
  writer.write(std::vector<float>{1, 2, 3, 4});
  writer.write(std::vector<float>{0.5f, 0.25f, -8});
  writer.close();
  EXPECT_EQ(
      python(fmt::format(R"(
import json, struct
data = open('{}', 'rb').read()
length = struct.unpack('<Q', data[:8])[0]
header = json.loads(data[8:8 + length])
print(length % 8, header.pop('__metadata__'))
for name, entry in header.items():
    begin, end = entry['data_offsets']
    values = struct.unpack('<%df' % ((end - begin) // 4), data[8 + length + begin:8 + length + end])
    print(name, entry['dtype'], entry['shape'], values)
print(8 + length + end == len(data))
)",
                         path)),
      "0 {'format': 'pt'}\nwte F32 [2, 2] (1.0, 2.0, 3.0, 4.0)\nbias F32 [3] (0.5, 0.25, -8.0)\nTrue\n");
}

TEST_F(Safetensors, HoldsTextsAndTensorsOfDoublesBesideItsOwnType) {
  const std::map<std::string, std::string> metadata{{"format", "pt"}, {"deck", "[run]\nname = \"a\"\n"}};
  Writer writer(path, DType::fp16, {{"w", {2}}, {"s", {1, 2}, DType::fp64}, {"v", {1}}}, metadata);
  writer.write(std::vector<float>{1, 2});
  writer.write_doubles(std::vector<double>{0.1, 1e300});
  writer.write(std::vector<float>{3});
  writer.close();
  Reader reader(path);
  EXPECT_EQ(reader.metadata(), metadata);
  EXPECT_EQ(reader.read(*reader.find("v")), std::vector<float>{3});
  ASSERT_NE(reader.find("s"), nullptr);
  EXPECT_EQ(reader.find("s")->type, "F64");
  EXPECT_EQ(reader.find("s")->shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_THROW(static_cast<void>(reader.read(*reader.find("s"))), Error);
  EXPECT_EQ(python(fmt::format(R"(
import struct
data = open('{}', 'rb').read()
length = struct.unpack('<Q', data[:8])[0]
print(struct.unpack('<2d', data[8 + length + 4:8 + length + 20]))
)",
                               path)),
            "(0.1, 1e+300)\n");
  Writer narrow(path, DType::fp32, {{"w", {1}}}, {});
  EXPECT_THROW(narrow.write_doubles(std::vector<double>{1}), Error);
}

TEST_F(Safetensors, SixteenBitTensorsAreRoundedOnceAndReadAsFloats) {
  const std::vector<float> values{1.0f / 3, -65504, 1e-7f, 3.14159274f, -0.0f};
  for (const DType type : {DType::fp16, DType::bf16}) {
    Writer writer(path, type, {{"w", {5}}}, {});
    writer.write(values);
    writer.close();
    Reader reader(path);
    EXPECT_EQ(reader.entries()[0].type, type == DType::fp16 ? "F16" : "BF16");
    const std::vector<float> read = reader.read(reader.entries()[0]);
    dispatch(type, [&]<class T>(TypeTag<T>) {
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(read[i], to_float(from_float<T>(values[i]))) << name_of(type) << " " << i;
    });
  }
}

TEST_F(Safetensors, TensorsLongerThanABufferArriveWhole) {
  std::vector<float> values((std::size_t{5} << 18) + 3);  // a buffer is 2^20
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 251);
  for (const DType type : {DType::fp32, DType::bf16}) {
    Writer writer(path, type, {{"w", {static_cast<std::int64_t>(values.size())}}}, {});
    writer.write(values);
    writer.close();
    Reader reader(path);
    EXPECT_EQ(reader.read(reader.entries()[0]), values);
  }
}

TEST_F(Safetensors, ANumberBeyondTheTypeIsNamed) {
  Writer writer(path, DType::fp16, {{"h.0.attn.c_attn.weight", {3}}}, {});
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_finite,
                            {path + ": ", "'h.0.attn.c_attn.weight' has 70000 at place 2", "F16"}, [&] {
                              writer.write(std::vector<float>{1, 2, 70000});
                            }));
}

TEST_F(Safetensors, TensorsOfOtherTypesAreThereButNotRead) {
  write(R"({"mask":{"dtype":"BOOL","shape":[2,2],"data_offsets":[0,4]}})", 4);
  Reader reader(path);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::unsupported_feature,
                            {path + ": tensor 'mask' ", "BOOL", "F32, F16 and BF16"},
                            [&] { (void)reader.read(reader.entries()[0]); }));
}

TEST_F(Safetensors, AFileThatIsNoneIsRefused) {
  EXPECT_TRUE(refused(errors::no_such_file, {}));
  write_file(path, "short");
  EXPECT_TRUE(refused(errors::wrong_format, {"5 bytes", " 8 bytes"}));
  write_file(path, length_of_header(2) + "{");
  EXPECT_TRUE(refused(errors::truncated, {" 2 bytes", " 1 follow"}));
  write_file(path, length_of_header(std::numeric_limits<std::uint64_t>::max()) + "{}");
  EXPECT_TRUE(refused(errors::wrong_format, {"is not a safetensors file", "first 8 bytes"}));
}

TEST_F(Safetensors, AHeaderBeyondTheFormatsLimitIsNotRead) {
  write_file(path, length_of_header(100'000'001));
  std::filesystem::resize_file(path, 8 + 100'000'001);  // sparse: uses no space
  EXPECT_TRUE(refused(errors::too_large, {" 100000001 bytes", " 100000000 "}));
}

TEST_F(Safetensors, AHeaderThatIsNotTheFormatsJsonIsRefused) {
  EXPECT_TRUE(refused("", 0, errors::damaged, {"header", "JSON", "byte 1 "}));
  EXPECT_TRUE(refused("{\"a\":", 0, errors::damaged, {"header", "JSON", "byte 6 "}));
  EXPECT_TRUE(refused("{} {}", 0, errors::damaged, {"header", "JSON", "byte 4 "}));
  EXPECT_TRUE(refused("{\"\xff\":{}}", 0, errors::damaged, {"header", "JSON", "byte 3 "}));
  EXPECT_TRUE(refused("[]", 0, errors::damaged, {"header", " a list"}));
  EXPECT_TRUE(refused(std::string(100'000, '['), 0, errors::damaged, {"header", " a list"}));
  EXPECT_TRUE(refused("7", 0, errors::damaged, {"header", " a number"}));
  EXPECT_TRUE(refused(R"({"a":7})", 0, errors::damaged, {"'a'", " a number "}));
  EXPECT_TRUE(refused(R"({"a":null})", 0, errors::damaged, {"'a'", " a null "}));
  EXPECT_TRUE(refused(R"({"a":{"dtype":["F32"]}})", 0, errors::damaged, {"'a'", " a list "}));
  EXPECT_TRUE(refused(R"({"a":{"dtype":{}}})", 0, errors::damaged, {"'a'", " an object "}));
  EXPECT_TRUE(refused(R"({"a":{"shape":"F32"}})", 0, errors::damaged, {"'a'", " a text "}));
  EXPECT_TRUE(refused(R"({"a":{"shape":[true]}})", 0, errors::damaged, {"'a'", " a truth value "}));
  EXPECT_TRUE(refused(R"({"a":{"shape":[[1]]}})", 0, errors::damaged, {"'a'", " a list "}));
  EXPECT_TRUE(refused(R"({"a":{"stride":[1]}})", 0, errors::damaged, {"'a'", "'stride'"}));
  EXPECT_TRUE(
      refused(R"({"a":{"dtype":"F32","shape":[]}})", 0, errors::damaged, {"'a'", " no data_offsets"}));
  EXPECT_TRUE(refused(R"({"__metadata__":{"a":1}})", 0, errors::damaged, {"'__metadata__'", " a number "}));
  EXPECT_TRUE(refused(R"({"a\u001b[31m":1})", 0, errors::damaged, {"'a\\u001B[31m'", " a number "}));
}

TEST_F(Safetensors, NamesComeOnce) {
  const std::string a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_TRUE(refused("{" + a + "," + a + "}", 4, errors::damaged, {"'a'", "twice"}));
  EXPECT_TRUE(refused(R"({"a":{"dtype":"F32","dtype":"F16"}})", 0, errors::damaged, {"'a'", "'dtype'"}));
}

std::string one_tensor(const std::string& type, const std::string& shape, const std::string& offsets) {
  return fmt::format(R"({{"a":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", type, shape, offsets);
}

TEST_F(Safetensors, HostileShapesAndOffsetsAreRefused) {
  const std::string wants = "whole numbers from 0 to 9223372036854775807";
  EXPECT_TRUE(
      refused(one_tensor("F32", "[-3]", "[0,12]"), 12, errors::damaged, {"'a' has -3 ", "shape", wants}));
  EXPECT_TRUE(
      refused(one_tensor("F32", "[1.5]", "[0,12]"), 12, errors::damaged, {"'a' has 1.5 ", "shape", wants}));
  EXPECT_TRUE(refused(one_tensor("F32", "[18446744073709551615]", "[0,4]"), 4, errors::damaged,
                      {"'a' has 18446744073709551615 ", "shape", wants}));
  EXPECT_TRUE(refused(one_tensor("F32", "[1]", "[-4,0]"), 4, errors::damaged,
                      {"'a' has -4 ", "data_offsets", wants}));
  EXPECT_TRUE(refused(one_tensor("F32", "[4294967296,4294967296]", "[0,0]"), 0, errors::too_large,
                      {"'a'", "[4294967296, 4294967296]", "63 bits"}));
  std::string extents = "[1";
  for (int i = 0; i < 32; ++i) extents += ",1";
  EXPECT_TRUE(refused(one_tensor("F32", extents + "]", "[0,4]"), 4, errors::damaged, {"'a'", " 32 extents"}));
  EXPECT_TRUE(refused(one_tensor("Q4", "[1]", "[0,4]"), 4, errors::unsupported_feature, {"'a'", "'Q4'"}));
  EXPECT_TRUE(refused(one_tensor("F32", "[1]", "[0]"), 4, errors::damaged, {"'a'", " 1 data_offsets", " 2"}));
  EXPECT_TRUE(refused(one_tensor("F32", "[1]", "[0,4,8]"), 4, errors::damaged, {"'a'", " 2 data_offsets"}));
  EXPECT_TRUE(refused(one_tensor("F32", "[1]", "[4,0]"), 4, errors::damaged, {"'a'", "[4, 0]", " 4 bytes"}));
  EXPECT_TRUE(refused(one_tensor("F32", "[1000000]", "[0,4000000]"), 12, errors::truncated,
                      {"'a'", "[0, 4000000]", " 12 bytes"}));
  EXPECT_TRUE(refused(one_tensor("F32", "[3]", "[0,8]"), 8, errors::damaged,
                      {"'a' is F32 [3]", " 12 bytes", "[0, 8] hold 8"}));
}

TEST_F(Safetensors, EmptyTensorsOfAnyOtherExtentAreFine) {
  write(one_tensor("F32", "[9223372036854775807,9223372036854775807,0]", "[0,0]"), 0);
  Reader reader(path);
  EXPECT_TRUE(reader.read(reader.entries()[0]).empty());
}

TEST_F(Safetensors, TensorsFillTheFileWithoutGapOrOverlap) {
  const auto two = [](const char* first, const char* second) {
    return fmt::format(R"({{"b":{{"dtype":"F32","shape":[2],"data_offsets":{}}},)"
                       R"("a":{{"dtype":"F32","shape":[2],"data_offsets":{}}}}})",
                       second, first);
  };
  write(two("[0,8]", "[8,16]"), 16);
  EXPECT_EQ(Reader(path).entries()[0].name, "a");
  EXPECT_TRUE(
      refused(two("[0,8]", "[4,12]"), 12, errors::damaged, {"'a' and 'b' overlap", "[0, 8]", "[4, 12]"}));
  EXPECT_TRUE(
      refused(two("[0,8]", "[0,8]"), 8, errors::damaged, {"'a' and 'b' overlap", "[0, 8]", "[0, 8]"}));
  EXPECT_TRUE(refused(two("[0,8]", "[12,20]"), 20, errors::damaged, {"4 bytes", "'b'"}));
  EXPECT_TRUE(refused(two("[0,8]", "[8,16]"), 18, errors::damaged, {"2 bytes", " end "}));
  EXPECT_TRUE(refused(two("[0,8]", "[8,16]"), 15, errors::truncated, {"'b'", "[8, 16]", " 15 bytes"}));
}

TEST_F(Safetensors, AFileAppearsWholeOrNotAtAll) {
  write_file(path, "older");
  {
    Writer writer(path, DType::fp32, {{"a", {1}}, {"b", {1}}}, {});
    writer.write(std::vector<float>{1});
    EXPECT_EQ(read_file(path), "older");
  }
  EXPECT_EQ(read_file(path), "older");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST_F(Safetensors, AWriterHoldsToItsHeader) {
  Writer writer(path, DType::fp32, {{"a", {2}}, {"b", {1}}}, {});
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::internal, {path + ": tensor 'a' has 2 elements", " 1 "},
                            [&] { writer.write(std::vector<float>{1}); }));
  writer.write(std::vector<float>{1, 2});
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::internal, {path + ": 1 of 2 tensors"},
                            [&] { writer.close(); }));
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::cannot_write, {"/dev/null/model.safetensors: "},
                            [] { Writer("/dev/null/model.safetensors", DType::fp32, {}, {}); }));
}

TEST_F(Safetensors, DoublesAndComplexNumbersAreRoundedOnRequest) {
  const auto write_doubles = [&](std::initializer_list<double> values) {
    std::string data(values.size() * sizeof(double), '\0');
    std::memcpy(data.data(), values.begin(), data.size());
    const std::string header = fmt::format(R"({{"d":{{"dtype":"F64","shape":[{}],"data_offsets":[0,{}]}}}})",
                                           values.size(), data.size());
    write_file(path, length_of_header(header.size()) + header + data);
    Reader reader(path);
    return reader.read_rounded(*reader.find("d"));
  };
  const std::vector<float> found = write_doubles({0.1, -3, 1e-60, INFINITY});
  EXPECT_EQ(found, (std::vector<float>{0.1f, -3, 0, INFINITY}));
  EXPECT_TRUE(
      test::refuses(ExitCode::bad_input, errors::not_finite, {path, "'d'", "-1e+39", "element 1 "}, [&] {
        static_cast<void>(write_doubles({1, -1e39}));
      }));

  const std::vector<float> parts{1, 2, 3, 4};
  std::string data(parts.size() * sizeof(float), '\0');
  std::memcpy(data.data(), parts.data(), data.size());
  const std::string header = R"({"c":{"dtype":"C64","shape":[2,1],"data_offsets":[0,16]}})";
  write_file(path, length_of_header(header.size()) + header + data);
  Reader reader(path);
  EXPECT_EQ(reader.read_rounded(*reader.find("c")), parts);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::unsupported_feature, {path, "'c'", "C64"},
                            [&] { static_cast<void>(reader.read(*reader.find("c"))); }));
}

TEST_F(Safetensors, WholeNumbersAreNoWeights) {
  write(R"({"i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", 8);
  Reader reader(path);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::unsupported_feature, {path, "'i'", "I64", "F64"},
                            [&] { static_cast<void>(reader.read_rounded(*reader.find("i"))); }));
}

}  // namespace mylos::safetensors_test
