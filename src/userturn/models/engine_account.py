"""The account of an engine for a job's record: vLLM's model runner, kernels, CUDA and driver.

None of it is part of a request's identity: a text of an H100 is not asked again on an H200. But
vLLM 0.32 has two model runners, V1 on CPUs and V2 where Triton is, with samplers of their own, so
that texts at temperatures above 0 differ. A study that has texts of both says so.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DRIVER = Path("/proc/driver/nvidia/version")

Account = Mapping[str, Any]
_noted: list[Account] = []  # of the engines that this process has loaded


def note_engine(account: Account) -> None:
    """Keep the account of an engine in this process, for the record of its job."""
    _noted.append(account)


def noted_engines() -> list[Account]:
    """Return the accounts of the engines that have run in this process."""
    return list(_noted)


def vllm_account(llm: Any) -> Account:
    """Return the account of a model that vLLM has loaded.

    Kernels are those of the layers in this process. If workers have the layers, they are the
    requested kernels, mostly `auto`.
    """
    config = llm.llm_engine.vllm_config
    layers = list(config.compilation_config.static_forward_context.values())
    attention = {
        layer.attn_backend.get_name() for layer in layers if hasattr(layer, "attn_backend")
    }
    experts = {experts_of_layer for layer in layers if (experts_of_layer := _experts(layer))}
    return {
        "name": "vllm",
        "runner": "V2" if config.use_v2_model_runner else "V1",
        "attention": _listed(attention, config.attention_config.backend),
        "experts": _listed(experts, config.kernel_config.moe_backend),
        **platform_account(),
    }


def transformers_account(model: Any) -> Account:
    """Return the account of a model that transformers has loaded."""
    attention = model.config.get_text_config(decoder=True)._attn_implementation
    return {"name": "transformers", "attention": attention, **platform_account()}


def platform_account() -> Account:
    """Return the device, and on a GPU the versions of CUDA and of its driver."""
    import torch

    if not torch.cuda.is_available():
        return {"device": "cpu"}
    match = re.search(r"\s(\d+\.\d[\d.]*)", DRIVER.read_text()) if DRIVER.is_file() else None
    return {
        "device": torch.cuda.get_device_name(),
        "cuda": torch.version.cuda,
        "driver": match[1] if match else None,
    }


def _experts(layer: Any) -> str:
    """Return the kernel by which a vLLM layer multiplies with its experts, empty if it has none."""
    method = getattr(getattr(layer, "routed_experts", None), "quant_method", None)
    if method is None:
        return ""
    backends = [str(value) for name, value in vars(method).items() if name.endswith("_backend")]
    return " ".join([type(method).__name__, *backends])


def _listed(values: Iterable[str], requested: Any) -> str:
    return ", ".join(sorted(values)) or str(requested or "auto")
