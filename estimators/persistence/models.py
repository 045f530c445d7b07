"""Save and load models in files that contain data and type names, never code."""

from __future__ import annotations

import io
import json
import os
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path, PurePath
from typing import Any

from scipy.interpolate import BSpline
from sklearn.exceptions import InconsistentVersionWarning

from estimators.persistence.archive import (
    BUNDLE,
    FORMAT,
    HEADER,
    SCHEMA,
    TooLarge,
    digest_of,
    now,
    open_archive,
    versions,
)
from estimators.persistence.building import Builder, audit, listed
from estimators.persistence.folders import adopt_folder, is_bundle, moved_into, write_folder
from estimators.persistence.model_checks import (
    check_content,
    check_restorable,
    parameters_astray,
    parts_of,
)
from estimators.persistence.registry import read_as_today
from film.datasets import atomic_writer
from film.networks import checked_device
from film.text import printable_text


def compact_schema(schema: Any) -> Any:
    """Merge dicts and lists of plain values into one JSON entry each, and turn paths into texts.

    skops writes an entry of some 300 characters for every value of a container: a vocabulary of
    20,000 words becomes 40,000 entries, which dominate the loading time. From a single JSON entry,
    skops builds the same dict or list, and shared containers stay shared.

    Only containers of str, int, float, bool and None are merged, and dicts only if all keys are
    str.

    Examples
    --------
    >>> value = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
    >>> words = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    >>> texts = [value | {"content": '"tea"'}, value | {"content": '"milk"'}]
    >>> compact_schema(words | {"content": texts, "__id__": 7})["content"]
    '["tea", "milk"]'
    """
    if isinstance(schema, list):
        return [compact_schema(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("__loader__"), schema.get("__module__"), schema.get("__class__")
    content: Any = schema.get("content")
    plain: Any = None
    if kind[0] == "ConstructorFromReduceNode" and str(kind[2]).endswith("Path"):
        # A path of one operating system cannot be built on another, but its text can.
        plain = str(PurePath(*(json.loads(part["content"]) for part in content["content"])))
    if kind == ("ListNode", "builtins", "list") and _are_plain(content):
        plain = [json.loads(entry["content"]) for entry in content]
    elif kind == ("DictNode", "builtins", "dict") and _are_plain(content.values()):
        if all(_is_str(key) for key in schema["key_types"]["content"]):
            plain = {key: json.loads(entry["content"]) for key, entry in content.items()}
    if plain is None:
        return {name: compact_schema(entry) for name, entry in schema.items()}
    return {
        # This is the class of other JSON entries: skops takes the type from the content.
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(plain),
        "is_json": True,
        "__id__": schema["__id__"],
    }


def _are_plain(entries: Any) -> bool:
    return all(entry.get("__loader__") == "JsonNode" for entry in entries)


def _is_str(entry: dict[str, Any]) -> bool:
    kind = entry.get("__loader__"), entry.get("__module__"), entry.get("__class__")
    return kind == ("TypeNode", "builtins", "str")


# Settings that name a folder or file to read and write: models from others must not choose them,
# and a cache may hold pickles.
_PLACES = ("memory", "cache")
# This machine decides on the number of processes and threads.
_WORKERS = ("n_jobs", "n_threads")


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    metadata: Mapping[str, Any] | None = None,
    self_contained: bool = False,
) -> None:
    """Write a model to a file or folder that `load_model` reads without running its code.

    Parameters
    ----------
    model : estimator
        Fitted or not: estimators of this package, and pipelines and unions with the scikit-learn
        estimators that `load_model` trusts. The file contains all texts that the model stores.
    path : str or path-like
        File to create or replace, atomically; its folder must exist.
    metadata : mapping, default=None
        Information about the model, ready for JSON, such as its training data and quality.
        `read_metadata` returns it, with the class, the date and the versions of packages.
    self_contained : bool, default=False
        Whether to create a new folder that includes all dependencies: the transformers models of
        all parts, as safetensors and JSON, and the files that a `ContextModel` reads. A stack with
        trained encoders can then be moved, and loads without a network.

    Raises
    ------
    TypeError, ValueError
        If ``metadata`` is not valid JSON, or the model holds something that `load_model` would
        refuse or could not restore: an untrusted type or function (a lambda, categorical features
        in gradient boosting), weights that are not finite, a dict with keys other than str, int
        and float, metadata requests, or a two-dimensional array of objects other than texts and
        numbers; also if an estimator of this package has a public attribute that is not a
        parameter.
    OSError
        If the file cannot be written, as in `film.datasets.atomic_writer`; a missing or read-only
        folder raises the error before any work. FileExistsError if the ``path`` of a folder
        exists.

    See Also
    --------
    load_model : Reads the model.
    read_metadata : Metadata of a saved model.

    Notes
    -----
    The file is a zip archive in the format of skops 0.16 (JSON, and arrays in NumPy's format) with
    a header. A vocabulary of 40,000 words takes about a second.

    An estimator on a transformers model stores the model's name, the digest of its files and only
    the weights learned since. To load it, the model's own files must be unchanged. With
    ``self_contained``, and from `RCMDRegressor.save`, the folder contains them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.linear_model import LogisticRegression
    >>> from estimators.persistence import load_model, save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.film"
    ...     save_model(LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"]), path)
    ...     load_model(path).predict([[2.0]]).tolist()
    ['yes']
    """
    known = _as_json(metadata)
    if not self_contained:
        _write_archive(model, path, known)
        return

    def write(folder: Path) -> None:
        _write_archive(moved_into(model, folder), folder / BUNDLE, known)

    write_folder(path, write)


def _write_archive(model: Any, path: str | os.PathLike[str], known: dict[str, Any]) -> None:
    import skops.io

    with atomic_writer(path, "wb") as handle:
        buffer = io.BytesIO()
        try:
            # Before `parts_of` looks into a part, which may be an object of any package.
            for part in parts_of(model):
                if hasattr(type(part), "check_savable"):
                    part.check_savable()
                check_restorable(part)
                check_content(part)
                _check_own_attributes(part)
            skops.io.dump(model, buffer)
        except (TypeError, RecursionError) as error:
            what = "it refers to itself" if isinstance(error, RecursionError) else str(error)
            raise ValueError(
                f"model: this {type(model).__name__} cannot be saved: {what}; remove that part "
                "first (metadata requests are set again after loading)"
            ) from error
        with (
            zipfile.ZipFile(buffer) as dumped,
            zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            schema = compact_schema(json.loads(dumped.read(SCHEMA)))
            refused = audit(schema)
            if refused:
                raise ValueError(
                    f"model: load_model would refuse {listed(refused)}; replace them by "
                    "estimators of this package or common ones of scikit-learn"
                )
            header: dict[str, Any] = {
                "format": FORMAT,
                "versions": versions(),
                "date": now(),
                "metadata": known,
            }
            members = {name: dumped.read(name) for name in dumped.namelist()}
            members[SCHEMA] = json.dumps(schema).encode()
            header["digest"] = digest_of(header, members.items())
            members[HEADER] = json.dumps(header).encode()
            for name, content in members.items():
                archive.writestr(name, content)


def load_model(
    path: str | os.PathLike[str], *, max_size: int | None = None, device: str | None = None
) -> Any:
    """Read a model written by `save_model`, without running code from the file.

    Parameters
    ----------
    path : str or path-like
        The file, or the folder of a self-contained model.
    max_size : int, default=None
        Maximal number of bytes to unpack and to build from the file, counting Python objects, and
        arrays once per entry that uses them. None: 256 MiB, or 100 times the size of the file if
        that is more; models usually need 10 to 40 times.
    device : str, default=None
        Device for all transformers models in it: "cpu", "cuda". None is as below.

    Returns
    -------
    model : estimator
        As it was saved, except that every ``memory``, ``cache`` and ``n_jobs`` in
        it is None: a model from someone else must not choose folders to read and write or the
        number of processes. A ``device`` other than the CPU becomes None too, because it may not
        exist here.

    Raises
    ------
    FileNotFoundError
        If `path` does not exist.
    ImportError, ValueError
        If ``device`` is not available; raised before any work.
    ValueError
        If the file is not a model file (for instance a pickle), is damaged, has a later format,
        unpacks to more than the limit or than it declares, or has members that were not saved
        together. If it holds untrusted types; the message names them, and nothing is built. If
        building it would exceed the limit, or indices used by compiled code are out of range. If
        weights are not finite. If an estimator of this package lacks a current parameter, or has
        an unknown one, as in files of later versions. If a transformers model of a self-contained
        folder is missing or has changed; the message names the member that needs it.

    Warns
    -----
    UserWarning
        Once, if a newer film-metric or another minor version of scikit-learn wrote the file:
        results may differ.

    See Also
    --------
    save_model : Writes the file.

    Notes
    -----
    Trusted types are the estimators of this package and their parts, a list of scikit-learn
    estimators with their parts, plain containers, numbers, arrays, and `film.text.normalize_text`.
    Each kind of entry has its own list, so that an estimator's name is never called as a function.
    Indices that compiled code would not check (trees, sparse matrices, splines, vocabularies) are
    checked.

    A trusted model can still make wrong predictions on purpose: loading protects the machine, not
    the results. Reading takes at most 3 times ``max_size`` in memory.

    Examples
    --------
    >>> from estimators.persistence import load_model
    >>> load_model("no-such-file.film")
    Traceback (most recent call last):
    FileNotFoundError: path: there is no file 'no-such-file.film'; give a model file
    """
    if max_size is not None and not (isinstance(max_size, Integral) and max_size > 0):
        raise ValueError(f"max_size={max_size!r} must be an integer, 1 or more")
    if device is not None:
        checked_device(device)
    place = Path(path)
    if place.is_dir():
        path = place / BUNDLE if is_bundle(place) else place
    header, schema, archive = open_archive(path, max_size)
    refused = audit(schema)
    if refused:
        raise ValueError(
            f"{path} was refused: it holds {listed(refused)}, which load_model does not trust, "
            "because building objects of unknown types can run code; nothing was loaded. Load only "
            "model files, or ask for the data and fit the model yourself"
        )
    written = header["versions"]
    with _told_as_damage(path, written):
        with warnings.catch_warnings():
            # There would be one warning per part; the single warning below covers all.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            model = Builder(archive).build(schema)
        parts = list(parts_of(model))
        for part in parts:
            check_content(part)
        _restore(parts)
    _check_parameters(parts, path, written)
    adopt_folder(model, parts, place)
    for part in parts:
        if device is not None and hasattr(type(part), "move_to") and hasattr(part, "device"):
            part.device = device
    with _told_as_damage(path, written):
        for part in parts:
            if hasattr(type(part), "check_state"):
                part.check_state()
    for package, is_other in (("film-metric", _is_newer), ("scikit-learn", _is_other_minor)):
        theirs, ours = printable_text(str(written.get(package)), 40), versions()[package]
        if is_other(theirs, ours):
            warnings.warn(
                f"{path} was written with {package} {theirs}, this is {ours}: "
                "results may differ; fit and save the model again, or install that version",
                UserWarning,
                stacklevel=2,
            )
    return model


@contextmanager
def _told_as_damage(path: str | os.PathLike[str], written: Mapping[str, Any]) -> Iterator[None]:
    try:
        yield
    except (MemoryError, TooLarge):
        raise
    except Exception as error:  # damage and parts of other versions raise many kinds of errors
        theirs, ours = (
            " and ".join(
                f"{name} {printable_text(str(said.get(name)), 40)}"
                for name in ("film-metric", "scikit-learn")
            )
            for said in (written, versions())
        )
        raise ValueError(
            f"{path} was written with {theirs} and cannot be restored with {ours} "
            f"({type(error).__name__}: {printable_text(str(error), 500)}); it is damaged, or needs "
            "the versions it was "
            "written with: copy it again, or fit and save the model again"
        ) from error


def _check_parameters(
    parts: list[Any], path: str | os.PathLike[str], written: Mapping[str, Any]
) -> None:
    """Raise an error if a part has other parameters than its class has now."""
    for part in parts:
        lacked, unknown = parameters_astray(part)
        if not lacked and not unknown:
            continue
        kind = type(part).__name__
        told = [f"lacks the parameter {name!r}" for name in lacked]
        told += [f"has {name!r}, which is not a parameter here" for name in unknown]
        theirs = printable_text(str(written.get("film-metric")), 40)
        ours = versions()["film-metric"]
        raise ValueError(
            f"{path} was written with film-metric {theirs}, this is {ours}, and a {kind} in it "
            f"{' and '.join(told)}: its predictions would change; install film-metric {theirs}, or "
            "fit and save the model again"
        )


def _check_own_attributes(part: Any) -> None:
    """Raise an error if a part has an attribute that would be taken for a parameter."""
    for name in parameters_astray(part)[1]:
        raise ValueError(
            f"model: {type(part).__name__} has an attribute {name!r} that is not a parameter; "
            "delete it, and pass information about the model as metadata="
        )


def _is_newer(theirs: str, ours: str) -> bool:
    return _release(theirs) > _release(ours) > ()


def _is_other_minor(theirs: str, ours: str) -> bool:
    return theirs.split(".")[:2] != ours.split(".")[:2]


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version without its suffix; empty if it is unknown."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(number) for number in found[0].split(".")) if found else ()


def _restore(parts: list[Any]) -> None:
    """Restore what a file does not hold, and remove settings that must not come from a file."""
    for part in parts:
        read_as_today(part)
        state = getattr(part, "__dict__", {})
        for name in _PLACES:
            if state.get(name) is not None:
                setattr(part, name, None)
        for name in _WORKERS:
            if str(state.get(name)) not in ("None", "1"):
                setattr(part, name, None)
        if str(state.get("device")) not in ("None", "cpu"):
            # A GPU of another machine; None uses the devices available here.
            part.device = None
        if isinstance(part, BSpline):
            # The constructor checks knots against coefficients; evaluation does not.
            # Before version 1.17, scipy's names have no underscore.
            knots, coefficients = (
                state.pop(f"_{name}") if f"_{name}" in state else state.pop(name) for name in "tc"
            )
            sound = BSpline(knots, coefficients, state["k"], state["extrapolate"])
            state.update(vars(sound), axis=state["axis"])


def _as_json(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata={metadata!r} must be a dict, or None")
    try:
        return json.loads(json.dumps(dict(metadata), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"metadata cannot be written as JSON ({error}); give texts, finite numbers, booleans, "
            "None, and lists and dicts of them"
        ) from error
