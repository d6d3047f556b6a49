"""What libmylos.so shows: the functions of mylos.h, all of them and nothing else; and that it does not load what it contains.

usage: shown_symbols.py HEADER HAS_HDF5 LIBRARY ...     HAS_HDF5: 1 where the libraries contain HDF5
"""
import pathlib
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout


def check_symbols(library, header):
    shown = {line.split()[2] for line in output("nm", "-D", "--defined-only", library).splitlines()}
    # Those that the header defines are static.
    declared = set(re.findall(r"^(?:int32_t|const char\*) (mylos_\w+)\(", header.read_text(encoding="utf-8"), re.MULTILINE))
    assert shown == declared, f"{library} shows {sorted(shown - declared)[:9]}, and lacks {sorted(declared - shown)}"
    assert len(shown) > 20, shown


def check_needed(library, has_hdf5):
    contained = "kokkos|hwy|fmt|toml|mylos" + ("|hdf5" if has_hdf5 else "")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", "--wide", library))
    loaded = [name for name in needed if re.match(f"lib({contained})", name)]
    assert loaded == [], f"{library} loads {loaded}, which it must contain"
    names = "Kokkos" + ("|^H5" if has_hdf5 else "")
    wanted = [line.split()[-1] for line in output("nm", "-D", "--undefined-only", library).splitlines()]
    assert [name for name in wanted if re.search(names, name)] == [], f"{library} takes Kokkos or HDF5 from its program"


def main(header, has_hdf5, *libraries):
    assert libraries, "no library"
    for library in libraries:
        check_symbols(library, pathlib.Path(header))
        check_needed(library, has_hdf5 == "1")
        print(f"{library} shows the C interface alone")


if __name__ == "__main__":
    main(*sys.argv[1:])
