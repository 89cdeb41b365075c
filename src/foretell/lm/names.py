"""Models by name: `openai:MODEL@URL`, `local:PATH`, `files:FOLDER`, each with `?option=value&...` where wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from foretell.lm.adapter import PEFT_CONFIG, is_adapter
from foretell.lm.budget import Budget
from foretell.lm.cache import Cached
from foretell.lm.files import FileModel
from foretell.lm.model import LanguageModel
from foretell.received import read_json

FORMS = "openai:MODEL@URL (such as openai:qwen3-8b@http://localhost:8000/v1), local:PATH and files:FOLDER"

_Options = Mapping[str, str]
_HUB_ID = re.compile(r"(?!.*\.gguf$)(?:[\w-][\w.-]*/)?[\w-][\w.-]*")  # may be a folder too; anything else is a path


class BadModelName(ValueError):
    """The name says no model that could be made; the message says what is wrong and what would do."""


def is_model_name(name: str) -> bool:
    """Whether a name is meant for a language model: everything before the first colon is a kind of one."""
    return name.partition(":")[0] in _MAKERS and ":" in name


def names_model(name: str) -> bool:
    """Whether a language model has a part in what a name stands for, alone or within another (`cascade:NAME,...`)."""
    return re.search(rf"\b(?:{'|'.join(_MAKERS)}):", name) is not None


def split_options(name: str) -> tuple[str, dict[str, str]]:
    """A name and the options behind its last question mark; BadModelName where they are not `option=value`."""
    base, mark, query = name.rpartition("?")
    if not mark:
        return name, {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True)
    except ValueError as error:
        raise BadModelName(f"options are written ?option=value&option=value, got {query!r}") from error
    options = dict(pairs)
    if len(options) != len(pairs):
        raise BadModelName(f"an option is given twice in {query!r}")
    return base, options


def make_model(name: str, cache_folder: Path | None = None) -> LanguageModel:
    """The model of that name, its replies kept in `cache_folder` where one is given; BadModelName if there is none,
    MissingPackage if it needs a package that is not installed.

    Nothing is loaded or contacted before it is asked something. Files are their own cache.
    """
    base, options = split_options(name)
    kind, _, rest = base.partition(":")
    if kind not in _MAKERS or not rest:
        raise BadModelName(f"{name!r} names no model: known forms are {FORMS}")
    known, make = _MAKERS[kind]
    if unknown := sorted(set(options) - set(known)):
        allowed = ", ".join(known) or "no options"
        raise BadModelName(f"{kind}: models take {allowed}; unknown: {', '.join(unknown)}")
    try:
        model = make(rest, options)
    except BadModelName:
        raise
    except ValueError as error:
        raise BadModelName(f"{name!r}: {error}") from error
    return model if cache_folder is None or kind == "files" else Cached(model, cache_folder)


def _openai(rest: str, options: _Options) -> LanguageModel:
    from foretell.lm.endpoint import Endpoint, Prices
    from foretell.lm.openai import OpenAIModel

    match = re.fullmatch(r"(.+)@(https?://.+)", rest)
    if match is None:
        raise BadModelName(f"an endpoint is written openai:MODEL@URL with a URL like https://host/v1, got {rest!r}")
    prices = Prices(_number(options, "prompt_price") or 0.0, _number(options, "answer_price") or 0.0)
    money, tokens = _number(options, "money"), _number(options, "tokens")
    if money is not None and prices == Prices():
        raise BadModelName("a budget of money needs prompt_price and answer_price (per million tokens)")
    plain: dict[str, Any] = {
        "timeout_s": _number(options, "timeout_s"),
        "requests_per_minute": _number(options, "requests_per_minute"),
        "concurrency": None if "concurrency" not in options else int(_number(options, "concurrency") or 0),
        "structured": options.get("structured"),
        "limit_field": options.get("limit_field"),
        "key_variable": options.get("key_variable"),
    }
    given = {field: value for field, value in plain.items() if value is not None}
    endpoint = Endpoint(match.group(2), match.group(1), prices=prices, **given)
    return OpenAIModel(endpoint, Budget(None if tokens is None else int(tokens), money))


def _local(rest: str, options: _Options) -> LanguageModel:
    from foretell.extras import check
    from foretell.lm.local import LocalModel, Weights

    check("train", "torch", "transformers")
    path = str(Path(rest).expanduser()) if rest.startswith("~") else rest
    if not _HUB_ID.fullmatch(path) and not Path(path).exists():
        raise BadModelName(f"there are no weights at {path}; a folder, a .gguf file or a hub id such as org/name")
    adapter, dtype, device = options.get("adapter"), options.get("dtype", "auto"), options.get("device", "auto")
    if adapter is None and is_adapter(Path(path)):
        path, adapter = _base_of(Path(path), options.get("base")), path
    if adapter is not None:
        check("train", "peft")
    return LocalModel(Weights(path, adapter, dtype, device))


def _base_of(adapter: Path, given: str | None) -> str:
    """The base of an adapter: as told, or as peft wrote it down if that is on this machine or has the form of an id."""
    settings = {} if given else read_json(adapter / PEFT_CONFIG)
    named = given or (settings.get("base_model_name_or_path") if isinstance(settings, dict) else "") or ""
    if not isinstance(named, str):
        raise BadModelName(f"the base of the adapter {adapter} is not a name: local:{adapter}?base=PATH")
    if named and Path(named).expanduser().exists():
        return str(Path(named).expanduser())
    if "/" in named and _HUB_ID.fullmatch(named):
        return str(named)
    raise BadModelName(
        f"the base of the adapter {adapter} ({named or 'unknown'}) is not here: local:{adapter}?base=PATH"
    )


def _files(rest: str, options: _Options) -> LanguageModel:
    pictures = options.get("pictures", "no")
    if pictures not in ("yes", "no"):
        raise BadModelName(f"pictures is yes or no, got {pictures!r}")
    return FileModel(Path(rest).expanduser(), pictures == "yes")


def _number(options: _Options, name: str) -> float | None:
    if name not in options:
        return None
    try:
        value = float(options[name])
    except ValueError:
        value = -1.0
    if not 0.0 <= value < 1e15:
        raise BadModelName(f"{name} must be a number that is not negative, got {options[name]!r}")
    return value


_ENDPOINT_OPTIONS = (
    "concurrency", "timeout_s", "requests_per_minute", "tokens", "money", "prompt_price", "answer_price", "structured",
    "limit_field", "key_variable",
)  # fmt: skip
_MAKERS: Mapping[str, tuple[tuple[str, ...], Callable[[str, _Options], LanguageModel]]] = {
    "openai": (_ENDPOINT_OPTIONS, _openai),
    "local": (("adapter", "base", "dtype", "device"), _local),
    "files": (("pictures",), _files),
}
