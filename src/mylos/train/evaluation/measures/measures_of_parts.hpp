// What evaluations measure of samples that mesh.space divides into boxes.
//
// A rank evaluates its box of each of its samples, and the sums of all ranks are added up. The loss and CRPS
// are means over numbers, those of boxes with the weight of their points (OutputField::share), so that those
// over boxes are those over samples. R2 has sums of each number of a sample, to which every rank adds those
// of its box. Measures of whole samples are refused, unless the outputs are a vector, which each rank has
// whole.
#pragma once

#include "mylos/base/places.hpp"
#include "mylos/config/options.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// Returns whether a deck divides samples.
[[nodiscard]] bool divides_samples(const Options& options);

/// Returns what a measure needs that the boxes of outputs do not have; "" if it is measured of them.
[[nodiscard]] const char* why_not_of_boxes(Measure measure);

/// Throws Error (bad_input) if a deck that divides samples asks for a measure that boxes do not have, naming
/// the key, or if the outputs of `chain`, that of a rank, do not lie on the points of its inputs. `places`:
/// locations of the deck's keys.
void require_measures_of_parts(const Options& options, const Chain& chain, const Places& places);

}  // namespace mylos
