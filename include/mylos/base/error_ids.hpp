// All error ids, for programs that compare them. Files of Mylos include the topics that they use, so that few
// of them are compiled again when an id is added.
#pragma once

#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/samples.hpp"
