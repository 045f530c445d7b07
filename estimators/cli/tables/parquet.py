"""Tables of Parquet, by pyarrow."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from typing import IO, Any

from estimators.cli.tables.sheets import check_library
from estimators.cli.tables.table import cell_text
from film.unpacking import size_limit

_TEXTS = ("NONE", "STRING", "JSON", "ENUM", "BSON")
_MOST_BYTES_OF_NUMBER = 16


def parse_parquet(data: bytes, source: str) -> tuple[list[str], list[list[Any]], list[int]]:
    """Return columns, rows and row numbers."""
    check_library("parquet", source)
    import pyarrow
    from pyarrow import parquet

    limit = size_limit(len(data))
    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(data))
        leaves = [file.schema.column(place) for place in range(len(file.schema))]
        texts = [
            leaf.path
            for leaf in leaves
            if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type in _TEXTS
        ]
        size = _declared(file.metadata, leaves)
        # A text that a thousand rows share is there once, until its length is known to be little.
        file = parquet.ParquetFile(pyarrow.BufferReader(data), read_dictionary=texts)
        values: list[list[Any]] = [[] for _ in file.schema_arrow.names]
        for group in range(file.metadata.num_row_groups if size <= limit else 0):
            for column, found in zip(values, file.read_row_group(group).columns, strict=True):
                size += sum(_size(chunk) for chunk in found.chunks)
                if size > limit:
                    break
                if pyarrow.types.is_dictionary(found.type):
                    found = found.cast(found.type.value_type)
                column += map(_plain, found.to_pylist())
        names = list(file.schema_arrow.names)
    except MemoryError:
        raise
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        raise ValueError(
            f"{source} is damaged, or not a Parquet table ({error}); copy or write it again"
        ) from error
    if size > limit:
        raise ValueError(
            f"{source} was refused: its {len(data):,} bytes unpack to more than {limit:,} bytes, "
            "the limit that protects the memory; if the file is really that large, write the "
            "columns that you need as CSV"
        )
    for name, column in zip(names, values, strict=True):
        wrong = next((row for row, value in enumerate(column, 1) if isinstance(value, bytes)), 0)
        if wrong:
            raise ValueError(
                f"{source}, row {wrong}: column {name!r} holds {column[wrong - 1][:20]!r}, "
                "bytes that are not UTF-8; write texts as strings"
            )
    rows = [list(row) for row in zip(*values, strict=True)]
    return names, rows, list(range(1, len(rows) + 1))


def _declared(metadata: Any, leaves: Sequence[Any]) -> int:
    """Return the declared size in bytes of a table, counting each distinct text once."""
    size = 0
    for group in range(metadata.num_row_groups):
        for place, leaf in enumerate(leaves):
            column = metadata.row_group(group).column(place)
            width = max(leaf.length or 0, _MOST_BYTES_OF_NUMBER)
            size += column.total_uncompressed_size
            size += column.num_values * width
    return size


def _size(array: Any) -> int:
    """Return the size in bytes of values after dictionary decoding."""
    import pyarrow
    from pyarrow import compute

    kind = array.type
    if pyarrow.types.is_dictionary(kind):
        functions: Any = compute
        lengths = functions.binary_length(array.dictionary).take(array.indices)
        return functions.sum(lengths.cast("int64")).as_py() or 0
    if pyarrow.types.is_struct(kind):
        return sum(_size(array.field(place)) for place in range(kind.num_fields))
    if pyarrow.types.is_nested(kind):
        return _size(array.values if hasattr(array, "values") else array.flatten())
    return 0


def write_parquet(handle: IO[bytes], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write typed columns; a column of mixed types becomes text."""
    import pyarrow
    from pyarrow import parquet

    arrays = []
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    for column in values:
        try:
            arrays.append(pyarrow.array(column))
        except (pyarrow.ArrowException, OverflowError):
            texts = [None if value is None else cell_text(value) for value in column]
            arrays.append(pyarrow.array(texts))
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays, names=list(columns)), buffer)
    handle.write(buffer.getbuffer())


def _plain(value: Any) -> Any:
    """Return None for NaN, and a text for bytes that are UTF-8, which some programs write."""
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    return value
