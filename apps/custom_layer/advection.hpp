// A layer of this program: one upwind step of u_t + c u_x = 0 on a periodic line, with a Courant number c for
// each channel that training finds.
//
//   y(i) = x(i) - c (x(i) - x(i-1))
#pragma once

#include <mylos/mylos.hpp>

#include <memory>
#include <string>
#include <vector>

/// A deck's kind = "custom", layer = "advection"; its setting `speed` is c before training.
class Advection final : public mylos::CustomLayer {
 public:
  [[nodiscard]] std::string name() const override { return "advection"; }
  [[nodiscard]] std::vector<std::string> settings() const override { return {"speed"}; }
  [[nodiscard]] mylos::CustomBlock make(const mylos::CustomLayerInput& input) const override;
};
