"""Tables as bytes, for tests of reading and writing."""

import bz2
import gzip
import io
import zipfile

from estimators.cli.tables import read_table, write_table

TEXT = 'id,text\r\n1,"Is tea ""hot"",\r\nor not?"\r\n\r\n2,Où est l’été?\r\n'
ROWS = [["1", 'Is tea "hot",\r\nor not?'], ["2", "Où est l’été?"]]
ODD = ["", " ", " lead and trail ", '"', '""', "'", ",", ";", "\t", "a\nb", "a\r\nb", "a\rb", "\n",
       "\r", "=1+1", "+1", "-1", "@x", "\ufeff", "\x1a", "\u2028\u0085\x0b\x0c\x1c", "é😀質",
       "null", "{", "[1]", "\\", '\\"', "#", "x" * 200]  # fmt: skip


def given(folder, data, name="own.csv"):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def read(data, encoding=None):
    """Read from a stream of bytes, that has no name and no suffix."""
    raw = data if isinstance(data, bytes) else data.encode()
    return read_table(io.BytesIO(raw), encoding=encoding)


def written(columns, rows, **options):
    """The text that is written to a stream."""
    handle = io.StringIO(newline="")
    write_table(handle, columns, rows, **options)
    return handle.getvalue()


def zipped(members, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def packed(data, suffix, name="own.csv"):
    """Compress as other programs do."""
    if suffix == ".zip":
        return zipped({name: data, "__MACOSX/._own.csv": b""}, zipfile.ZIP_DEFLATED)
    return {".gz": gzip.compress, ".bz2": bz2.compress, "": bytes}[suffix](data)
