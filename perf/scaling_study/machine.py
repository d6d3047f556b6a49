"""What a study says of where it was made."""
import hashlib
import os
import pathlib
import platform
import subprocess

from .table import Trouble


def output_of(*command):
    """"" where the command is not here or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def processor():
    """By lscpu's words."""
    for line in output_of("lscpu").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "Model name":
            return value.strip()
    return platform.machine()


def cores():
    """That this process may use."""
    return len(os.sched_getaffinity(0))


def commit(folder):
    return output_of("git", "-C", str(folder), "rev-parse", "--short", "HEAD").strip()


def sha256(path):
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise Trouble(f"{path}: the deck cannot be read: {error.strerror}") from None
