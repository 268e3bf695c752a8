"""Loading: a model folder becomes a runner and a tokenizer. Code that comes with a model is never run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError

from decoding.errors import BadCheckpoint, BadPrompt, DrafthouseError, OutOfMemory
from decoding.models.devices import free_bytes
from decoding.models.fast.runner import FastModel, FastRunner
from decoding.models.fast.weights import TensorFiles, weights_of
from decoding.models.files import read_json
from decoding.models.folder import ModelFolder, inspect
from decoding.models.tokenizer_files import read_tokenizer_json
from decoding.models.transformers import TransformersModel, TransformersRunner

transformers.utils.logging.disable_progress_bar()  # the caller draws its own

GIB = 1024**3
MOST_PER_PARAMETER = 2  # parameters described by a config for each stored one: tied parameters are stored once
MOST_PER_BYTE = 8  # parameters per byte of quantized weights
LEAST_CONTEXT = 512  # with a shorter context a model is of no use, so loading reports that memory is short


class LoadedTokenizer:
    """Text to ids and back. It adds and hides nothing: decoding returns exactly what the ids say."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def encode(self, text: str) -> list[int]:
        with _told_in_words(BadPrompt, "The tokenizer cannot read this text"):
            ids: list[int] = self.inner.encode(text, add_special_tokens=False)
        return ids

    def decode(self, tokens: Sequence[int]) -> str:
        with _told_in_words(BadPrompt, "The tokenizer cannot write these tokens"):
            text: str = self.inner.decode(list(tokens), clean_up_tokenization_spaces=False)
        return text


@dataclass(frozen=True)
class ModelTokens:
    """The part of a model that concerns tokens, without its weights."""

    tokenizer: LoadedTokenizer
    end_tokens: frozenset[int]


@dataclass(frozen=True)
class LoadedModel(ModelTokens):
    folder: ModelFolder
    runner: FastRunner | TransformersRunner


def load(
    folder: Path | str | ModelFolder,
    *,
    dtype: str = "auto",
    device: torch.device | None = None,
    context: int | None = None,
    runner: str = "auto",
) -> LoadedModel:
    """Load a model folder. `dtype` is auto, float32 or bfloat16. `context` limits the text; without it, the limit is
    what the model was made for and memory holds. `runner` is auto, or transformers for a model that the fast decoder
    could run."""
    facts = inspect(folder)
    facts.check_format()
    device = device or torch.device("cpu")
    context = context_that_fits(facts, dtype, device, context)
    try:
        tokenizer = tokenizer_of(facts)
        made: FastModel | TransformersModel
        if facts.shape is not None and runner == "auto":
            weights = weights_of(facts.shape, TensorFiles(facts.files))
            made = FastModel(facts.shape, weights, dtype=dtype, context=context, device=device)
        else:
            made = TransformersModel(_model(facts, dtype, device), context, facts.kv_values_per_token or 0)
        return LoadedModel(tokenizer, facts.end_tokens, facts, made.new_runner())
    except SafetensorError as error:
        raise BadCheckpoint(f"The weights of {facts.path} cannot be read ({error}). Copy them again.") from None
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise OutOfMemory(
            f"{device} could not hold {facts.path}: {_first_line(error)} Use a smaller model, dtype or context."
        ) from None


def tokens_of(folder: Path) -> ModelTokens:
    facts = inspect(folder)
    return ModelTokens(tokenizer_of(facts), facts.end_tokens)


def tokenizer_of(facts: ModelFolder) -> LoadedTokenizer:
    read_tokenizer_json(facts.path)  # checked within bounds, which the library does not do
    with _told_in_words(BadCheckpoint, f"The tokenizer of {facts.path} cannot be loaded"):
        return LoadedTokenizer(
            transformers.AutoTokenizer.from_pretrained(
                facts.path, config=_config_that_chooses(facts), trust_remote_code=False, local_files_only=True
            )
        )


def _config_that_chooses(facts: ModelFolder) -> transformers.PreTrainedConfig | None:
    """Return what the library reads of a config to choose a tokenizer's class, where the folder names that class. The
    config classes of model families import torch's compiler, which takes a second of CPU time or more."""
    told = read_json(facts.path / "tokenizer_config.json") or {}
    if not isinstance(told.get("tokenizer_class"), str) or "auto_map" in told:
        return None
    read = {
        name: facts.config[name] for name in ("model_type", "model_name", "tokenizer_class") if name in facts.config
    }
    return transformers.PreTrainedConfig(name_or_path=str(facts.path), **read)


