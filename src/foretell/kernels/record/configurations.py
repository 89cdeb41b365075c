"""Autotuned Triton kernels while recording: nothing can be timed, so each configuration gets a Program of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from foretell.kernels.record.refusal import Reason, Refused


@dataclass
class Configurations:
    """Which configuration each autotuned kernel runs with, by the order in which they are first launched.

    `counts` says how many each has; `changed` is the one kernel that runs with another than the first that compiles.
    """

    names: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    changed: tuple[int, int] | None = None
    used: dict[str, str] = field(default_factory=dict)
    _kernels: list[Any] = field(default_factory=list)
    _compiled: dict[int, int] = field(default_factory=dict)

    def alternatives(self) -> list[tuple[int, int]]:
        """Every kernel with each configuration that it has not been recorded with."""
        return [
            (kernel, number)
            for kernel, count in enumerate(self.counts)
            for number in range(count)
            if number != self._compiled.get(kernel, 0)
        ]

    def run(self, tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch with the configuration in force; without one, with the first that compiles."""
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        configs = list(tuner.prune_configs(kwargs)) if len(tuner.configs) > 1 else list(tuner.configs)
        kernel = self._number(tuner, len(configs))
        if self.changed is not None and self.changed[0] == kernel:
            number = self.changed[1]
            if number >= len(configs):
                raise Refused(Reason.DEPENDS_ON_DATA, "the autotuner's configurations changed between calls")
            return self._launch(tuner, kernel, configs[number], args, kwargs)
        error: Exception | None = None
        for number in range(self._compiled.get(kernel, 0), len(configs)):
            try:
                found = self._launch(tuner, kernel, configs[number], args, kwargs)
                self._compiled[kernel] = number
                return found
            except Exception as failure:
                if not _does_not_fit(failure):
                    raise
                error = failure
        raise error or Refused(Reason.BUILD, "the autotuner has no configuration")

    def _number(self, tuner: Any, count: int) -> int:
        for number, known in enumerate(self._kernels):
            if known is tuner:
                return number
        self._kernels.append(tuner)
        self.names.append(str(getattr(tuner.base_fn, "__name__", "kernel")))
        self.counts.append(count)
        return len(self._kernels) - 1

    def _launch(self, tuner: Any, kernel: int, config: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if config.pre_hook is not None:
            config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
        found = tuner.fn.run(*args, **kwargs, **config.all_kwargs())
        self.used[f"{kernel}:{self.names[kernel]}"] = str(config)
        return found


def _does_not_fit(error: Exception) -> bool:
    """The errors after which the autotuner goes on with the next configuration."""
    return type(error).__name__ in ("OutOfResources", "CompileTimeAssertionFailure", "PTXASError")


@contextmanager
def autotuner_decided(configurations: Configurations) -> Iterator[None]:
    """Within, autotuned kernels run with the configurations in force and nothing is timed."""
    try:
        from triton.runtime.autotuner import Autotuner
    except ImportError:
        yield
        return
    original = Autotuner.run
    Autotuner.run = lambda self, *args, **kwargs: configurations.run(self, args, kwargs)
    try:
        yield
    finally:
        Autotuner.run = original
