// Engines, with the engine of GEMMs. The set of that engine determines the libraries (engine_set.hpp).
#pragma once

#include "mylos/kernels/engines.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
