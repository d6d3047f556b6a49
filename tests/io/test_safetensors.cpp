#include "mylos/io/safetensors/safetensors.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "io/support.hpp"
#include "mylos/base/dispatch.hpp"

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
  /// Returns the message without the path at its start.
  [[nodiscard]] std::string refusal() const {
    const std::string message = error_of([&] { Reader reader(path); });
    EXPECT_TRUE(message.starts_with(path + ": ")) << message;
    return message.substr(path.size() + 2);
  }
  [[nodiscard]] std::string refusal_of(const std::string& header, std::size_t data_bytes) const {
    write(header, data_bytes);
    return refusal();
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
  EXPECT_EQ(error_of([&] {
              writer.write(std::vector<float>{1, 2, 70000});
            }),
            path +
                ": tensor 'h.0.attn.c_attn.weight' has 70000 at place 2, which F16 cannot hold; write it in "
                "a wider type");
}

TEST_F(Safetensors, TensorsOfOtherTypesAreThereButNotRead) {
  write(R"({"mask":{"dtype":"BOOL","shape":[2,2],"data_offsets":[0,4]}})", 4);
  Reader reader(path);
  EXPECT_EQ(error_of([&] { (void)reader.read(reader.entries()[0]); }),
            path + ": tensor 'mask' holds BOOL; F32, F16 and BF16 are read");
}

TEST_F(Safetensors, AFileThatIsNoneIsRefused) {
  EXPECT_EQ(refusal(), "there is no such file");
  write_file(path, "short");
  EXPECT_EQ(refusal(), "5 bytes are no safetensors file, which begins with the length of its header in 8");
  write_file(path, length_of_header(2) + "{");
  EXPECT_EQ(refusal(), "is truncated or no safetensors file: it claims a header of 2 bytes, 1 follow");
  write_file(path, length_of_header(std::numeric_limits<std::uint64_t>::max()) + "{}");
  EXPECT_EQ(
      refusal(),
      "is truncated or no safetensors file: it claims a header of 18446744073709551615 bytes, 2 follow");
}

TEST_F(Safetensors, AHeaderBeyondTheFormatsLimitIsNotRead) {
  write_file(path, length_of_header(100'000'001));
  std::filesystem::resize_file(path, 8 + 100'000'001);  // sparse: uses no space
  EXPECT_EQ(refusal(), "claims a header of 100000001 bytes, more than the 100000000 that the format allows");
}

