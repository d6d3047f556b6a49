// What the blocks of C++ in docs/ use and do not declare themselves: the views and options of the reader's
// program.
#pragma once

#include <omp.h>

#include <span>
#include <vector>

#include "mylos/mylos.hpp"

using Rows = Kokkos::View<float**, Kokkos::LayoutRight>;

extern const Kokkos::DefaultExecutionSpace exec;
extern const MPI_Comm comm, solver_comm;
extern const mylos::Options options;
extern mylos::Model model;
extern Rows inputs, targets, predictions, x, y, dx, dy, mean, deviation, lower, upper;
extern Kokkos::View<float***, Kokkos::LayoutRight> j;
extern const float lr, part;
extern const int columns, width, outputs;
Rows x_of(int column);
Rows y_of(int column);
extern Kokkos::View<float*> weights_gradient, float_gradient;
extern Kokkos::View<mylos::half*> half_gradient;
extern mylos::Tensor floats, halves;
extern std::vector<float> values;
extern std::vector<Kokkos::View<float*>> gradients, weights;  // of each parameter
extern mylos::OnlineTrainer net;
