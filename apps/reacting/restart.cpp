#include "restart.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/errors/runs.hpp"

namespace reacting {

namespace {

/// An identifier of HDF5, closed by `close`.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what) : id_(id), close_(close) {
    if (id < 0) mylos::fail_run(mylos::errors::library_failed, "{}: HDF5 fails", what);
  }
  ~Handle() { close_(id_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  [[nodiscard]] hid_t id() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

class File {
 public:
  static File create(const std::string& path) {
    return {path, H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)};
  }
  static File open(const std::string& path) {
    return {path, H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)};
  }

  void write(const std::string& name, hid_t type, const std::vector<hsize_t>& shape, const void* data) {
    const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose,
                       dataset_name(name));
    const Handle set(
        H5Dcreate2(file_.id(), name.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose, dataset_name(name));
    require(H5Dwrite(set.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), name);
  }
  /// Reads a dataset of exactly this shape.
  void read(const std::string& name, hid_t type, const std::vector<hsize_t>& shape, void* data) {
    const Handle set(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), H5Dclose, dataset_name(name));
    const Handle space(H5Dget_space(set.id()), H5Sclose, dataset_name(name));
    std::vector<hsize_t> found(shape.size());
    if (H5Sget_simple_extent_ndims(space.id()) != static_cast<int>(shape.size()) ||
        H5Sget_simple_extent_dims(space.id(), found.data(), nullptr) < 0 || found != shape) {
      mylos::fail_input(mylos::errors::restart_mismatch,
                        "{} has another shape: restart with the same cells, window and ranks",
                        dataset_name(name));
    }
    require(H5Dread(set.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), name);
  }
  [[nodiscard]] bool has(const std::string& name) const {
    const htri_t exists = H5Lexists(file_.id(), name.c_str(), H5P_DEFAULT);
    require(exists, name);
    return exists > 0;
  }
  void flush() { require(H5Fflush(file_.id(), H5F_SCOPE_GLOBAL), "/"); }

 private:
  File(const std::string& path, hid_t id) : path_(path), file_(id, H5Fclose, path) {}
  [[nodiscard]] std::string dataset_name(const std::string& name) const {
    return path_ + ", dataset " + name;
  }
  void require(herr_t result, const std::string& name) const {
    if (result < 0) mylos::fail_run(mylos::errors::library_failed, "{}: HDF5 fails", dataset_name(name));
  }

  std::string path_;
  Handle file_;
};

void synchronise(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  const bool done = file >= 0 && ::fsync(file) == 0;
  if (file >= 0) ::close(file);
  if (!done) mylos::fail_run(mylos::errors::cannot_write, "{}: cannot be written to the disk", path);
}

/// Writes the file that names the newest pair: complete under its name, or not there.
void publish(const std::string& folder, std::uint64_t step) {
  const std::string path = folder + "/restart";
  {
    std::ofstream file(path + ".new");
    file << step << '\n';
    file.close();
    if (!file) mylos::fail_run(mylos::errors::cannot_write, "{}.new: cannot be written", path);
  }
  synchronise(path + ".new");
  std::filesystem::rename(path + ".new", path);
  synchronise(folder);
}

std::string file_of(const std::string& folder, const char* part, std::uint64_t step) {
  return fmt::format("{}/{}-{}.h5", folder, part, step);
}

/// Removes all files of pairs but those of `step`.
void remove_others(const std::string& folder, std::uint64_t step) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool of_pair =
        (name.starts_with("solver-") || name.starts_with("network-")) && name.ends_with(".h5");
    const std::string kept = fmt::format("-{}.h5", step);
    if (of_pair && !name.ends_with(kept)) std::filesystem::remove(entry.path());
  }
}

std::vector<hsize_t> shape_of(const Square& square) {
  return {square.extent(0), square.extent(1), square.extent(2)};
}

/// The window of every rank, [rank, sample, inputs and target], on rank 0.
std::vector<float> gather_windows(const Surrogate& surrogate, const Grid& grid) {
  const auto own = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), surrogate.window.rows);
  std::vector<float> all(grid.rank == 0 ? own.size() * static_cast<std::size_t>(grid.size) : 0);
  const int count = static_cast<int>(own.size());
  MPI_Gather(own.data(), count, MPI_FLOAT, all.data(), count, MPI_FLOAT, 0, grid.ranks);
  return all;
}

std::vector<std::int64_t> gather_appended(const Surrogate& surrogate, const Grid& grid) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(grid.size));
  MPI_Allgather(&surrogate.window.appended, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, grid.ranks);
  return all;
}

}  // namespace

