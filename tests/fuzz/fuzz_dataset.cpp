// What a dataset or token file holds, and our checks of it (hostile_hdf5.hpp says why not its bytes).
#include <algorithm>
#include <filesystem>

#include "hostile_hdf5.hpp"
#include "hostile_input.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/meaning/sample_meaning.hpp"
#include "mylos/data/tokens/stamp.hpp"
#include "mylos/data/tokens/token_dataset.hpp"

namespace {

using namespace mylos;

fuzz::ExpectedFile samples(bool labels, bool digests) {
  fuzz::ExpectedFile file;
  file.datasets = {{"/inputs", H5T_IEEE_F32LE, {4, 3}}};
  if (labels) file.datasets.push_back({"/labels", H5T_STD_I32LE, {4}});
  if (!labels) file.datasets.push_back({"/targets", H5T_IEEE_F32LE, {4, 2}});
  for (const char* name : {"mean", "std", "min", "max"}) {
    file.datasets.push_back({std::string("/statistics/inputs/") + name, H5T_IEEE_F64LE, {3}});
  }
  if (digests) {  // of other contents
    file.datasets.push_back({"/digests/inputs", H5T_STD_U32LE, {2}, 0, 3});
    file.datasets.push_back({labels ? "/digests/labels" : "/digests/targets", H5T_STD_U32LE, {1}, 0, 4});
    file.datasets.push_back({"/digests/statistics/inputs/mean", H5T_STD_U32LE, {1}, 0, 8192});
  }
  file.attributes = {
      {"format", "mylos-dataset"}, {"version", "", 1}, {"classes", "", 10}, {"identity", "1234"}};
  return file;
}

fuzz::ExpectedFile tokens(bool digests) {
  fuzz::ExpectedFile file;
  file.datasets = {{"/tokens", H5T_STD_U8LE, {100}}, {"/vocabulary", -1, {}, 3}};
  if (digests) {
    file.datasets.push_back({"/digests/tokens", H5T_STD_U32LE, {2}, 0, 64});
    file.datasets.push_back({"/digests/vocabulary", H5T_STD_U32LE, {1}, 0, 1});
  }
  file.attributes = {
      {"format", "mylos-tokens"}, {"version", "", 1}, {"vocabulary", "", 3}, {"kind", "characters"}};
  return file;
}

void read_samples(const std::string& path) {
  const Dataset dataset(path, GroundTruth::optional);
  static_cast<void>(dataset.identity());
  static_cast<void>(dataset.input_statistics());
  if (dataset.task() == Task::regression) static_cast<void>(dataset.target_statistics());
  if (dataset.samples() > 3) static_cast<void>(split_samples(dataset.samples(), 0.5));
  require_same_shape(dataset, dataset);
  dataset.read_all([](const std::byte*, std::int64_t) {}, [](const std::byte*, std::int64_t) {});
}

void read_tokens(const std::string& path) {
  const TokenDataset dataset(path);
  static_cast<void>(dataset.identity());
  static_cast<void>(split_tokens(dataset, 0.25, 8));
  std::vector<std::uint32_t> some(64);
  dataset.read(0, std::min<std::int64_t>(dataset.tokens(), 64), some.data());
}

void read(const std::string& path) {
  if (holds_tokens(path)) return read_tokens(path);
  read_samples(path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz::scratch_path("data.h5");
  FuzzedDataProvider input(data, size);
  const auto kind = input.ConsumeIntegralInRange<int>(0, 5);
  const bool digests = kind > 2;
  fuzz::make_hostile_file(path, kind % 3 == 2 ? tokens(digests) : samples(kind % 3 == 0, digests), input);
  const auto bytes = std::filesystem::file_size(path);
  fuzz::take_or_refuse(bytes, [&] { read(path); });
  fuzz::take_or_refuse(bytes, [&] {
    stamp(path);
    read(path);
  });
  return 0;
}
