"""Measures of how much of a training is left in the model that is swept.

An adapter that is rounded into its base may lose most of what it learnt while its log looks well.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from userturn.models.whole_model import adapted, whole_model
from userturn.training.learnt_turns import IGNORED

N_ROWS = 32
MOST_TOKENS = 512  # of a row: three distributions over the vocabulary stand in memory for each
MOST_LOST = 0.05  # share of the change of log-probabilities; more is a finding of the audit


def kept_change(
    base: Path,
    adapter: Path,
    swept: Path,
    entry: Mapping[str, Any],
    rows: Sequence[Sequence[int]],
    held_out: Sequence[Mapping[str, Sequence[int]]] = (),
) -> dict[str, Any]:
    """Return how far a training moved its base, and how much of that change the swept model has.

    The first three are folders: of the base, of the adapter, and of the model that is swept. Of
    `rows`, token ids of conversations, the first `N_ROWS` count. `held_out` rows were not learnt.

    Returns:
        `n_rows`, and in nats per token `kl_adapter` and `kl_swept`, the divergence from the base of
        the adapter in fp32 and of the swept model. `lost` is the distance of the log-probabilities
        of adapter and swept model on the rows' tokens, as a share of that of adapter and base (null
        if that is 0). With held-out rows also `loss_before` and `loss_after`, the mean loss of
        their learnt tokens by the base and by the swept model, in nats per token.
    """
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    trained = adapted(whole_model(base, dtype="float32"), adapter).to(device).eval()
    measured = whole_model(swept, dtype=entry["dtype"]).to(device).eval()
    prefixes = [list(ids[:MOST_TOKENS]) for ids in rows[:N_ROWS] if len(ids) > 1]
    with torch.inference_mode():
        of_rows = [_sums(trained, measured, torch.tensor([ids], device=device)) for ids in prefixes]
        with trained.disable_adapter():
            before = _loss(trained, held_out, device)
        after = _loss(measured, held_out, device)
    n_tokens, kl_adapter, kl_swept, moved, lost = torch.stack(of_rows).sum(0).tolist()
    return {
        "n_rows": len(prefixes),
        "kl_adapter": kl_adapter / n_tokens,
        "kl_swept": kl_swept / n_tokens,
        "lost": (lost / moved) ** 0.5 if moved else None,
        **({"loss_before": before, "loss_after": after} if held_out else {}),
    }


def _loss(model: Any, rows: Sequence[Mapping[str, Sequence[int]]], device: str) -> float:
    import torch

    total, n = 0.0, 0
    for row in rows:
        labels = [label for label in row["labels"] if label != IGNORED]
        ids = torch.tensor([list(row["input_ids"])], device=device)
        logits = model(input_ids=ids, logits_to_keep=len(labels) + 1).logits[0, :-1].float()
        target = torch.tensor(labels, device=device)
        total += torch.nn.functional.cross_entropy(logits, target, reduction="sum").item()
        n += len(labels)
    return total / max(1, n)


def _sums(trained: Any, swept: Any, ids: Any) -> Any:
    """Return the sums over one row: tokens, two divergences, and two squared distances."""
    import torch

    with trained.disable_adapter():
        before = _log_probabilities(trained, ids)
    after, measured = _log_probabilities(trained, ids), _log_probabilities(swept, ids)
    next_ids = ids[0, 1:, None]
    b, a, m = (rows.gather(1, next_ids) for rows in (before, after, measured))
    divergences = [(rows.exp() * (rows - before)).sum() for rows in (after, measured)]
    distances = [(a - b).square().sum(), (m - a).square().sum()]
    return torch.stack([torch.tensor(len(next_ids)).to(b), *divergences, *distances])


def _log_probabilities(model: Any, ids: Any) -> Any:
    return model(input_ids=ids).logits[0, :-1].double().log_softmax(-1)