@contextmanager
def _told_in_words(refusal: type[DrafthouseError], what: str) -> Iterator[None]:
    """Turn every exception of the tokenizers library into a refusal. Its panics do not derive from Exception."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise refusal(f"{what}: {_first_line(error)} Put a tokenizer.json beside the weights.") from None


def check_family(facts: ModelFolder) -> None:
    """Refuse a family that neither our decoder nor transformers runs as a language model."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as KNOWN

    if facts.shape is not None or facts.family in KNOWN:
        return
    raise BadCheckpoint(
        f"transformers {transformers.__version__} cannot load {facts.path} as a language model: it is a "
        f"{facts.family!r:.40}. Choose a model for text alone. Only architectures that transformers itself knows "
        "are run, never code that comes with a model."
    )


def _model(facts: ModelFolder, dtype: str, device: torch.device) -> Any:
    check_family(facts)
    try:
        _check_size(facts)
        model, found = transformers.AutoModelForCausalLM.from_pretrained(
            facts.path,
            dtype=_dtype(facts, dtype, device),
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
        model = model.to(device).eval()
    except torch.OutOfMemoryError:
        raise
    except (ValueError, OSError, KeyError, TypeError, AttributeError, ImportError, RuntimeError) as error:
        raise BadCheckpoint(
            f"transformers {transformers.__version__} cannot load {facts.path}, a {facts.family}: {_first_line(error)} "
            "Only architectures that transformers itself knows are run, never code that comes with a model."
        ) from None
    if missing := sorted(map(str, found["missing_keys"])):
        raise BadCheckpoint(
            f"{facts.path} lacks {len(missing)} of the tensors that its config.json asks for, {missing[0]} first, and "
            "random numbers would take their place. Config and weights belong to different models, or a file was not "
            "copied."
        )
    return model


def _check_size(facts: ModelFolder) -> None:
    """Refuse a config that describes a much larger model than the weights hold, before memory is allocated for it."""
    config = transformers.AutoConfig.from_pretrained(facts.path, trust_remote_code=False, local_files_only=True)
    with torch.device("meta"):
        described = transformers.AutoModelForCausalLM.from_config(config, trust_remote_code=False).num_parameters()
    is_quantized = bool(facts.config.get("quantization_config"))
    most = MOST_PER_BYTE * facts.weight_bytes if is_quantized else MOST_PER_PARAMETER * facts.parameters
    if described > most:
        raise BadCheckpoint(
            f"The config.json of {facts.path} describes a model of {described:,} parameters, and its weights hold "
            f"{facts.parameters:,}. Config and weights belong to different models, or a file was not copied."
        )


def _dtype(facts: ModelFolder, asked: str, device: torch.device) -> torch.dtype:
    if asked == "auto":
        asked = "float32" if device.type == "cpu" else facts.dtype
    return torch.float16 if asked == "float16" else torch.bfloat16 if asked == "bfloat16" else torch.float32


def context_that_fits(
    facts: ModelFolder, dtype: str, device: torch.device, asked: int | None, free: int | None = None
) -> int | None:
    """Longest text that the model reads exactly and whose cache fits, with the weights, into the memory that is free
    now."""
    free = free_bytes(device) if free is None else free
    weights = (facts.parameters + _stored_twice(facts, dtype, device)) * _bytes_per_weight(facts, dtype, device)
    width = 4 if device.type == "cpu" or dtype == "float32" else 2
    per_token = (facts.kv_values_per_token or 0) * width
    made_for = facts.context or asked
    wanted = min(asked or LEAST_CONTEXT, made_for or LEAST_CONTEXT)
    if weights + per_token * wanted > free:
        raise OutOfMemory(
            f"{facts.path} needs {weights / GIB:.1f} GiB for its weights and {per_token * wanted / GIB:.1f} GiB for a "
            f"text of {wanted} tokens; {device} has {free / GIB:.1f} GiB free. Use a smaller model, dtype or context."
        )
    if asked or not per_token or not made_for:
        return min((length for length in (asked, made_for) if length), default=None)
    half_of_the_rest = (free - weights) // 2  # the other half is for a second model and for activations
    return max(min(made_for, half_of_the_rest // per_token), wanted)


def _stored_twice(facts: ModelFolder, dtype: str, device: torch.device) -> int:
    """Count the weights of a tied embedding that memory holds twice: as on disk, to look tokens up, and as rows are
    multiplied with it. On a GPU both are one tensor, unless another dtype was asked for."""
    shape = facts.shape
    is_one = device.type == "cuda" and dtype in ("auto", facts.dtype)
    return shape.vocab_size * shape.hidden if shape and shape.tied and not is_one else 0


def _bytes_per_weight(facts: ModelFolder, dtype: str, device: torch.device) -> int:
    if dtype == "bfloat16":
        return 2
    stays_narrow = facts.shape is not None if device.type == "cpu" else dtype == "auto"
    return 2 if stays_narrow and facts.dtype != "float32" else 4


def _first_line(error: BaseException) -> str:
    line = str(error).strip().partition("\n")[0]
    return line if line.endswith(".") else f"{line}."
