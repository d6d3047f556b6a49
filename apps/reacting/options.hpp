// The command line: reacting DECK [name=value ...].
#pragma once

#include <string>

#include "surrogate.hpp"

namespace reacting {

enum class Mode { compare, alone, surrogate };

struct Options {
  Mode mode = Mode::compare;  // the solver alone and with the surrogate, interleaved; or one of them
  int cells = 128;            // per side
  int steps = 2000;
  double dt = 0.2;                      // s
  double speed = 0.01;                  // of the flow, sides of the square per s
  double diffusivity = 4e-5;            // sides^2 per s
  double tolerance = 1e-8;              // relative, of the Rosenbrock method
  std::string folder = "reacting-run";  // for everything that is written
  int save_every = 0;                   // steps from one restart to the next; 0: only at the end
  bool restart = false;                 // continue from the restart in `folder`
  int stop_after = 0;                   // stop after this step of the run; 0: after all
  SurrogateOptions surrogate;
};

/// Reads the command line. Throws mylos::Error for what it does not know.
Options read_options(int count, const char* const* arguments);

/// The text of --help.
std::string help_text();

}  // namespace reacting
