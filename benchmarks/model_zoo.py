"""Transformers models with random weights and their calls: the rows of `models.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch

Phase: TypeAlias = Literal["prefill16", "prefill128", "decode", "whole"]
PHASES: tuple[Phase, ...] = ("prefill16", "prefill128", "decode", "whole")
CACHE = 512
"""Positions of the static cache in the decode phase."""
VOCABULARY = 512


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes that all models share."""

    width: int
    heads: int
    kv_heads: int
    inner: int
    layers: int = 2

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.width // self.heads


FULL = Size(1024, 16, 4, 2816)
SMALL = Size(128, 4, 2, 352)


@dataclass(frozen=True, slots=True)
class Model:
    """How to build one model, and which phases it has."""

    build: Callable[[Size], Any]
    kind: Literal["decoder", "encoder", "audio", "image", "t5"]

    @property
    def phases(self) -> tuple[Phase, ...]:
        """A decoder has a decode phase; models of images and sound have one size of input."""
        match self.kind:
            case "decoder":
                return ("prefill16", "prefill128", "decode")
            case "encoder" | "t5":
                return ("prefill16", "prefill128")
            case "audio" | "image":
                return ("whole",)


def _llm(architecture: str, **more: Any) -> Callable[[Size], Any]:
    """A causal language model with the argument names of Llama's configuration."""

    def build(size: Size) -> Any:
        import transformers

        text = getattr(transformers, f"{architecture}TextConfig", None)
        config = text or getattr(transformers, f"{architecture}Config")
        chosen = config(
            vocab_size=VOCABULARY,
            hidden_size=size.width,
            intermediate_size=size.inner,
            num_hidden_layers=size.layers,
            num_attention_heads=size.heads,
            num_key_value_heads=size.kv_heads,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            **{"head_dim": size.head_dim, **more},
        )
        return getattr(transformers, f"{architecture}ForCausalLM")(chosen)

    return build


def _encoder(architecture: str, **more: Any) -> Callable[[Size], Any]:
    """A model with the argument names of BERT's configuration."""

    def build(size: Size) -> Any:
        import transformers

        config = getattr(transformers, f"{architecture}Config")(
            hidden_size=size.width,
            intermediate_size=size.inner,
            num_hidden_layers=size.layers,
            num_attention_heads=size.heads,
            **more,
        )
        return getattr(transformers, f"{architecture}Model")(config)

    return build


def _gpt2(size: Size) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(vocab_size=VOCABULARY, n_embd=size.width, n_inner=size.inner, n_layer=size.layers, n_head=size.heads)
    )


def _whisper(size: Size) -> Any:
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(
        d_model=size.width,
        encoder_layers=size.layers,
        encoder_attention_heads=size.heads,
        encoder_ffn_dim=size.inner,
        decoder_layers=1,
        decoder_attention_heads=size.heads,
        decoder_ffn_dim=size.inner,
        max_source_positions=64,
        vocab_size=VOCABULARY,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    return WhisperModel(config).encoder


def _t5(size: Size) -> Any:
    from transformers import T5Config, T5EncoderModel

    return T5EncoderModel(
        T5Config(
            vocab_size=VOCABULARY,
            d_model=size.width,
            d_kv=size.head_dim,
            d_ff=size.inner,
            num_layers=size.layers,
            num_heads=size.heads,
        )
    )


def _mamba(size: Size) -> Any:
    from transformers import MambaConfig, MambaForCausalLM

    return MambaForCausalLM(
        MambaConfig(vocab_size=VOCABULARY, hidden_size=size.width, num_hidden_layers=size.layers, use_cache=False)
    )


MODELS: Mapping[str, Model] = {
    "llama": Model(_llm("Llama"), "decoder"),
    "qwen3": Model(_llm("Qwen3"), "decoder"),
    "gemma": Model(_llm("Gemma"), "decoder"),
    "gemma3": Model(_llm("Gemma3"), "decoder"),
    "olmo2": Model(_llm("Olmo2"), "decoder"),
    "phi3": Model(_llm("Phi3"), "decoder"),
    "mixtral": Model(_llm("Mixtral", num_local_experts=4), "decoder"),
    "gpt2": Model(_gpt2, "decoder"),
    "bert": Model(_encoder("Bert", vocab_size=VOCABULARY), "encoder"),
    "modernbert": Model(
        _encoder(
            "ModernBert",
            vocab_size=VOCABULARY,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            cls_token_id=1,
            sep_token_id=2,
        ),
        "encoder",
    ),
    "t5": Model(_t5, "t5"),
    "vit": Model(_encoder("ViT", image_size=64, patch_size=16), "image"),
    "whisper": Model(_whisper, "audio"),
    "mamba": Model(_mamba, "encoder"),
}


@dataclass(frozen=True, slots=True)
class Call:
    """A model and the arguments of one call; decoding gets a fresh copy of its cache for each."""

    model: Any
    arguments: Callable[[torch.dtype], dict[str, Any]]

    def run(self, code: Callable[..., Any], arguments: Mapping[str, Any]) -> torch.Tensor:
        """The logits or the last hidden state."""
        with torch.no_grad():
            found = code(**arguments)
        return found.logits if hasattr(found, "logits") else found.last_hidden_state

    def exact(self) -> torch.Tensor:
        """The result in float64, to which the model is changed."""
        if hasattr(self.model, "set_experts_implementation"):
            self.model.set_experts_implementation("eager")  # torch's grouped product takes no float64
        return self.run(self.model.double(), self.arguments(torch.float64))


def call_of(name: str, phase: Phase, size: Size, dtype: torch.dtype, batch: int = 1, seed: int = 0) -> Call:
    """One row: the model with random weights, and its arguments.

    Args:
        name: of `MODELS`.
        phase: one of the phases of the model.
        size: widths, heads and layers.
        dtype: of the weights.
        batch: sequences of a call.
        seed: for weights and arguments.
    """
    torch.manual_seed(seed)
    row = MODELS[name]
    model = row.build(size).eval().to(dtype)
    tokens = {"prefill16": 16, "prefill128": 128, "decode": 1, "whole": 0}[phase]
    if row.kind == "image":
        pixels = torch.randn(batch, 3, 64, 64)
        return Call(model, lambda kind: {"pixel_values": pixels.to(kind)})
    if row.kind == "audio":
        sound = torch.randn(batch, 80, 128)
        return Call(model, lambda kind: {"input_features": sound.to(kind)})
    ids = torch.randint(3, VOCABULARY, (batch, tokens))
    if phase != "decode":
        cache = {"use_cache": False} if row.kind == "decoder" or name == "mamba" else {}
        return Call(model, lambda _: {"input_ids": ids, **cache})
    before = torch.randint(3, VOCABULARY, (batch, 64))

    def decoding(kind: torch.dtype) -> dict[str, Any]:
        from transformers import StaticCache

        cache = StaticCache(config=model.config, max_cache_len=CACHE)
        with torch.no_grad():
            model.to(kind)(input_ids=before, past_key_values=cache, use_cache=True)
        return {"input_ids": ids, "past_key_values": cache, "use_cache": True}

    return Call(model, decoding)
