/* Preloaded into ranks: rank STOP_RANK stops itself, as SIGSTOP does, when it is about to make call number STOP_AT of MPI that
 * needs the other ranks. MPI_Init is call 1. Every rank writes the number of each call and its name to calls-RANK. */
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static int number_in(const char* variable, int otherwise) {
  const char* text = getenv(variable);
  return text == NULL ? otherwise : atoi(text);
}

static void before(const char* name) {
  static atomic_int calls_before = 0;
  const int call = atomic_fetch_add(&calls_before, 1) + 1;
  const int rank = number_in("OMPI_COMM_WORLD_RANK", -1);
  char path[32];
  snprintf(path, sizeof path, "calls-%d", rank);
  FILE* file = fopen(path, "a");
  if (file != NULL) {
    fprintf(file, "%d %s\n", call, name);
    fclose(file);
  }
  if (rank == number_in("STOP_RANK", -2) && call == number_in("STOP_AT", 0)) raise(SIGSTOP);
}

int MPI_Init_thread(int* count, char*** words, int wanted, int* provided) {
  before("MPI_Init_thread");
  return PMPI_Init_thread(count, words, wanted, provided);
}

int MPI_Finalize(void) {
  before("MPI_Finalize");
  return PMPI_Finalize();
}

int MPI_Comm_idup(MPI_Comm parent, MPI_Comm* copy, MPI_Request* request) {
  before("MPI_Comm_idup");
  return PMPI_Comm_idup(parent, copy, request);
}

int MPI_Comm_split(MPI_Comm parent, int color, int key, MPI_Comm* part) {
  before("MPI_Comm_split");
  return PMPI_Comm_split(parent, color, key, part);
}

int MPI_Ibarrier(MPI_Comm ranks, MPI_Request* request) {
  before("MPI_Ibarrier");
  return PMPI_Ibarrier(ranks, request);
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm ranks, MPI_Request* request) {
  before("MPI_Ibcast");
  return PMPI_Ibcast(buffer, count, type, root, ranks, request);
}

int MPI_Iallgather(const void* own, int own_count, MPI_Datatype own_type, void* all, int count, MPI_Datatype type,
                   MPI_Comm ranks, MPI_Request* request) {
  before("MPI_Iallgather");
  return PMPI_Iallgather(own, own_count, own_type, all, count, type, ranks, request);
}

int MPI_Iallreduce(const void* own, void* all, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm ranks,
                   MPI_Request* request) {
  before("MPI_Iallreduce");
  return PMPI_Iallreduce(own, all, count, type, operation, ranks, request);
}
