"""Describe the estimated precision and recall of scores."""

from __future__ import annotations

from film.judge import ExpectedPrecision

_SHOWN = (0.2, 0.4, 0.6, 0.8, 0.9)


def expected_lines(
    expected: ExpectedPrecision | None, chosen: float, is_by_group: bool = False
) -> list[str]:
    """Describe the chosen threshold and some others; nothing if there is no estimate.

    ``is_by_group`` says that the result lists groups, whose pairs may have lower scores.
    """
    if expected is None:
        return []
    every = [(threshold, expected.at(threshold)) for threshold in sorted({chosen, *_SHOWN})]
    n_chosen = expected.at(chosen)["pairs"]
    # Thresholds of different numbers of pairs; the chosen one among equal ones.
    shown = {at["pairs"]: (threshold, at) for threshold, at in every if at["pairs"] != n_chosen}
    shown[n_chosen] = chosen, expected.at(chosen)
    shown.pop(0, None)
    if not shown:
        return []
    of = ", for pairs and not for groups" if is_by_group else ""
    lines = [f"estimates from the scores alone{of}, with 90 % intervals; copies do not count:"]
    for threshold, at in sorted(shown.values(), key=lambda pair: pair[0]):
        lines.append(
            f"from {threshold:.2f}{' (chosen)' if threshold == chosen else ''}: {at['pairs']} "
            f"pairs, precision {_percent(at['precision'], at['precision_interval'])}, recall "
            f"{_percent(at['recall'], at['recall_interval'])}"
        )
    return lines


def _percent(value: float, interval: tuple[float, float]) -> str:
    low, high = (f"{100 * end:.0f}" for end in interval)
    return f"{100 * value:.0f} % ({low}–{high} %)"
