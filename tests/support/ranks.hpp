// The ranks that a test program runs on. Builds of the kernels alone have no MPI, and one rank.
#pragma once

namespace mylos::test {

/// Before any other call of these, and of MPI.
void start_ranks(int* argument_count, char*** arguments);

[[nodiscard]] int own_rank();

/// The largest of all ranks' results; the first rank says which ranks have another one than 0. All ranks call
/// this.
[[nodiscard]] int worst_of_ranks(int result);

/// The last call of these, and of MPI.
void end_ranks();

}  // namespace mylos::test
