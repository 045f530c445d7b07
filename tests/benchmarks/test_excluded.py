import hashlib
import re

import pytest

from benchmarks.data.excluded import read_excluded, text_hash


def test_hashes_are_read_in_any_case_with_any_line_ends(tmp_path):
    path = tmp_path / "exclude.txt"
    path.write_bytes(b"\xef\xbb\xbf0123456789ABCDEF\r\n\nfedcba9876543210")
    assert read_excluded(path) == {"0123456789abcdef", "fedcba9876543210"}


@pytest.mark.parametrize("line", [b"not a hash", b"0123456789abcde", b"0123456789abcdef0", b"\xff"])
def test_a_list_that_is_no_list_of_hashes(tmp_path, line):
    (tmp_path / "exclude.txt").write_bytes(b"0123456789abcdef\n" + line + b"\n")
    with pytest.raises(ValueError, match=r"exclude.txt, line 2: .* is not a hash of 16"):
        read_excluded(tmp_path / "exclude.txt")


def test_hash_is_of_the_ascii_rule():
    expected = hashlib.sha1(b"what s the best way to learn c").hexdigest()[:16]
    assert text_hash("  What's the BEST way_to learn C++?") == expected
    assert re.fullmatch("[0-9a-f]{16}", text_hash("什么 \ud800"))
    assert text_hash("naïve") == text_hash("na ve") != text_hash("naive")
