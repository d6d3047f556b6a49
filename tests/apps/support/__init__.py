"""What Python tests share: a script imports these modules and reads as its cases.

cases             runs a script's cases in a temporary folder that they share: its command line and main; which of the cases that
                  are drawn at random a command line asks for
command           the mylos command in a working folder: finished, still running, refused; under mpirun with n ranks
refusal           a refusal's exit code, error id and parts, apart from its wording
processes         the processes of a run: signals, waiting for them, that none is left
decks             a deck's text from dictionaries
tables            CSV files: of data, and those that a run writes
data_files        HDF5 and IDX files of data
run_folders       what a run leaves in its folder, and whether two runs hold the same bits
checkpoint_block, changed_checkpoints: checkpoints that no program of ours wrote

Scripts of tests/apps find the package beside them; those of other folders add tests/apps to sys.path.
"""
