"""What the measurements of perf/ and of scripts/ share: a study says what it measures, and these modules how.

programs        starts programs: to their end, or as servers that answer commands; their environment
rounds          interleaves jobs, and waits for an idle machine before each turn
measurements    ratios within a round, medians with their spread, bars
options         the options of command lines that mean the same in every study
results         the file of results that perf/compare.py reads
steps           compares steps of Mylos with PyTorch's, with their floors and with those of an older build
tables          rows of Markdown
runs            what a run leaves in its folder; random data for runs whose data do not matter
plans           `mylos plan --json`, and the largest network or batch that fits
machine         the processor, its instruction sets and cores, versions
budget          limited time: of a call, of its sections, and what fits it

What most studies need is harness.NAME: the names of the first five modules and TYPES. Scripts of perf/ find the package beside them;
those of scripts/ add perf/ to sys.path. It needs nothing but Python itself.
"""

from .measurements import HEADING_OF_RATIOS, best_of, median_ratio, met, print_ratio, ratios, spread
from .options import (add_json_option, add_mylos_option, add_options, add_peer_options, add_python_option, add_turn_options, parser_of,
                      print_machine, read_options, require_program)
from .programs import (INSTRUCTIONS, MYLOS, ROOT, ProgramFailed, Server, environment, finished, last_lines, on_ranks, output_if_any,
                       output_of, start)
from .results import cached, store
from .rounds import BUSY_SHARE, Quiet, interleaved, measured
from .steps import TYPES
