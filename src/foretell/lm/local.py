"""Weights on this machine by way of `transformers`: a folder, a hub id or a GGUF file, with an adapter if wanted.

Nothing heavy is imported before the first question. Answers as text are generated in batches; probabilities of choices
take one forward pass and no generation. Batches hold prompts of about one length, padded on the left for writing. For
choices they are padded on the right where the model can give logits at chosen places: nothing after a token can touch
it, so no mask is needed, and the fastest attention can be used.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from foretell.errors import CONTROL
from foretell.extras import MissingPackage, require
from foretell.lm.adapter import WrongBase, check_adapter, check_base
from foretell.lm.attention import unplanned
from foretell.lm.image import TEXT_ONLY
from foretell.lm.model import Failure, Message, Reply, Request, Trouble, Usage
from foretell.received import NotPlain, check_folder, open_plain
from foretell.received_limits import TooMuchWork, within_limits

END_WORDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>", "</s>")
_TEMPLATE_BYTES = 512 << 20
_ENDLESS = 10**7  # a context length beyond this is how a tokenizer says that it has none


class CannotLoad(RuntimeError):
    """Weights that cannot be read. Asking again does not help, and a silent fallback would hide it."""


@dataclass(frozen=True)
class Weights:
    """Which weights, and how they are run.

    `path` is a folder, a hub id or a `.gguf` file. `dtype` and `device` are torch's names; `auto` takes the weights'
    own dtype (bfloat16 for a GGUF file on a GPU), and a GPU where there is one. A batch holds at most `batch_tokens`
    tokens, padding and answers included. `thinking` is passed to chat templates that know it; with choices it is always
    off, since the first token must be the answer.
    """

    path: str
    adapter: str | None = None
    dtype: str = "auto"
    device: str = "auto"
    batch_tokens: int = 65_536
    thinking: bool = False

    @property
    def name(self) -> str:
        parts = [self.path, *([f"adapter={self.adapter}"] if self.adapter else [])]
        parts += [f"dtype={self.dtype}"] if self.dtype != "auto" else []
        return "local:" + "+".join([*parts, *(["thinking"] if self.thinking else [])])


@dataclass(frozen=True)
class _Prompt:
    """A request turned into token ids, and its place in the list that was asked."""

    place: int
    request: Request
    ids: list[int]

    @property
    def room(self) -> int:
        """Tokens it takes in a batch."""
        return len(self.ids) + (0 if self.request.choices else self.request.max_tokens)


class LocalModel:
    """A model in this process. One question at a time: `ask` may be called from threads, which then wait.

    `ask` raises CannotLoad if the weights cannot be read and WrongBase if the adapter is not for them. With a
    temperature, a seed fixes the batch that a request happens to be in; without one (temperature 0) answers do not
    depend on their neighbours, rounding aside.
    """

    def __init__(self, weights: Weights, loaded: tuple[Any, Any] | None = None) -> None:
        """`loaded` is a model and its tokenizer, where the caller has them in memory already (while training)."""
        self.name = weights.name + fingerprint(weights.path, weights.adapter)
        self._weights = weights
        self._loaded = loaded
        self._lock = threading.Lock()

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        if not requests:
            return []
        with self._lock:
            try:
                model, tokenizer = self.load()
            except (WrongBase, MissingPackage, NotPlain):
                raise  # asking again will not help, nor will a forecast by other means
            except CONTROL:
                raise
            except BaseException as error:  # readers of weights raise anything; a tokenizer that panics, no Exception
                raise self._unusable("load", error) from error
            try:
                return _Session(model, tokenizer, self._weights).ask(requests)
            except (Exception, *CONTROL):
                raise
            except BaseException as error:
                raise self._unusable("use", error) from error

    def _unusable(self, verb: str, error: BaseException) -> CannotLoad:
        reason = f"{type(error).__name__}: {str(error)[:300]}"
        return CannotLoad(f"cannot {verb} the weights {self._weights.path} ({reason})")

    def load(self) -> tuple[Any, Any]:
        """Model and tokenizer, read on the first call; raises whatever their reader does."""
        if self._loaded is None:
            self._loaded = self._read()
        return self._loaded

    def _read(self) -> tuple[Any, Any]:
        torch: Any = require("torch", "train")
        transformers: Any = require("transformers", "train")
        path, extra = self._weights.path, dict[str, Any]()
        if path.endswith(".gguf"):
            os.close(open_plain(Path(path)))
            file = Path(path)
            path, extra = str(file.parent), {"gguf_file": file.name}
        device = self._weights.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        name = self._weights.dtype
        if name == "auto" and extra and device.startswith("cuda"):
            name = "bfloat16"  # a GGUF file names no type to compute in, and a GPU is several times faster in this one
        dtype: Any = name if name == "auto" else getattr(torch, name)
        check_weights(Path(path), self._weights.adapter)
        extra["trust_remote_code"] = False  # said, so that nobody is asked whether to run what a folder brings along
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, **extra)
        model, about = transformers.AutoModelForCausalLM.from_pretrained(
            path, dtype=dtype, output_loading_info=True, **extra
        )
        missing = sorted(about.get("missing_keys", ()))
        if missing:  # they would be random numbers
            raise ValueError(f"{len(missing)} of its tensors are missing, {missing[0]} among them")
        if self._weights.adapter is not None:
            check_base(Path(self._weights.adapter), model, self._weights.path)
            peft: Any = require("peft", "train")
            # Added to the weights: beside them it is further products in every layer.
            model = peft.PeftModel.from_pretrained(model, self._weights.adapter).merge_and_unload()
        return model.to(device).eval(), tokenizer


class _Session:
    """One `ask` of a loaded model."""

    def __init__(self, model: Any, tokenizer: Any, weights: Weights) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._model, self._tokenizer, self._weights = model, tokenizer, weights
        self._special = special_words(tokenizer)
        self._pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else (tokenizer.eos_token_id or 0)
        limits = (getattr(model.config, "max_position_embeddings", None), tokenizer.model_max_length)
        self._context = min((n for n in limits if isinstance(n, int) and 0 < n < _ENDLESS), default=_ENDLESS)

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        answers: dict[int, Reply | Failure] = {}
        groups: dict[tuple[Any, ...], list[_Prompt]] = {}
        for place, ids in self._encoded(requests, answers):
            request = requests[place]
            prompt = _Prompt(place, request, ids)
            if len(ids) + max(1, prompt.room - len(ids)) > self._context:
                text = f"{len(ids)} tokens and the answer do not fit the model's {self._context}: show less"
                answers[place] = Failure(Trouble.TOO_LONG, text, Usage(len(ids)))
                continue
            r = request
            key = ("choices", r.choices) if r.choices else ("text", r.max_tokens, r.temperature, r.seed)
            groups.setdefault(key, []).append(prompt)
        for prompts in groups.values():
            run = self._choose if prompts[0].request.choices else self._write
            for batch in batches(prompts, self._weights.batch_tokens):
                answers |= self._within_memory(run, batch)
        return [answers[place] for place in range(len(requests))]

    def _encoded(
        self, requests: Sequence[Request], refused: dict[int, Reply | Failure]
    ) -> Iterator[tuple[int, list[int]]]:
        """The place and tokens of each request, many encoded at once; those that cannot be are put into `refused`."""
        texts: dict[bool, dict[int, str]] = {True: {}, False: {}}
        for place, request in enumerate(requests):
            if request.has_images:
                refused[place] = Failure(Trouble.REFUSED, TEXT_ONLY)
                continue
            try:
                with within_limits("the chat template", 0, _TEMPLATE_BYTES):
                    text, special = self._rendered(request)
            except (TemplateError, TooMuchWork) as error:
                refused[place] = Failure(Trouble.REFUSED, f"the chat template refuses the conversation: {error}")
                continue
            texts[special][place] = text
        for special, found in texts.items():
            if found:
                encoded = self._tokenizer(list(found.values()), add_special_tokens=special)["input_ids"]
                yield from zip(found, encoded, strict=True)

    def _within_memory(
        self, run: Callable[[list[_Prompt]], dict[int, Reply | Failure]], batch: list[_Prompt]
    ) -> dict[int, Reply | Failure]:
        """Run a batch, halved as often as the device's memory asks for."""
        try:
            with self._torch.inference_mode():
                return run(batch)
        except self._torch.OutOfMemoryError:
            pass  # handled outside, where the exception no longer keeps the batch's memory alive
        if len(batch) == 1:
            text = f"{len(batch[0].ids)} tokens do not fit the device's memory: show less, or use a larger device"
            return {batch[0].place: Failure(Trouble.TOO_LONG, text)}
        self._torch.cuda.empty_cache()
        half = len(batch) // 2
        return self._within_memory(run, batch[:half]) | self._within_memory(run, batch[half:])

    def _choose(self, batch: list[_Prompt]) -> dict[int, Reply | Failure]:
        """Probabilities of the choices as the first token of the answer, from one forward pass."""
        choices = batch[0].request.choices
        tokens = choice_tokens(self._tokenizer, choices)
        if isinstance(tokens, str):
            return {prompt.place: Failure(Trouble.REFUSED, tokens) for prompt in batch}
        started_s = time.perf_counter()
        logits = self._first_logits(batch)
        wanted = [token for choice in choices for token in tokens[choice]]
        probs = self._torch.softmax(logits, dim=-1)[:, wanted].tolist()  # a few columns: the vocabulary is large
        seconds = (time.perf_counter() - started_s) / len(batch)
        answers: dict[int, Reply | Failure] = {}
        for row, prompt in zip(probs, batch, strict=True):
            by_token = dict(zip(wanted, row, strict=True))
            found = {choice: float(sum(by_token[token] for token in tokens[choice])) for choice in choices}
            if not all(0.0 <= p <= 1.001 for p in found.values()):  # NaN from overflow in a narrow type
                answers[prompt.place] = Failure(Trouble.MALFORMED, "the model gave no numbers: use a wider dtype")
                continue
            best = max(choices, key=found.__getitem__)
            answers[prompt.place] = Reply(best, Usage(len(prompt.ids), 1), found, seconds)
        return answers

    def _first_logits(self, batch: list[_Prompt]) -> Any:
        """The logits of the answer's first token, a row a prompt."""
        accepted = inspect.signature(getattr(self._model, "get_base_model", lambda: self._model)().forward).parameters
        extra: dict[str, Any] = {"use_cache": False} if "use_cache" in accepted else {}
        if "logits_to_keep" in accepted:
            width = max(len(prompt.ids) for prompt in batch)
            ids = self._tensor([prompt.ids + [self._pad] * (width - len(prompt.ids)) for prompt in batch])
            places = sorted({len(prompt.ids) - 1 for prompt in batch})
            logits = self._model(input_ids=ids, logits_to_keep=self._tensor(places), **extra).logits
            at = self._tensor([places.index(len(prompt.ids) - 1) for prompt in batch])
            return logits[self._torch.arange(len(batch), device=ids.device), at].float()
        ids, mask = self._padded(batch)
        if "position_ids" in accepted:  # not every model counts positions from the mask by itself
            extra["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
        return self._model(input_ids=ids, attention_mask=mask, **extra).logits[:, -1, :].float()

    def _tensor(self, numbers: Sequence[Any]) -> Any:
        return self._torch.tensor(numbers, device=next(self._model.parameters()).device)

    def _write(self, batch: list[_Prompt]) -> dict[int, Reply | Failure]:
        """Generate text for prompts that share length limit, temperature and seed."""
        request = batch[0].request
        started_s = time.perf_counter()
        ids, mask = self._padded(batch)
        sampling: dict[str, Any] = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        if request.temperature > 0.0:
            sampling = {"do_sample": True, "temperature": request.temperature, "top_p": 1.0, "top_k": 0}
            if request.seed is not None:
                self._torch.manual_seed(request.seed)
        ends = end_tokens(self._model, self._tokenizer)
        if ends:  # not every file of weights says what ends an answer
            sampling["eos_token_id"] = sorted(ends)
        limits = {"max_new_tokens": request.max_tokens, "pad_token_id": self._pad}
        with unplanned():
            written = self._model.generate(input_ids=ids, attention_mask=mask, **limits, **sampling)
        written = written[:, ids.shape[1] :].tolist()
        seconds = (time.perf_counter() - started_s) / len(batch)
        answers: dict[int, Reply | Failure] = {}
        for tokens, prompt in zip(written, batch, strict=True):
            stop = next((i for i, token in enumerate(tokens) if token in ends), None)
            own = tokens if stop is None else tokens[:stop]
            text = self._tokenizer.decode(own, skip_special_tokens=True)
            usage = Usage(len(prompt.ids), len(own))
            answers[prompt.place] = Reply(text, usage, None, seconds, cut_off=stop is None)
        return answers

    def _padded(self, batch: list[_Prompt]) -> tuple[Any, Any]:
        """Token ids and mask, padded on the left, so that every prompt ends in the last column."""
        width = max(len(prompt.ids) for prompt in batch)
        ids = [[self._pad] * (width - len(prompt.ids)) + prompt.ids for prompt in batch]
        mask = [[0] * (width - len(prompt.ids)) + [1] * len(prompt.ids) for prompt in batch]
        return self._tensor(ids), self._tensor(mask)

    def _rendered(self, request: Request) -> tuple[str, bool]:
        thinking = self._weights.thinking and not request.choices
        return rendered(self._tokenizer, request.messages, self._special, thinking)


def check_weights(path: Path, adapter: str | None) -> None:
    """NotPlain or ValueError if a folder of weights or an adapter would have other files read or code run."""
    if path.is_dir():
        check_folder(path)
    if adapter is not None:
        check_adapter(Path(adapter))


def fingerprint(*paths: str | None) -> str:
    """A mark that changes when files of weights do, so that a cache does not answer for what they were before.

    Made of names, sizes and times of change; nothing where no path is on this machine.
    """
    seen = []
    for path in (Path(path) for path in paths if path is not None):
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            if file.is_file():
                found = file.stat()
                seen.append(f"{file.name} {found.st_size} {found.st_mtime_ns}")
    return f"#{hashlib.sha256(repr(seen).encode()).hexdigest()[:8]}" if seen else ""


def batches(prompts: Sequence[_Prompt], batch_tokens: int) -> list[list[_Prompt]]:
    """Prompts of about one length together, each batch within `batch_tokens` once padded; the longest come first,
    so that memory that does not suffice shows at once."""
    found: list[list[_Prompt]] = []
    for prompt in sorted(prompts, key=lambda p: (-p.room, p.place)):
        if found and (len(found[-1]) + 1) * found[-1][0].room <= batch_tokens:
            found[-1].append(prompt)
        else:
            found.append([prompt])
    return found


def special_words(tokenizer: Any) -> list[str]:
    """How the tokenizer's special tokens are spelled."""
    return [t for t in {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()} if len(t) > 1]


def rendered(
    tokenizer: Any, messages: Sequence[Message], special: Sequence[str], thinking: bool = False
) -> tuple[str, bool]:
    """A conversation in the model's own format, and whether the tokenizer has to add its special tokens.

    Training and use ask alike by both asking this.
    """
    turns = [{"role": m.role, "content": defused(m.content, special)} for m in messages]
    if not tokenizer.chat_template:
        text = "\n\n".join(f"{turn['role'].upper()}: {turn['content']}" for turn in turns) + "\n\nASSISTANT:"
        return text, True
    settings = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": thinking}
    try:
        text = tokenizer.apply_chat_template(turns, **settings)
    except TemplateError:  # some templates know no system turn
        if turns[0]["role"] != "system" or len(turns) < 2:
            raise
        joined = {"role": "user", "content": f"{turns[0]['content']}\n\n{turns[1]['content']}"}
        text = tokenizer.apply_chat_template([joined, *turns[2:]], **settings)
    return text, False  # the template has put them in


def end_tokens(model: Any, tokenizer: Any) -> set[int]:
    """Tokens that end an answer: what the files say, and what is known to, since files of one model do not agree."""
    eos = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    found = set(eos) if isinstance(eos, list) else {eos}
    added = tokenizer.get_added_vocab()
    found |= {tokenizer.eos_token_id, *(added[word] for word in END_WORDS if word in added)}
    return {token for token in found if token is not None}


def choice_tokens(tokenizer: Any, choices: Sequence[str]) -> Mapping[str, tuple[int, ...]] | str:
    """Ids that stand for each choice, with and without a blank before it; or a sentence why there are none."""
    found: dict[str, tuple[int, ...]] = {}
    for choice in choices:
        spelled = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in (choice, f" {choice}")]
        ids = {one[0] for one in spelled if len(one) == 1}
        bare = tokenizer.convert_tokens_to_ids(choice)
        ids |= {bare} if isinstance(bare, int) and bare != tokenizer.unk_token_id else set()
        ids -= {tokenizer.unk_token_id}
        if not ids:
            return f"{choice!r} is not one token for this model: its probability cannot be read off"
        found[choice] = tuple(sorted(ids))
    every = [i for ids in found.values() for i in ids]
    return found if len(set(every)) == len(every) else "this model's tokens do not tell the choices apart"


def defused(content: str, special: Sequence[str]) -> str:
    """Text in which no special token is spelled out, so that what is quoted cannot end its turn."""
    content = content.encode("utf-8", "replace").decode()  # lone surrogates break tokenizers
    for token in special:
        if token.strip() and not token.isalnum():
            content = content.replace(token, f"{token[0]} {token[1:]}")
    return content
