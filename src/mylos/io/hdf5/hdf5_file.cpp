#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/errors/regular_file.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/hdf5/hdf5_library.hpp"
#include "mylos/io/hdf5/hdf5_versions.hpp"
#include "mylos/io/hdf5/write_driver.hpp"

namespace mylos::hdf5 {
namespace {

/// The size of HDF5's metadata cache, in bytes on disk; in memory the metadata takes 20 times as much. HDF5's
/// default is 2 MiB, the metadata of 6000 datasets.
constexpr std::size_t structure_cache_bytes = std::size_t{128} << 10;

void bound_structure_cache(const Handle& access) {
  H5AC_cache_config_t cache{};
  cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  checked(H5Pget_mdc_config(access.id(), &cache));
  cache.set_initial_size = true;
  cache.initial_size = cache.min_size = cache.max_size = structure_cache_bytes;
  checked(H5Pset_mdc_config(access.id(), &cache));
}

Handle access_properties() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // Closing the file closes its open objects.
  checked(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG));
  // File locking is disabled: whether locks work depends on the file system, and nobody writes a published
  // file.
  checked(H5Pset_file_locking(access.id(), false, true));
  bound_structure_cache(access);
  return access;
}

/// Creates the group and its missing parents without time stamps (HDF5's own option for missing parents
/// writes time stamps).
void make_group(const File::State& file, const std::string& path) {
  const Handle creation(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  checked(H5Pset_obj_track_times(creation.id(), false));
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string group = path.substr(0, end);
    if (group.empty() || group == "/") continue;
    if (checked_read(H5Lexists(file.id, group.c_str(), H5P_DEFAULT), file.path, group) > 0) continue;
    const Handle made(
        checked_write(H5Gcreate2(file.id, group.c_str(), H5P_DEFAULT, creation.id(), H5P_DEFAULT), file,
                      group),
        H5Gclose);
  }
}

struct LinkProblem {
  ErrorId id;
  std::string text;
};

/// Returns the type and the hard links of what the hard link `path` leads to.
H5O_info_t info_of(const File::State& file, const std::string& path) {
  H5O_info_t info{};
  checked_read(find_info(file.id, path.c_str(), info), file.path, path);
  return info;
}

/// Returns nothing if every component of `path` exists and is a hard link, otherwise the problem of the first
/// that is not.
std::optional<LinkProblem> link_problem(const File::State& file, const std::string& path) {
  std::string group = "/";
  std::size_t end = 0;
  while (end < path.size() && end != std::string::npos) {
    end = path.find('/', end + 1);
    const std::string prefix = path.substr(0, end);
    if (prefix == "/" || prefix.empty()) continue;
    // What is no group has nothing in it, which to ask H5Lexists is an error.
    if (group != "/" && info_of(file, group).type != H5O_TYPE_GROUP)
      return LinkProblem{errors::missing_dataset, "is missing"};
    if (checked_read(H5Lexists(file.id, prefix.c_str(), H5P_DEFAULT), file.path, prefix) == 0)
      return LinkProblem{errors::missing_dataset, "is missing"};
    H5L_info_t link{};
    checked_read(H5Lget_info(file.id, prefix.c_str(), &link, H5P_DEFAULT), file.path, prefix);
    if (link.type != H5L_TYPE_HARD) {
      return LinkProblem{errors::unsupported_feature,
                         fmt::format("is reached by a link ({}), which is not followed", prefix)};
    }
    group = prefix;
  }
  return std::nullopt;
}

/// Returns the length of the open file itself, even if its name now refers to another file.
std::int64_t current_bytes(const File::State& file) {
  void* descriptor = nullptr;
  struct stat status {};
  if (H5Fget_vfd_handle(file.id, H5P_DEFAULT, &descriptor) < 0) {
    fail_run(errors::library_failed, "{}: its descriptor is unknown: {}", file.path, last_error());
  }
  if (::fstat(*static_cast<int*>(descriptor), &status) != 0) {
    fail_run(errors::cannot_read, "{}: its length is unknown: {}", file.path, std::strerror(errno));
  }
  return status.st_size;
}

}  // namespace

