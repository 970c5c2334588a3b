"""What transformers computes: the output of every module, the gradient of every output and of every weight."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers

from .model import folder

transformers.utils.logging.disable_progress_bar()


class Recorded(NamedTuple):
    """Arrays by the names of torch's modules and parameters."""

    outputs: dict[str, np.ndarray]
    cotangents: dict[str, np.ndarray]  # of the outputs
    gradients: dict[str, np.ndarray]  # of the weights


def load_theirs(attention: str = "sdpa") -> Any:
    """Return transformers' own model in float32, without dropout; attention: "sdpa" or "eager"."""
    return transformers.BertModel.from_pretrained(folder(), attn_implementation=attention, dtype=torch.float32).eval()


def record(model: Any, ids: np.ndarray, keep: np.ndarray) -> Recorded:
    """Run forward, and backward from the cosine between the first two sentences' mean vectors."""
    outputs: dict[str, Any] = {}

    def hook(name: str) -> Any:
        def note(module: Any, given: Any, result: Any) -> None:
            tensor = result[0] if isinstance(result, tuple) else result
            if isinstance(tensor, torch.Tensor):
                tensor.retain_grad()
                outputs[name] = tensor

        return note

    handles = [module.register_forward_hook(hook(name)) for name, module in model.named_modules() if name]
    mask = torch.tensor(keep)
    states = model(input_ids=torch.tensor(ids), attention_mask=mask.long()).last_hidden_state
    means = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)  # (B, C)
    torch.cosine_similarity(means[0], means[1], dim=0).backward()
    for handle in handles:
        handle.remove()
    return Recorded(
        {name: tensor.detach().numpy() for name, tensor in outputs.items()},
        {name: tensor.grad.numpy() for name, tensor in outputs.items() if tensor.grad is not None},
        {name: weight.grad.numpy() for name, weight in model.named_parameters() if weight.grad is not None},
    )
