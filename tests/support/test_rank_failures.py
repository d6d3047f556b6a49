"""What a test program prints under mpirun: each rank's failures with the rank, and passing tests once.

usage: test_rank_failures.py MPIRUN PROGRAM
"""
import re
import subprocess
import sys

mpirun, program = sys.argv[1:]


def run(ranks, *arguments):
    return subprocess.run([mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(ranks), program, "--gtest_color=no", *arguments],
                          capture_output=True, text=True, timeout=600)


def count(pattern, text):
    return len(re.findall(pattern, text, re.MULTILINE))


failing = run(3)
said = failing.stdout
assert failing.returncode != 0, said
for rank in (1, 2):
    assert count(rf"failing_ranks\.cpp:\d+: Failure on rank {rank}, in OnTheLastTwoOfThreeRanks\.Differs$", said) == 1, said
    assert count(rf"^\[  FAILED  \] OnTheLastTwoOfThreeRanks\.Differs on rank {rank}$", said) == 1, said
assert count("^this rank is another one$", said) == 2, said
assert count(r": Failure on rank 1, in OnTheMiddleRank\.Throws$", said) == 1, said
assert count("a test's own exception", said) == 1, said
assert count(r"OnTheMiddleRank\.Throws on rank 2|on rank 0", said) == 0, said
assert count(r"^\[       OK \] OnAllRanks\.Passes", said) == 1, said
assert count(r"^\[  FAILED  \] on ranks 1, 2 of 3, which print their own failures$", said) == 1, said

passing = run(3, "--gtest_filter=OnAllRanks.*")
assert passing.returncode == 0 and "FAILED" not in passing.stdout, passing.stdout
print("failures of every rank are printed with the rank")