void require_not_truncated(const File::State& file) {
  if (file.opened_bytes == 0) return;
  const std::int64_t bytes = current_bytes(file);
  if (bytes >= file.opened_bytes) return;
  fail_input(errors::file_changed, "{}: was cut while it was read: {} bytes are left of {}", file.path, bytes,
             file.opened_bytes);
}

File::State::~State() {
  if (id < 0) return;
  const LibraryScope scope;
  H5Fclose(id);
}

Handle open_object(const File::State& file, const std::string& path) {
  const auto problem = link_problem(file, path);
  if (problem) fail_input(problem->id, "{}: {} {}", file.path, path, problem->text);
  return {checked_read(H5Oopen(file.id, path.c_str(), H5P_DEFAULT), file.path, path), H5Oclose};
}

File File::create(const std::string& path, const CreateOptions& options) {
  const LibraryScope scope;
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  checked(H5Pset_obj_track_times(creation.id(), false));
  if (options.user_block > 0)
    checked(H5Pset_userblock(creation.id(), static_cast<hsize_t>(options.user_block)));
  const Handle access = access_properties();
  checked(H5Pset_libver_bounds(access.id(), H5F_LIBVER_V110, H5F_LIBVER_V110));
  auto state = std::make_shared<State>();
  state->path = path;
  state->writable = true;
  use_write_driver(access.id(), &state->write_error);
  state->id = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id());
  if (state->id < 0) fail_to_write(*state, "cannot be created");
  return File(std::move(state));
}

namespace {

void require_hdf5(const std::string& path) {
  const htri_t found = has_signature(path.c_str());
  if (found < 0) fail_to_read(fmt::format("{}: cannot be read", path));
  if (found == 0) fail_input(errors::wrong_format, "{}: is not an HDF5 file", path);
}

}  // namespace

File File::open(const std::string& path) {
  require_regular_file(path);
  const LibraryScope scope;
  require_hdf5(path);
  const Handle access = access_properties();
  auto state = std::make_shared<State>();
  state->path = path;
  state->id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id());
  if (state->id < 0) fail_to_read(fmt::format("{}: cannot be read as HDF5", path));
  state->opened_bytes = current_bytes(*state);
  return File(std::move(state));
}

File File::edit(const std::string& path) {
  require_regular_file(path);
  const LibraryScope scope;
  require_hdf5(path);
  const Handle access = access_properties();
  auto state = std::make_shared<State>();
  state->path = path;
  state->writable = true;
  use_write_driver(access.id(), &state->write_error);
  state->id = H5Fopen(path.c_str(), H5F_ACC_RDWR, access.id());
  if (state->id < 0) fail_to_write(*state, "cannot be opened to be changed");
  return File(std::move(state));
}

const std::string& File::path() const {
  return state_->path;
}

void File::flush() {
  const LibraryScope scope;
  if (H5Fflush(state_->id, H5F_SCOPE_GLOBAL) < 0) fail_to_write(*state_, "cannot be flushed");
  require_written(*state_);
}

void File::reserve() {
  // Before the flush, which could only say that the disk is full; and for what it has added.
  reserve_space(path(), bytes());
  flush();
  reserve_space(path(), bytes());
}

std::int64_t File::bytes() const {
  const LibraryScope scope;
  hsize_t bytes = 0;
  if (H5Fget_filesize(state_->id, &bytes) < 0)
    fail_run(errors::library_failed, "{}: size is unknown: {}", path(), last_error());
  return static_cast<std::int64_t>(bytes);
}

void File::close() {
  const LibraryScope scope;
  if (state_->id < 0) return;
  const hid_t id = std::exchange(state_->id, -1);
  if (H5Fclose(id) < 0) fail_to_write(*state_, "cannot be closed");
  require_written(*state_);
}

void File::remove(const std::string& path) {
  const LibraryScope scope;
  if (H5Ldelete(state_->id, path.c_str(), H5P_DEFAULT) < 0) {
    fail_to_write(*state_, path + " cannot be removed");
  }
}

