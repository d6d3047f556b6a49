// What computes the products of a run: part of a plan, so that a restart can compute them the same way, or
// say that it does not.
#pragma once

#include <string>
#include <vector>

#include "mylos/kernels/gemm.hpp"

namespace mylos {

struct ProductEngine {
  GemmProblem problem;  // sizes, form and types
  std::string engine;   // by the name that decks use
};

struct ProductEngines {
  std::string instructions;  // describe_instructions(); empty in plans that do not say
  std::vector<ProductEngine> products;
};

}  // namespace mylos
