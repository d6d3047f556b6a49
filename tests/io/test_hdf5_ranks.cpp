#include <gtest/gtest.h>
#include <mpi.h>

#include <numeric>

#include "io/support.hpp"
#include "mylos/io/hdf5.hpp"

namespace mylos::hdf5_ranks_test {

using namespace testing_support;
using hdf5::File;
using hdf5::Transfer;

/// A folder that rank 0 makes and all ranks know.
class SharedFolder {
 public:
  SharedFolder() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
      folder_ = std::make_unique<TemporaryFolder>();
      folder_->path().copy(path_, sizeof path_ - 1);
    }
    MPI_Bcast(path_, sizeof path_, MPI_CHAR, 0, MPI_COMM_WORLD);
  }
  ~SharedFolder() { MPI_Barrier(MPI_COMM_WORLD); }
  std::string operator/(const std::string& name) const { return std::string(path_) + "/" + name; }

 private:
  std::unique_ptr<TemporaryFolder> folder_;
  char path_[512]{};
};

TEST(Hdf5Ranks, RanksWriteUnequalSlicesTogetherAndReadThemBack) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const SharedFolder folder;
  // Slices of a matrix that end within rows; rank 0 needs several pieces where the last rank has nothing.
  const std::int64_t rows = 701, columns = 4099, size = rows * columns;
  const auto slice_start = [&](int r) {
    return r == 0 ? 0 : r == ranks ? size : size - 17 * (ranks - r - 1);
  };
  const std::int64_t first = slice_start(rank), count = slice_start(rank + 1) - first;
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), static_cast<float>(first));
  {
    auto file = File::create(folder / "a.h5", {.user_block = 512, .communicator = MPI_COMM_WORLD});
    auto dataset = file.create_dataset("/model/w", DType::fp32, {rows, columns});
    file.write_attribute("/", "ranks", std::int64_t{ranks});
    dataset.write(first, count, values.data(), Transfer::collective);
    file.flush();
    file.close();
  }
  const auto file = File::open(folder / "a.h5", MPI_COMM_WORLD);
  EXPECT_EQ(file.integer_attribute("/", "ranks"), ranks);
  std::vector<float> read(values.size());
  file.dataset("/model/w").read(first, count, read.data(), Transfer::collective);
  EXPECT_EQ(read, values);
  if (rank == 0) {
    EXPECT_EQ(python("import h5py, numpy as n\nx = h5py.File('" + (folder / "a.h5") +
                     "')['/model/w'][:].ravel()\nprint((x == n.arange(x.size, dtype='f4')).all())"),
              "True\n");
  }
}

TEST(Hdf5Ranks, FilesDoNotDependOnTheNumberOfRanks) {
  const SharedFolder folder;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::vector<float> values(1000, 2.0f);
  const auto write = [&](File file) {
    auto dataset = file.create_dataset("/x", DType::fp32, {1000});
    dataset.write(0, rank == 0 ? 1000 : 0, values.data(), Transfer::collective);
    file.close();
  };
  write(File::create(folder / "together.h5", {.user_block = 512, .communicator = MPI_COMM_WORLD}));
  if (rank == 0) {
    write(File::create(folder / "alone.h5", {.user_block = 512, .communicator = MPI_COMM_NULL}));
    EXPECT_TRUE(read_file(folder / "together.h5") == read_file(folder / "alone.h5"));
  }
}

}  // namespace mylos::hdf5_ranks_test