namespace {

/// Creates a dataset and leaves it open. The caller closes `file_type`.
hid_t create(const File::State& file, const std::string& path, hid_t file_type,
             const std::vector<std::int64_t>& dims) {
  std::vector<hsize_t> extent(dims.begin(), dims.end());
  const Handle space(dims.empty() ? H5Screate(H5S_SCALAR)
                                  : H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
                     H5Sclose);
  make_group(file, path.substr(0, path.rfind('/')));
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  checked(H5Pset_obj_track_times(creation.id(), false));
  checked(H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_EARLY));
  checked(H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER));
  return checked_write(
      H5Dcreate2(file.id, path.c_str(), file_type, space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT), file,
      path);
}

}  // namespace

Dataset File::create_dataset(const std::string& path, DType type, const std::vector<std::int64_t>& dims) {
  const LibraryScope scope;
  auto state = std::make_shared<Dataset::State>();
  state->file = state_;
  state->path = path;
  state->id = hdf5::create(*state_, path, type_in_file(type).id(), dims);
  state->describe();
  return Dataset(std::move(state));
}

Dataset File::create_text(const std::string& path, std::int64_t bytes) {
  const LibraryScope scope;
  const Handle type = text_type(static_cast<std::size_t>(bytes));
  auto state = std::make_shared<Dataset::State>();
  state->file = state_;
  state->path = path;
  state->id = hdf5::create(*state_, path, type.id(), {});
  state->describe();
  return Dataset(std::move(state));
}

Dataset File::dataset(const std::string& path) const {
  const LibraryScope scope;
  const auto problem = link_problem(*state_, path);
  if (problem) fail_input(problem->id, "{}: dataset {} {}", this->path(), path, problem->text);
  if (path == "/" || info_of(*state_, path).type != H5O_TYPE_DATASET)
    fail_input(errors::bad_dataset, "{}: {} is not a dataset", this->path(), path);
  auto state = std::make_shared<Dataset::State>();
  state->file = state_;
  state->path = path;
  state->id = checked_read(H5Dopen2(state_->id, path.c_str(), H5P_DEFAULT), this->path(), path);
  state->describe();
  return Dataset(std::move(state));
}

bool File::exists(const std::string& path) const {
  const LibraryScope scope;
  const auto problem = link_problem(*state_, path);
  return !problem || problem->id != errors::missing_dataset;
}

std::vector<Child> File::children(const std::string& path) const {
  const LibraryScope scope;
  const Handle group = open_object(*state_, path);
  if (H5Iget_type(group.id()) != H5I_GROUP)
    fail_input(errors::bad_dataset, "{}: {} is not a group", this->path(), path);
  std::vector<Child> result;
  const auto add = [](hid_t, const char* name, const H5L_info_t* link, void* data) -> herr_t {
    const bool is_hard = link->type == H5L_TYPE_HARD;
    static_cast<std::vector<Child>*>(data)->push_back(
        {name, is_hard ? ObjectKind::group : ObjectKind::other});
    return 0;
  };
  // As they are stored, and sorted here: where a read fails while HDF5 1.10 sorts, it frees what it never
  // had.
  hsize_t index = 0;
  checked_read(H5Literate(group.id(), H5_INDEX_NAME, H5_ITER_NATIVE, &index, add, &result), this->path(),
               path);
  std::ranges::sort(result, {}, &Child::name);
  for (Child& child : result) {
    if (child.kind == ObjectKind::other) continue;
    const H5O_info_t info = info_of(*state_, (path == "/" ? path : path + '/') + child.name);
    // A group with several hard links may contain itself, and a recursive reader would never return.
    const bool is_group = info.type == H5O_TYPE_GROUP && info.rc == 1;
    child.kind = info.type == H5O_TYPE_DATASET ? ObjectKind::dataset
                 : is_group                    ? ObjectKind::group
                                               : ObjectKind::other;
  }
  return result;
}

}  // namespace mylos::hdf5
