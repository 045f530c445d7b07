"""Page of labels that are probably wrong."""

from __future__ import annotations

from typing import Any

from estimators.inspection.pages.base import escaped, whole_page
from film.judge import describe_differences


def suspicious_page(suspicious: Any, pairs: Any, y: Any, names: list[str]) -> str:
    """Return a page of suspicious labels, the most suspicious first.

    Parameters
    ----------
    suspicious : SuspiciousLabels
        Those to show.
    pairs : array-like of str, shape (n_pairs, 2)
        All pairs.
    y : array-like of shape (n_pairs,)
        All labels.
    names : list of str
        Name of each pair, such as its line.

    Returns
    -------
    html : str
        For `estimators.inspection.write_page`. It needs no script and loads nothing; all texts are
        escaped.
    """
    rows = suspicious.rows.tolist()
    first, second = ([pairs[row][side] for row in rows] for side in (0, 1))
    blocks = [f"<p>{len(rows)} labels, the most suspicious first.</p>"]
    for place, (row, difference) in enumerate(
        zip(rows, describe_differences(first, second), strict=True)
    ):
        others = [
            _labelled(pairs[other], y[other], names[other]) for other in suspicious.chains[place]
        ]
        against = (
            f"<p>contradicted by</p><ul>{''.join(f'<li>{each}</li>' for each in others)}</ul>"
            if others
            else ""
        )
        blocks.append(
            f"<h2>{place + 1}. {escaped(names[row])}</h2>\n"
            f"<p>{_labelled(pairs[row], y[row], '')}</p>\n"
            f"<p>{escaped(difference)}; probability of a duplicate "
            f"{suspicious.probabilities[place]:.2f}; suspicion {suspicious.suspicions[place]:.2f}"
            f"</p>\n{against}"
        )
    return whole_page("Suspicious labels", "\n".join(blocks))


def _labelled(pair: Any, label: Any, name: str) -> str:
    a, b = (f'<span dir="auto">{escaped(str(text))}</span>' for text in pair)
    place = f" ({escaped(name)})" if name else ""
    return f"labelled <b>{escaped(str(label))}</b>{place}:<br>{a}<br>{b}"
