"""Load a language model, or an adapter on one, only with all of its weights.

transformers and peft fill in weights that a file lacks, with random numbers or with an adapter that
changes nothing, and only print that they did.
"""

import warnings
from pathlib import Path
from typing import Any

from userturn.models.weight_files import AGAIN, BrokenWeightsError


def whole_model(folder: str | Path, **settings: Any) -> Any:
    """Return a causal language model, with the settings of `from_pretrained`.

    Raises:
        BrokenWeightsError: the folder lacks weights of the architecture that its config.json names.
    """
    from transformers import AutoModelForCausalLM

    model, about = AutoModelForCausalLM.from_pretrained(
        folder, **settings, output_loading_info=True
    )
    missing = sorted(about["missing_keys"])
    if missing:
        raise BrokenWeightsError(
            f"model folder '{folder}' lacks {len(missing)} of the weights that its architecture "
            f"has, such as '{missing[0]}', which would be random numbers; {AGAIN}"
        )
    return model


def adapted(model: Any, adapter: Path) -> Any:
    """Return a model with a LoRA adapter on it; needs peft.

    Raises:
        BrokenWeightsError: the adapter lacks weights for a part of the model that its config names.
    """
    from peft import PeftModel

    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Found missing adapter keys")
        try:
            return PeftModel.from_pretrained(model, adapter)
        except UserWarning as error:
            raise BrokenWeightsError(
                f"adapter '{adapter}' lacks weights that its config puts on the base model, so it "
                "would leave parts of that as they are; fetch it again, or correct the base in "
                "its adapter_config.json"
            ) from error
