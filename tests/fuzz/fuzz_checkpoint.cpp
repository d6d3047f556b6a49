// What a checkpoint with a right digest holds, and our checks of it (hostile_hdf5.hpp says why not its
// bytes).
#include <mpi.h>

#include <filesystem>

#include "hostile_hdf5.hpp"
#include "hostile_input.hpp"
#include "mylos/checkpoint/file/describe.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/user_block.hpp"

namespace {

using namespace mylos;

fuzz::ExpectedFile expected_file() {
  fuzz::ExpectedFile file{.user_block = static_cast<hsize_t>(user_block_bytes), .with_crc = true};
  file.datasets = {{"/deck", -1, {}, 20},
                   {"/model/hidden0/weight", H5T_IEEE_F32LE, {2, 3}},
                   {"/model/hidden0/bias", H5T_IEEE_F32LE, {3}},
                   {"/optimizer/hidden0/weight/m", H5T_IEEE_F32LE, {2, 3}},
                   {"/scaler/scale", H5T_IEEE_F64LE, {}},
                   {"/data/position", H5T_STD_I64LE, {}},
                   {"/random/key", H5T_STD_U64LE, {}},
                   {"/plan/text", -1, {}, 8}};
  file.attributes = {
      {"format", checkpoint_format}, {"version", "", checkpoint_version}, {"step", "", 500},
      {"code_version", "0.1.0"},     {"created", "2026-11-21T09:30:00Z"}, {"world_size", "", 2}};
  return file;
}

/// The state of a run to which the expected file belongs.
struct Run {
  float weight[6] = {};
  float bias[3] = {};
  float moment[6] = {};
  double scale = 0;
  std::int64_t position = 0;
  std::uint64_t key = 0;
  CheckpointState state;

  Run() {
    state.add_host("/model/hidden0/weight", weight, {2, 3});
    state.add_host("/model/hidden0/bias", bias, {3});
    state.add_host("/optimizer/hidden0/weight/m", moment, {2, 3});
    state.add_scalar("/scaler/scale", scale);
    state.add_scalar("/data/position", position);
    state.add_scalar("/random/key", key);
    state.add_text("/plan/text", "");
  }
};

}  // namespace

// LeakSanitizer's own tracer may crash on the threads of Open MPI; what HDF5 readers leak fuzz_dataset would
// show.
extern "C" int __lsan_is_turned_off() {
  return 1;
}

extern "C" int LLVMFuzzerInitialize(int* argument_count, char*** arguments) {
  return MPI_Init(argument_count, arguments);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static RankGroup ranks(MPI_COMM_SELF, 60);
  const std::string path = fuzz::scratch_path("checkpoint.h5");
  FuzzedDataProvider input(data, size);
  fuzz::make_hostile_file(path, expected_file(), input);
  write_user_block(path, contents_digest(path));
  const std::size_t bytes = std::filesystem::file_size(path);
  fuzz::take_or_refuse(bytes, [&] {
    Run run;
    CheckpointReader(ranks, path).read(run.state);
  });
  fuzz::take_or_refuse(bytes, [&] { static_cast<void>(describe_checkpoint(ranks, path)); });
  return 0;
}
