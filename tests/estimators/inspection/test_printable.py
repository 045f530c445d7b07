from estimators.inspection.printable import printable_text


def test_lengths():
    assert printable_text("abcde", 5) == "abcde"
    assert printable_text("abcdef", 5) == "abcd…"


def test_scripts_stay_and_controls_do_not():
    assert printable_text("می\u200cخواهم क्\u200dष 東京 é", 50) == "می\u200cخواهم क्\u200dष 東京 é"
    assert printable_text("a\tb\u3000c\u00a0d", 50) == "a b c d"
    assert printable_text("\x00\x9b\u202e\ud800", 50) == r"\x00\x9b\u202e\ud800"
