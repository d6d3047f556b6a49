// Which cores this rank may use, and with how many others it shares them.
#pragma once

namespace mylos::app {

struct CoreShare {
  int cores = 1;  // that this rank may use
  int ranks = 1;  // of this node that may use exactly the same ones, this one included
};

/// All ranks of MPI_COMM_WORLD call this.
[[nodiscard]] CoreShare core_share();

}  // namespace mylos::app