void write_restart(Simulation& simulation, const std::string& folder) {
  const Grid& grid = simulation.grid;
  const Square fields = gather(grid, simulation.fields);
  const Square first = gather(grid, simulation.kinetics.first_steps);
  Surrogate* surrogate = simulation.surrogate.get();
  std::vector<float> windows;
  std::vector<std::int64_t> appended;
  const std::string network = file_of(folder, "network", simulation.step);
  if (surrogate) {
    windows = gather_windows(*surrogate, grid);
    appended = gather_appended(*surrogate, grid);
    surrogate->network.save(network);  // complete on disk when it returns
  }
  if (grid.rank == 0) {
    const std::string solver = file_of(folder, "solver", simulation.step);
    {
      File file = File::create(solver);
      file.write("fields", H5T_NATIVE_DOUBLE, shape_of(fields), fields.data());
      file.write("first_steps", H5T_NATIVE_DOUBLE, shape_of(first), first.data());
      if (surrogate) {
        const auto ranks = static_cast<hsize_t>(grid.size);
        const hsize_t capacity = surrogate->window.rows.extent(0);
        file.write("window", H5T_NATIVE_FLOAT, {ranks, capacity, inputs_of_network + 1}, windows.data());
        file.write("appended", H5T_NATIVE_INT64, {ranks}, appended.data());
        file.write("trust", H5T_NATIVE_DOUBLE, {bins, 2}, surrogate->trust.state().data());
        file.write("network_share", H5T_NATIVE_DOUBLE, {1}, &surrogate->share_of_network);
      }
      file.flush();
    }
    synchronise(solver);
    publish(folder, simulation.step);
    remove_others(folder, simulation.step);
  }
  MPI_Barrier(grid.ranks);
}

void read_restart(Simulation& simulation, const std::string& folder) {
  const Grid& grid = simulation.grid;
  std::ifstream newest(folder + "/restart");
  if (!(newest >> simulation.step)) {
    mylos::fail_input(mylos::errors::no_checkpoint,
                      "{}/restart does not name a restart: start without restart=true", folder);
  }
  const auto side = static_cast<std::size_t>(grid.cells);
  const Square fields("fields", fields_of_cell, side, side);
  const Square first("first steps", 1, side, side);
  const std::string solver = file_of(folder, "solver", simulation.step);
  Surrogate* surrogate = simulation.surrogate.get();
  {
    File file = File::open(solver);
    if (file.has("window") != (surrogate != nullptr)) {
      mylos::fail_input(mylos::errors::restart_mismatch,
                        "{} was written {} a surrogate: restart with that mode", solver,
                        surrogate ? "without" : "with");
    }
    file.read("fields", H5T_NATIVE_DOUBLE, shape_of(fields), fields.data());
    file.read("first_steps", H5T_NATIVE_DOUBLE, shape_of(first), first.data());
    if (surrogate) {
      const auto ranks = static_cast<std::size_t>(grid.size);
      const auto own = Kokkos::create_mirror_view(surrogate->window.rows);
      std::vector<float> windows(own.size() * ranks);
      std::vector<std::int64_t> appended(ranks);
      std::vector<double> trust(2 * bins);
      file.read("window", H5T_NATIVE_FLOAT, {ranks, own.extent(0), own.extent(1)}, windows.data());
      file.read("appended", H5T_NATIVE_INT64, {ranks}, appended.data());
      file.read("trust", H5T_NATIVE_DOUBLE, {bins, 2}, trust.data());
      file.read("network_share", H5T_NATIVE_DOUBLE, {1}, &surrogate->share_of_network);
      const auto rank = static_cast<std::size_t>(grid.rank);
      std::copy_n(windows.data() + rank * own.size(), own.size(), own.data());
      Kokkos::deep_copy(surrogate->window.rows, own);
      surrogate->window.appended = appended[rank];
      surrogate->trust.set_state(std::move(trust));
    }
  }
  if (surrogate) surrogate->network.load(file_of(folder, "network", simulation.step));
  scatter(grid, fields, simulation.fields);
  scatter(grid, first, simulation.kinetics.first_steps);
}

void write_squares(const std::string& path, const std::vector<std::pair<std::string, Square>>& squares) {
  File file = File::create(path);
  for (const auto& [name, square] : squares) {
    file.write(name, H5T_NATIVE_DOUBLE, shape_of(square), square.data());
  }
  file.flush();
}

}  // namespace reacting
