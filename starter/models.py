"""The starter's two models in training: initial weights, growth and losses."""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from starter.loop import Windows
from starter.tokenizer import CONTEXT, save_tokenizer

Shape = dict[str, int]


def shape(hidden: int, inner: int, layers: int, heads: int, key_heads: int) -> Shape:
    return {
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "head_dim": 64,
    }


def told_shape(its: Shape) -> str:
    heads, key_heads = its["num_attention_heads"], its["num_key_value_heads"]
    return f"{its['hidden_size']}, {its['num_hidden_layers']}, {heads} ({key_heads})"


def build_model(shape: Shape, vocabulary: int, seed: int) -> LlamaForCausalLM:
    """Make an untrained Llama. Each layer starts as the identity: its last matrices are zero."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        **shape,
        vocab_size=vocabulary,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
        attn_implementation="sdpa",
    )
    model = LlamaForCausalLM(config)
    for layer in model.model.layers:
        torch.nn.init.zeros_(layer.self_attn.o_proj.weight)
        torch.nn.init.zeros_(layer.mlp.down_proj.weight)
    return model


@torch.no_grad()
def grown(young: LlamaForCausalLM, grown_up: LlamaForCausalLM) -> LlamaForCausalLM:
    """Copy a model into one with more layers that gives the same output: added layers begin as the identity.

    The new layers stand between the old ones, away from both ends, and start with the weights of the layer below.
    """
    old = young.model.layers
    extra = len(grown_up.model.layers) - len(old)
    followed = set(range((len(old) - extra) // 2, (len(old) - extra) // 2 + extra))  # old layers with a new one above
    grown_up.load_state_dict({**grown_up.state_dict(), **without_layers(young)})
    above = iter(grown_up.model.layers)
    for number, layer in enumerate(old):
        next(above).load_state_dict(layer.state_dict())
        if number in followed:
            added = next(above)
            added.load_state_dict(layer.state_dict())
            added.self_attn.o_proj.weight.zero_()
            added.mlp.down_proj.weight.zero_()
    return grown_up


def without_layers(model: LlamaForCausalLM) -> dict[str, Tensor]:
    return {name: weight for name, weight in model.state_dict().items() if ".layers." not in name}


@torch.no_grad()
def adopting_embeddings(draft: LlamaForCausalLM, target: LlamaForCausalLM) -> LlamaForCausalLM:
    """Set the draft's embeddings to the best approximation of the target's that its width allows.

    They are scaled down: embeddings also make the logits, and an untrained model should not be sure of anything.
    """
    u, s, _ = torch.linalg.svd(target.model.embed_tokens.weight.float(), full_matrices=False)
    embeddings = (u * s)[:, : draft.config.hidden_size]
    draft.model.embed_tokens.weight.copy_(0.05 * embeddings / embeddings.std())
    return draft


def next_token_loss(model: LlamaForCausalLM, batch: Tensor) -> Tensor:
    """Cross entropy of every next token, in bf16 where precision does not matter."""
    with torch.autocast(batch.device.type, torch.bfloat16):
        logits = model(input_ids=batch[:, :-1], use_cache=False).logits
    return F.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten())


@torch.no_grad()
def held_out_loss(model: LlamaForCausalLM, tokens: np.ndarray) -> float:
    """Return the mean loss per token on 64 held-out windows, always the same."""
    length = min(512, len(tokens) - 1)
    windows = Windows(tokens, seed=0)
    losses = [next_token_loss(model, windows.batch(i, 8, length).to(model.device)) for i in range(8)]
    return float(torch.stack(losses).mean())


def save_checkpoint(model: LlamaForCausalLM, tokenizer: Tokenizer, folder: Path) -> None:
    """Write an ordinary checkpoint with its tokenizer."""
    plain = LlamaForCausalLM(model.config)
    plain.load_state_dict(model.state_dict())
    plain.to(torch.bfloat16).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
