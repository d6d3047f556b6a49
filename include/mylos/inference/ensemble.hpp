// Ensemble: several networks of the same task in one program, and how far they agree.
//
//   mylos::Ensemble ensemble({"seed1.h5", "seed2.h5", "seed3.h5"});
//   ensemble.infer(exec, x, mean, deviation);     // views as Model::infer() writes them
//
// Members are files that Model can open, trained from different seeds or on different parts of the data. Each
// scales inputs and outputs as in its own training. If the members compute x_i, the mean is m = sum x_i / n
// and the standard deviation is sqrt(sum (x_i - m)^2 / (n - 1)). Members that compute a standard deviation
// s_i themselves (model.loss = "gaussian") form a mixture with equal weights, whose standard deviation is
// sqrt(sum s_i^2 / n + sum (x_i - m)^2 / n). Mean and deviation are computed in double and rounded to float
// once. A large deviation indicates that the data did not determine the output.
//
// What model.hpp says about arrays, memory, threads and errors applies here too.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "mylos/inference/model.hpp"

namespace mylos {

/// Several trained networks of the same task, and how far they agree; the head of this file says how.
class Ensemble {
 public:
  /// Loads the files, two or more. Throws Error as Model does, does_not_fit before it takes memory for any of
  /// them; and bad_input: bad_call for fewer files or a file that is listed twice, model_mismatch if members
  /// differ in the shapes of inputs or outputs or in the kind of their outputs, bad_names if they differ in
  /// the names of inputs, targets or classes that their files contain. The message names the members that
  /// differ, and in what.
  explicit Ensemble(const std::vector<std::string>& paths, const LoadOptions& options = {},
                    const KokkosRuntime& kokkos = kokkos_of_caller());
  ~Ensemble();
  /// An ensemble that was moved from may only be destroyed or assigned to.
  Ensemble(Ensemble&&) noexcept;
  /// As the constructor that moves.
  Ensemble& operator=(Ensemble&&) noexcept;

  /// Returns what an ensemble of these files takes: the sum of its members, plus workspace for their outputs.
  /// Throws Error as the constructor does, except does_not_fit.
  [[nodiscard]] static InferenceBytes memory_of(const std::vector<std::string>& paths,
                                                const LoadOptions& options = {});

  /// Returns an ensemble that shares the weights and has its own workspace, for another thread.
  [[nodiscard]] Ensemble clone() const;

  /// Computes mean and standard deviation of the members' outputs; both views have the shape that
  /// Model::infer() writes. Units::network is for members that scale in the same way.
  template <ArrayView Inputs, ArrayView Means, ArrayView Deviations>
  void infer(const Execution& exec, const Inputs& x, const Means& mean, const Deviations& deviation,
             Units units = Units::data) {
    infer(exec, const_array_of(x), array_of(mean), array_of(deviation), units);
  }
  /// The same for arrays that are described at run time.
  void infer(const Execution& exec, const ConstArray& x, const Array& mean, const Array& deviation,
             Units units = Units::data);

  /// Computes dx = J^T dy, dy = J dx, and J [outputs, inputs] as Model does, of the ensemble's mean: the
  /// means of its members' derivatives, summed in double and rounded to float once. `units` as in infer().
  /// Throws Error as Model does, and bad_call without LoadOptions::derivatives.
  template <ArrayView Inputs, ArrayView Seeds, ArrayView Derivatives>
  void vjp(const Execution& exec, const Inputs& x, const Seeds& dy, const Derivatives& dx,
           Units units = Units::data) {
    vjp(exec, const_array_of(x), const_array_of(dy), array_of(dx), units);
  }
  /// As vjp().
  template <ArrayView Inputs, ArrayView Directions, ArrayView Derivatives>
  void jvp(const Execution& exec, const Inputs& x, const Directions& dx, const Derivatives& dy,
           Units units = Units::data) {
    jvp(exec, const_array_of(x), const_array_of(dx), array_of(dy), units);
  }
  /// As vjp().
  template <ArrayView Inputs, ArrayView Derivatives>
  void jacobian(const Execution& exec, const Inputs& x, const Derivatives& j, Units units = Units::data) {
    jacobian(exec, const_array_of(x), array_of(j), units);
  }
  /// The same for arrays that are described at run time.
  void vjp(const Execution& exec, const ConstArray& x, const ConstArray& dy, const Array& dx,
           Units units = Units::data);
  /// The same for arrays that are described at run time.
  void jvp(const Execution& exec, const ConstArray& x, const ConstArray& dx, const Array& dy,
           Units units = Units::data);
  /// The same for arrays that are described at run time.
  void jacobian(const Execution& exec, const ConstArray& x, const Array& j, Units units = Units::data);

  /// The number of members.
  [[nodiscard]] std::size_t size() const;
  /// A member, in the order of the files: for its shapes and names, its own outputs, and check_inputs(). Used
  /// by the ensemble's thread.
  [[nodiscard]] Model& member(std::size_t index);
  /// The same of an ensemble that is only read.
  [[nodiscard]] const Model& member(std::size_t index) const;
  /// The memory that this ensemble uses. Clones share weights and statistics.
  [[nodiscard]] InferenceBytes bytes() const;

 private:
  struct Parts;
  explicit Ensemble(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace mylos
