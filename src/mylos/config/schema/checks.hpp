// Checks keys against each other, after each has been checked separately.
#pragma once

#include <map>
#include <string>

#include "mylos/config/options.hpp"
#include "mylos/config/schema/entries.hpp"

namespace mylos {

/// The position of each given key; a key that is not given is absent.
using GivenPlaces = std::map<std::string, Place>;

/// Earlier versions accepted and wrote keys that had no effect; checkpoints with such keys are still read.
/// Only a deck of a user by which a run trains needs the length of one.
enum class DeckOrigin { user, user_without_run, checkpoint };

/// Throws Error that names the position of the key that should change.
void check_options(const Options& options, const GivenPlaces& given, const std::string& file_name,
                   DeckOrigin origin);

/// Throws Error, with its position, for a key that is given but has no effect (Key::only_with).
void require_effect(const Options& options, const GivenPlaces& given);

/// Makes those checks that concern [model].
void check_model(const Options& options, const GivenPlaces& given, const std::string& file_name);
/// Makes those that concern the short forms of networks on grids.
void check_short_form(const Options& options, const GivenPlaces& given, const std::string& file_name);
/// Replaces the names of axes in 'edges' by the places that [data.arrays] gives them, or throws Error with
/// the position of the key.
void resolve_edges(Options& options, const GivenPlaces& given, const std::string& file_name);
/// Makes those checks that concern [mesh], as far as they need the deck alone.
void check_mesh(const Options& options, const GivenPlaces& given, const std::string& file_name);
/// Makes those checks that concern [data.arrays].
void check_arrays(const Options& options, const GivenPlaces& given, const std::string& file_name);

}  // namespace mylos