TEST_F(Safetensors, AHeaderThatIsNotTheFormatsJsonIsRefused) {
  EXPECT_EQ(refusal_of("", 0), "its header is not JSON, from byte 1 on");
  EXPECT_EQ(refusal_of("{\"a\":", 0), "its header is not JSON, from byte 6 on");
  EXPECT_EQ(refusal_of("{} {}", 0), "its header is not JSON, from byte 4 on");
  EXPECT_EQ(refusal_of("{\"\xff\":{}}", 0), "its header is not JSON, from byte 3 on");
  EXPECT_EQ(refusal_of("[]", 0), "its header has a list where none belongs");
  EXPECT_EQ(refusal_of(std::string(100'000, '['), 0), "its header has a list where none belongs");
  EXPECT_EQ(refusal_of("7", 0), "its header has a number where none belongs");
  EXPECT_EQ(refusal_of(R"({"a":7})", 0), "tensor 'a' has a number where none belongs");
  EXPECT_EQ(refusal_of(R"({"a":null})", 0), "tensor 'a' has a null where none belongs");
  EXPECT_EQ(refusal_of(R"({"a":{"dtype":["F32"]}})", 0), "tensor 'a' has a list where none belongs");
  EXPECT_EQ(refusal_of(R"({"a":{"dtype":{}}})", 0), "tensor 'a' has an object where none belongs");
  EXPECT_EQ(refusal_of(R"({"a":{"shape":"F32"}})", 0), "tensor 'a' has a text where none belongs");
  EXPECT_EQ(refusal_of(R"({"a":{"shape":[true]}})", 0), "tensor 'a' has a truth value where none belongs");
  EXPECT_EQ(refusal_of(R"({"a":{"shape":[[1]]}})", 0), "tensor 'a' has a list where none belongs");
  EXPECT_EQ(refusal_of(R"({"a":{"stride":[1]}})", 0), "tensor 'a' has an unknown field 'stride'");
  EXPECT_EQ(refusal_of(R"({"a":{"dtype":"F32","shape":[]}})", 0), "tensor 'a' has no data_offsets");
  EXPECT_EQ(refusal_of(R"({"__metadata__":{"a":1}})", 0),
            "tensor '__metadata__' has a number where none belongs");
  EXPECT_EQ(refusal_of(R"({"a\u001b[31m":1})", 0), "tensor 'a\\u001B[31m' has a number where none belongs");
}

TEST_F(Safetensors, NamesComeOnce) {
  const std::string a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(refusal_of("{" + a + "," + a + "}", 4), "tensor 'a' is there twice");
  EXPECT_EQ(refusal_of(R"({"a":{"dtype":"F32","dtype":"F16"}})", 0), "tensor 'a' has two fields 'dtype'");
}

std::string one_tensor(const std::string& type, const std::string& shape, const std::string& offsets) {
  return fmt::format(R"({{"a":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", type, shape, offsets);
}

TEST_F(Safetensors, HostileShapesAndOffsetsAreRefused) {
  const std::string wants = "which takes whole numbers from 0 to 9223372036854775807";
  EXPECT_EQ(refusal_of(one_tensor("F32", "[-3]", "[0,12]"), 12), "tensor 'a' has -3 in its shape, " + wants);
  EXPECT_EQ(refusal_of(one_tensor("F32", "[1.5]", "[0,12]"), 12),
            "tensor 'a' has 1.5 in its shape, " + wants);
  EXPECT_EQ(refusal_of(one_tensor("F32", "[18446744073709551615]", "[0,4]"), 4),
            "tensor 'a' has 18446744073709551615 in its shape, " + wants);
  EXPECT_EQ(refusal_of(one_tensor("F32", "[1]", "[-4,0]"), 4),
            "tensor 'a' has -4 in its data_offsets, " + wants);
  EXPECT_EQ(refusal_of(one_tensor("F32", "[4294967296,4294967296]", "[0,0]"), 0),
            "tensor 'a' has the shape [4294967296, 4294967296], more bytes than 63 bits count");
  std::string extents = "[1";
  for (int i = 0; i < 32; ++i) extents += ",1";
  EXPECT_EQ(refusal_of(one_tensor("F32", extents + "]", "[0,4]"), 4), "tensor 'a' has more than 32 extents");
  EXPECT_EQ(refusal_of(one_tensor("Q4", "[1]", "[0,4]"), 4),
            "tensor 'a' has the dtype 'Q4', which is none of the format's");
  EXPECT_EQ(refusal_of(one_tensor("F32", "[1]", "[0]"), 4), "tensor 'a' has 1 data_offsets, not 2");
  EXPECT_EQ(refusal_of(one_tensor("F32", "[1]", "[0,4,8]"), 4), "tensor 'a' has more than 2 data_offsets");
  EXPECT_EQ(refusal_of(one_tensor("F32", "[1]", "[4,0]"), 4),
            "tensor 'a' has data_offsets [4, 0], but 4 bytes follow the header");
  EXPECT_EQ(refusal_of(one_tensor("F32", "[1000000]", "[0,4000000]"), 12),
            "tensor 'a' has data_offsets [0, 4000000], but 12 bytes follow the header");
  EXPECT_EQ(refusal_of(one_tensor("F32", "[3]", "[0,8]"), 8),
            "tensor 'a' is F32 [3] and takes 12 bytes, but its data_offsets [0, 8] hold 8");
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
  EXPECT_EQ(refusal_of(two("[0,8]", "[4,12]"), 12),
            "tensors 'a' and 'b' overlap: data_offsets [0, 8] and [4, 12]");
  EXPECT_EQ(refusal_of(two("[0,8]", "[0,8]"), 8),
            "tensors 'a' and 'b' overlap: data_offsets [0, 8] and [0, 8]");
  EXPECT_EQ(refusal_of(two("[0,8]", "[12,20]"), 20), "4 bytes before tensor 'b' belong to no tensor");
  EXPECT_EQ(refusal_of(two("[0,8]", "[8,16]"), 18), "2 bytes at its end belong to no tensor");
  EXPECT_EQ(refusal_of(two("[0,8]", "[8,16]"), 15),
            "tensor 'b' has data_offsets [8, 16], but 15 bytes follow the header");
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
  EXPECT_EQ(error_of([&] { writer.write(std::vector<float>{1}); }, ExitCode::failed),
            path + ": tensor 'a' has 2 elements, 1 are written");
  writer.write(std::vector<float>{1, 2});
  EXPECT_EQ(error_of([&] { writer.close(); }, ExitCode::failed), path + ": 1 of 2 tensors were written");
  EXPECT_TRUE(error_of([] { Writer("/dev/null/model.safetensors", DType::fp32, {}, {}); }, ExitCode::failed)
                  .starts_with("/dev/null/model.safetensors: "));
}

}  // namespace mylos::safetensors_test
