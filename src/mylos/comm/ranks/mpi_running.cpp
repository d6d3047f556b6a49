#include "mylos/comm/ranks/mpi_running.hpp"

namespace mylos {
namespace {

/// While it lives, errors on a communicator are returned instead of ending the program.
class ReturnedErrors {
 public:
  explicit ReturnedErrors(MPI_Comm communicator) : communicator_(communicator) {
    MPI_Comm_get_errhandler(communicator_, &before_);
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  }
  ~ReturnedErrors() {
    MPI_Comm_set_errhandler(communicator_, before_);
    MPI_Errhandler_free(&before_);
  }
  ReturnedErrors(const ReturnedErrors&) = delete;
  ReturnedErrors& operator=(const ReturnedErrors&) = delete;

 private:
  MPI_Comm communicator_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace

bool is_communicator(MPI_Comm handle) {
  if (handle == MPI_COMM_NULL) return false;
  // An error of no communicator is one of MPI_COMM_WORLD up to MPI 3.1, and of MPI_COMM_SELF since MPI 4.
  const ReturnedErrors of_world(MPI_COMM_WORLD);
  const ReturnedErrors of_self(MPI_COMM_SELF);
  int size = 0;
  return MPI_Comm_size(handle, &size) == MPI_SUCCESS;
}

}  // namespace mylos
