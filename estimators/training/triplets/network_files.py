"""Save a fitted triplet network as a folder that names the frozen model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from estimators.encoders import TokenEncoder, write_folder
from estimators.persistence import REGRESSOR, drop_parameters, now, versions
from estimators.training.saving import check_local_folder, plain
from estimators.training.triplets.token_states import fitted_encoder

FORMAT = 1
WEIGHTS = "triplet_network.safetensors"
LEFT_OUT = {"checkpoint", "device", "random_state", "encoder"}
"""Parameters that are not saved with the others."""
OF_ENCODER = ("model", "max_length", "batch_size", "dtype")


def write_network(path: Any, model: Any) -> None:
    """Write a fitted `TripletNetwork` to a new folder, atomically."""
    from safetensors.numpy import save_file

    encoder, params = model.encoder_, model.get_params(deep=False)
    known = None
    if encoder is not None:
        own = {name: plain(name, getattr(encoder, name)) for name in OF_ENCODER}
        known = {"params": own, "digest": encoder.model_digest_}
    said = {
        "format": FORMAT,
        "class": type(model).__name__,
        "date": now(),
        "versions": versions(),
        "params": {n: plain(n, value) for n, value in params.items() if n not in LEFT_OUT},
        "encoder": known,
        "token_width": model.token_width_,
        "n_triplets": model.n_triplets_,
        "loss_curve": model.loss_curve_,
        "scores": [list(score) for score in model.scores_],
    }
    text = json.dumps(said, indent=1, allow_nan=False)

    def write(folder: Path) -> None:
        save_file(model.weights_, folder / WEIGHTS)
        (folder / REGRESSOR).write_text(text, encoding="utf-8")

    write_folder(path, write)


def read_network(kind: type, path: Any, params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return an unfitted `TripletNetwork` and the fitted attributes that `write_network` saved.

    ``params`` override saved parameters.

    Raises
    ------
    FileNotFoundError, ValueError
        If nothing was saved there, it is damaged or has another class or version, a parameter does
        not exist, or the frozen model is missing or differs from that of the fit.
    """
    from safetensors.numpy import load_file

    check_local_folder(path)
    folder = Path(path).expanduser()
    if not (folder / REGRESSOR).is_file():
        raise FileNotFoundError(f"{folder} has no {REGRESSOR}: it is not a saved {kind.__name__}")
    try:
        said = json.loads((folder / REGRESSOR).read_text(encoding="utf-8"))
        if said["class"] != kind.__name__:
            raise ValueError(f"it is a {said['class']}, not a {kind.__name__}")
        if said["format"] != FORMAT:
            raise ValueError(f"format {said['format']!r} is not supported by this version")
        drop_parameters(kind.__name__, said["params"])
        known = said["encoder"]
        kept = said["params"] | {"channels": tuple(said["params"]["channels"])}
        if known is not None:
            kept["encoder"] = TokenEncoder(**known["params"])
        model = kind(**kept | params)
        learned = {
            "weights_": load_file(folder / WEIGHTS),
            "token_width_": int(said["token_width"]),
            "n_triplets_": int(said["n_triplets"]),
            "loss_curve_": list(said["loss_curve"]),
            "scores_": [tuple(score) for score in said["scores"]],
        }
        digest = None if known is None else str(known["digest"])
    except MemoryError:
        raise
    except Exception as error:  # a damaged file or a wrong parameter can raise many types
        raise ValueError(f"{folder} cannot be used ({type(error).__name__}: {error})") from error
    encoder = None
    if digest is not None:
        encoder = fitted_encoder(model.encoder, model.length)
        if encoder.model_digest_ != digest:
            raise ValueError(
                f"the files of model={encoder.model!r} are not those that the network in {folder} "
                "was trained on; give encoder=TokenEncoder(...) with those files, or fit again"
            )
    return model, learned | {"encoder_": encoder}
