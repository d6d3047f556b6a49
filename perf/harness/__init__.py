"""What the measurements of perf/ and of scripts/ share: a study says what it measures, and these modules how.

programs        starts programs: to their end, or as servers that answer commands; their environment
rounds          interleaves jobs, and waits for an idle machine before each turn
measurements    ratios within a round, medians with their spread, bars
steps           compares steps of Mylos with PyTorch's, with their floors and with those of an older build
options         the options of command lines that mean the same in every study
results         the file of results that perf/compare.py reads
tables          rows of Markdown
runs            what a run leaves in its folder; random data for runs whose data do not matter
plans           `mylos plan --json`, and the largest network or batch that fits
machine         the processor, its instruction sets and cores, versions
budget          limited time: of a call, of its sections, and what fits it

Scripts of perf/ find the package beside them; those of scripts/ add perf/ to sys.path. It needs nothing but Python itself.
"""
