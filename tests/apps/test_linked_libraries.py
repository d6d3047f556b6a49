"""The command, and in a portable build its library, name no shared library that they do not call.

usage: test_linked_libraries.py MYLOS BUILD
"""
import pathlib
import sys

from linked_libraries import loaded, named, not_called


def main(mylos, build):
    programs = [pathlib.Path(mylos), *sorted(pathlib.Path(build).glob("lib/**/libmylos.so"))]
    for program in programs:
        assert "libmpi" in " ".join(loaded(program)), f"{program}: ldd finds no MPI"
        idle = not_called(program)
        assert idle == [], f"{program} names, and does not call, {idle}"
        print(f"{program}: {len(named(program))} libraries named, all of them called; {len(loaded(program))} loaded with theirs")


if __name__ == "__main__":
    main(*sys.argv[1:])
