"""Texts come in as they were encoded, or are refused with the line and the encoding."""

import gzip
import io
import os
from typing import Any

import pytest

from estimators.cli.tables import read_table
from tests.estimators.cli.tables.tables import ROWS, TEXT, given, read


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("gzipped", [False, True])
@pytest.mark.parametrize("how", ["path", "text", "stream", "dash"])
def test_encodings_of_excel(tmp_path, monkeypatch, encoding, gzipped, how):
    raw = TEXT.encode(encoding)
    raw = gzip.compress(raw) if gzipped else raw
    path = given(tmp_path, raw, "own.csv.gz" if gzipped else "own.csv")
    source: Any = {"path": path, "text": str(path), "stream": io.BytesIO(raw), "dash": "-"}[how]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="ascii"))
    table = read_table(source)
    assert table.columns == ["id", "text"] and table.rows == ROWS
    assert table.encoding == encoding and table.format == "csv"
    assert read_table(path, encoding=table.encoding).rows == ROWS
    if encoding != "cp1252":
        assert table.notes == []
        return
    (note,) = table.notes
    name = {"stream": "the stream", "dash": "standard input"}.get(how, str(path))
    assert note.startswith(f"{name} is not UTF-8 (line 5), so it was read as Windows-1252")
    assert "'ù'" in note


def test_utf16_of_either_byte_order():
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        assert read(mark + TEXT.encode(encoding)).rows == ROWS
        assert read(TEXT.encode(encoding), encoding=encoding).rows == ROWS
        assert read(mark + TEXT.encode(encoding), encoding=encoding).columns == ["id", "text"]


def test_marks_and_streams(tmp_path):
    assert read("\ufeff" + TEXT, encoding="utf-8").columns == ["id", "text"]
    path = given(tmp_path, TEXT.encode("cp1252"))
    with open(path, "rb") as handle:
        table = read_table(handle)
    assert (table.rows, table.encoding, table.source) == (ROWS, "cp1252", str(path))
    with open(os.open(path, os.O_RDONLY), "rb") as handle:
        assert read_table(handle).source == "the stream"


def test_an_encoding_given_is_used_and_wins_over_the_mark():
    assert read("id\né\n", encoding="cp1252").rows == [["Ã©"]]
    assert read("id\nテスト\n".encode("shift_jis"), encoding="shift_jis").rows == [["テスト"]]
    assert read(b"\xef\xbb\xbfid\na\n", encoding="cp1252").columns == ["ï»¿id"]


MIXED = b"id,text\n1,caf\xe9\n2,plain\n3,caf\xc3\xa9\n"


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"id\r\na\r\n\xe9\r\n", "utf-8", "the stream, line 3: byte 0xe9 is not utf-8; give the"),
        ("id\né\n", "ascii", "line 2: byte 0xc3 is not ascii"),
        ("id\na\n", "utf-9", r"encoding='utf-9' is unknown .*use for instance 'utf-8'"),
        *(("a\né.\n", name, "encoding=") for name in ("undefined", "hex", "x\0y", "", "rot13")),
        ("id\na\n".encode("utf-16"), "utf-8", "line 1: byte 0xff is not utf-8;"),
        (b"\xef\xbb\xbfid\na\n\xe9\n", None, "line 3: byte 0xe9 is not utf-8-sig"),
        ("id\na\nb".encode("utf-16") + b"\x00", None, r"line 3: .* is not utf-16"),
        (b"id\n\xe9\n\x81\n", None, "line 3: byte 0x81 is neither UTF-8 nor Windows-1252"),
        (MIXED, None, r"mixes encodings: line 2 holds byte 0xe9 \('é' in Windows-1252\)"),
        (
            MIXED,
            None,
            "but line 4 holds 'é' in UTF-8; correct either .*encoding='cp1252'",
        ),
        *(
            (
                b"id\n" + sequence.encode() + b"\n\xe9,\n",
                None,
                f"line 2 holds {sequence!r} in UTF-8",
            )
            for sequence in ("é", "質", "😀")
        ),
    ],
)
def test_bytes_that_are_not_of_the_encoding_are_named_with_their_line(data, encoding, message):
    with pytest.raises(ValueError, match=message):
        read(data, encoding)


def test_lone_parts_of_utf8_sequences_do_not_speak_for_utf8():
    # "É, ä and ð": each would begin a sequence that does not go on.
    assert read("id\nÉ\nä€a\nðŸa\n".encode("cp1252")).encoding == "cp1252"
    assert read(MIXED, encoding="cp1252").rows[2] == ["3", "cafÃ©"]


SCRIPTS = {
    "gbk": ("gb18030", ["如何重置我的密码", "怎样才能重设密码？"]),
    "big5": ("big5", ["如何重設我的密碼", "怎樣才能重設密碼？"]),
    "shift_jis": ("cp932", ["パスワードを再設定するには", "注文はどこですか"]),
    "euc_jp": ("euc_jp", ["パスワードを再設定するには", "注文はどこですか"]),
    "euc_kr": ("cp949", ["비밀번호를 어떻게 재설정하나요", "주문은 어디에 있나요"]),
    "cp1251": ("cp1251", ["Как сбросить пароль?", "ГДЕ МОЙ ЗАКАЗ?"]),
    "koi8_r": ("koi8_r", ["Как сбросить пароль?", "ГДЕ МОЙ ЗАКАЗ?"]),
    "cp1253": ("cp1253", ["Πώς αλλάζω τον κωδικό μου;", "Πού είναι η παραγγελία μου;"]),
    "cp1255": ("cp1255", ["איך אני מאפס את הסיסמה שלי", "איפה ההזמנה שלי"]),
    "cp1256": ("cp1256", ["كيف يمكنني تغيير كلمة المرور", "أين طلبي"]),
    "cp874": ("cp874", ["ฉันจะเปลี่ยนรหัสผ่านได้อย่างไร", "คำสั่งซื้อของฉันอยู่ที่ไหน"]),
}


@pytest.mark.parametrize("n_before", [0, 9])
@pytest.mark.parametrize("encoding", SCRIPTS)
def test_an_encoding_of_another_script_is_named(encoding, n_before):
    name, texts = SCRIPTS[encoding]
    data = b"id,text\n" + b"1,a\n" * n_before
    # Beyond 64 kB, where a character may be cut.
    data += "".join(f"2,{text}\n" for text in texts * (n_before * 300 + 1)).encode(encoding)
    with pytest.raises(ValueError, match=f"looks like {name}; give encoding='{name}'"):
        read(data)
    rows = read(data, encoding=name).rows
    assert [text for _, text in rows[n_before : n_before + 2]] == texts


@pytest.mark.parametrize(
    "text",
    [
        "Où est ma commande passée à Noël?",
        "I can’t “reset” it – it’s “broken”, don’t you see",
        "é ½ £ ° ñ ü ß ® à ç ö",
        "Hvor er min ordre på æbler, øl og brød? Må jeg ændre på det?",
        "Für größere Äpfel müssen wir öfter die Straße übers Öl führen",
    ],
)
def test_latin_letters_of_windows_are_still_read(text):
    table = read(f"id\ttext\n1\t{text}\n".encode("cp1252"))
    assert (table.encoding, table.rows) == ("cp1252", [["1", text]])
