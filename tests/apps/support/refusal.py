"""What a refusal says, apart from its wording: exit code, id, and the keys, positions and numbers in it."""
import re

ID = re.compile(r" \[([a-z]+(?:-[a-z]+)*)\]$", re.MULTILINE)


def ids_of(text):
    """The ids of all messages in `text`, in their order."""
    return ID.findall(text)


def require_refusal(result, error_id, *parts, code=2):
    """`result`, of a finished process, must have this exit code and one message, with this id and every part: a key, a
    position FILE:LINE, a name, a number."""
    said = f"exit code {result.returncode}\n{result.stdout}\n{result.stderr}"
    assert result.returncode == code, f"expected {code}: {said}"
    assert ids_of(result.stderr) == [error_id], f"expected once [{error_id}]: {said}"
    for part in parts:
        assert str(part) in result.stderr, f"expected {part}: {said}"
