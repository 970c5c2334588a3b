"""Where the public issues are that `Mistake.seen` names by repository and number."""

from __future__ import annotations

OWNERS = {
    "AttentionIsOFFByOne": "kyegomez",
    "LLMs-from-scratch": "rasbt",
    "Megatron-LM": "NVIDIA",
    "Modalities": "Modalities",
    "OLMo-core": "allenai",
    "TransformerEngine": "NVIDIA",
    "attention-gym": "meta-pytorch",
    "axlearn": "apple",
    "candle": "huggingface",
    "cascadia": "labscommunity",
    "detr": "facebookresearch",
    "executorch": "pytorch",
    "flash-attention": "Dao-AILab",
    "flashinfer": "flashinfer-ai",
    "gluon-nlp": "dmlc",
    "gpt-neox": "EleutherAI",
    "how-to-train-your-gpt": "raiyanyahya",
    "jax": "jax-ml",
    "keras-hub": "keras-team",
    "levanter": "marin-community",
    "meganeura": "kvark",
    "mlx": "ml-explore",
    "mlx-vlm": "Blaizzy",
    "nanoVLM": "huggingface",
    "nanotron": "huggingface",
    "onnx": "onnx",
    "onnxruntime-genai": "microsoft",
    "open_lm": "mlfoundations",
    "optimum-intel": "huggingface",
    "pie": "pie-project",
    "pytorch": "pytorch",
    "sglang": "sgl-project",
    "transformers": "huggingface",
    "unsloth": "unslothai",
    "vllm": "vllm-project",
    "vllm-gaudi": "vllm-project",
    "x-transformers": "lucidrains",
    "xFasterTransformer": "intel",
    "xformers": "facebookresearch",
}  # repository -> owner on GitHub


def link(seen: str) -> str:
    """Return the address of an issue "repository#number"; where the owner is not known the name as it is."""
    repository, _, number = seen.partition("#")
    owner = OWNERS.get(repository)
    return f"https://github.com/{owner}/{repository}/issues/{number}" if owner else seen
