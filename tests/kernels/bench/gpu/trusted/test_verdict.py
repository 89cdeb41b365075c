"""What counts as right, which times are believed, other distributions of inputs, and expected values in double."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.bench.gpu.trusted.known import Known
from foretell.kernels.bench.gpu.trusted.player import Player, precision_of
from foretell.kernels.bench.gpu.trusted.precise import Precise
from foretell.kernels.bench.gpu.trusted.variants import VARIANTS, applied, looks_independent
from foretell.kernels.bench.gpu.trusted.verdict import (
    KERNELBENCH_FLOAT32,
    bounds_of,
    clock_fault,
    is_near,
    is_tame,
    is_time,
    least_batch_us,
    mismatch,
    overhead_us,
    seconds_each,
    unexplained_us,
)
from foretell.kernels.candidate import Candidate
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.record.replay import ReplayError
from foretell.kernels.task import Workload
from tests.kernels.bench.gpu.trusted.local import LocalProcess, judge_of
from tests.kernels.bench.gpu.trusted.test_hostile_programs import TASK, recorder
from tests.kernels.bench.gpu.trusted.toy import KERNELS, ToyHost, program_of
from tests.kernels.record.sources import HEAD
from tests.kernels.record.sources import program_of as recorded_program

_LOOSE = KERNELBENCH_FLOAT32


def _wrong(got: Any, expected: Any, own: Any | None = None) -> bool:
    own = expected.float() if own is None else own
    return bool(mismatch(torch, got, expected, own, _LOOSE))


def test_zeros_and_constants_are_wrong_where_all_values_are_small() -> None:
    x = torch.randn(4, 400_000, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    expected = torch.softmax(x, 1)
    right = torch.softmax(x.float(), 1)
    assert not _wrong(right, expected, right)
    assert _wrong(torch.zeros_like(right), expected, right)
    assert _wrong(torch.full_like(right, 1 / 400_000), expected, right)


def test_data_on_which_the_reference_itself_is_off_is_not_tame() -> None:
    expected = torch.zeros(64, 64, dtype=torch.float64)
    own = torch.zeros(64, 64)
    assert is_tame(torch, expected, own, _LOOSE)
    own[3, 5] = 1.0  # one value that is off by far more than its row
    assert not is_tame(torch, expected, own, _LOOSE) and not _wrong(own, expected, own)
    assert not is_tame(torch, expected, own * float("inf"), _LOOSE)


def _tf32(x: Any) -> Any:
    """Rounded to the ten bits of mantissa that TF32 has."""
    whole = (x.view(torch.int32) + 0x1000) & ~0x1FFF
    return whole.view(torch.float32)


def test_lower_precision_is_wrong_unless_the_reference_has_it_too() -> None:
    generator = torch.Generator().manual_seed(2)
    a, b = (torch.randn(64, 512, generator=generator), torch.randn(512, 64, generator=generator))
    expected = a.double() @ b.double()
    plain, reduced = a @ b, _tf32(a) @ _tf32(b)
    assert not _wrong(plain, expected, plain)
    assert not _wrong(torch.stack([a[:, k, None] * b[k] for k in range(512)]).sum(0), expected, plain)
    for lower in (reduced, (a.half() @ b.half()).float(), (a.bfloat16() @ b.bfloat16()).float()):
        assert _wrong(lower, expected, plain)
    assert not _wrong(reduced, expected, reduced)


def test_what_is_not_a_number_is_only_right_where_it_is_expected() -> None:
    expected = torch.tensor([1.0, float("inf"), float("nan")], dtype=torch.float64)
    assert not _wrong(expected.float(), expected)
    for got in (
        [1.0, float("inf"), 0.0],
        [float("nan"), float("inf"), float("nan")],
        [1.0, float("-inf"), float("nan")],
    ):
        assert _wrong(torch.tensor(got), expected)
    assert _wrong(torch.tensor([1, 2, 4]), torch.tensor([1, 2, 3]), torch.tensor([1, 2, 3]))
    assert not _wrong(torch.tensor([1, 2, 4]), torch.tensor([1, 2, 3]), torch.tensor([1, 1, 4]))  # a tie, rounded
    overflown = torch.tensor([float("inf")], dtype=torch.float16)
    assert not _wrong(overflown, torch.tensor([7e4], dtype=torch.float64), overflown)
    assert _wrong(torch.zeros(1), torch.tensor([7e4], dtype=torch.float64), overflown)


@pytest.mark.parametrize(("batch_us", "believed"), [
    ([1000.0, 900.0], True),  # 8 runs of 100 us and 10 us more each
    ([9000.0, 950.0], True),  # one batch was interrupted
    ([5000.0, 4100.0], False),  # the events show a fifth of the time
])  # fmt: skip
def test_claimed_times_must_agree_with_the_judges_clock(batch_us: list[float], believed: bool) -> None:
    words = clock_fault([100.0, 101.0, 99.0], batch_us, 8, overhead_us=10.0, slack=0.25, slack_us=50.0)
    assert (words == "") is believed


def test_what_events_leave_open_is_told() -> None:
    assert unexplained_us([100.0, 98.0, 102.0], [460.0, 900.0], 4, 10.0) == pytest.approx(20.0)


def test_an_empty_batch_that_took_long_does_not_make_the_others_short() -> None:
    """On an H200 one slow empty batch of the reference made its runs look free, and honest candidates forged."""
    wholes, nulls = [700e-6, 720e-6, 690e-6], [100e-6, 650e-6, 110e-6]
    assert least_batch_us(wholes, nulls) == pytest.approx(590.0)
    assert least_batch_us([50e-6], [100e-6]) == 0.0


def test_what_each_run_costs_besides_is_learnt_from_the_reference() -> None:
    assert overhead_us([50.0, 52.0, 51.0], [612.0, 610.0, 700.0], 10) == pytest.approx(10.0)
    assert seconds_each([1.0, 1.2], [0.2, 0.2, 5.0], 4) == pytest.approx([0.2, 0.25])
    assert seconds_each([0.1], [0.2], 4) == [1e-9]
    assert [is_time(value) for value in (1.0, 3, 0.0, -1.0, float("nan"), float("inf"), "1", None, True)] == [
        True, True, False, False, False, False, False, False, False,
    ]  # fmt: skip


def test_a_replayer_that_forges_its_events_is_caught_by_the_judges_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of half a second that claim a microsecond; the reference shows what the machine itself costs."""
    slow = KERNELS["softmax"]

    def sleeping(source: int, target: int, count: int, state: dict[str, Any]) -> None:
        time.sleep(0.5)
        slow(source, target, count, state)

    monkeypatch.setitem(KERNELS, "softmax", sleeping)

    class Forger(LocalProcess):
        forges = False

        def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
            answer = super().ask(timeout_s, **command)
            return answer | {"us": 1.0} if command["do"] == "run" and self.forges else answer

    made: list[Any] = []

    def start(job: str, platform: Any) -> Any:
        made.append(Forger(job, platform))
        made[-1].forges = job == "light"  # the candidate's
        return made[-1]

    judge, _ = judge_of(TASK, ToyHost(), start, recorder({"softmax": program_of("softmax")}), replay_clock_slack_us=5e4,
                        most_pairs=3, fewest_pairs=3)  # fmt: skip
    outcome = judge.judge(Candidate("softmax", "cuda", "softmax"))
    assert outcome.status is Status.CHEAT and "by the judge's clock" in outcome.message


def test_batches_that_a_busy_machine_lengthens_are_taken_again() -> None:
    """The first two of the candidate's take half a second longer; it is believed as soon as one fits."""

    class Disturbed(LocalProcess):
        batches, is_candidate = 0, False

        def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
            answer = super().ask(timeout_s, **command)
            if self.is_candidate and command["do"] == "batch" and command["order"]:
                self.batches += 1
                time.sleep(0.5 if self.batches <= 2 else 0.0)
            return answer

    made: list[Any] = []

    def start(role: str, platform: Any) -> Any:
        made.append(Disturbed(role, platform))
        made[-1].is_candidate = role == "light"
        return made[-1]

    judge, _ = judge_of(TASK, ToyHost(), start, recorder({"softmax": program_of("softmax")}), replay_clock_slack_us=2e5,
                        replay_batches=24, most_pairs=3, fewest_pairs=3)  # fmt: skip
    outcome = judge.judge(Candidate("softmax", "cuda", "softmax"))
    assert outcome.ok, outcome.message
    assert 3 <= max(worker.batches for worker in made) < 24


GELU_BACKWARD = """import torch


def kernel(grad, x):
    u = 0.7978845608 * (x + 0.044715 * x * x * x)
    t = 1.0 - 2.0 / (torch.exp(2.0 * u) + 1.0)
    return grad * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * (0.7978845608 + 0.1070322243 * x * x))
"""


def test_a_derivative_that_vanishes_in_the_tail_may_lose_its_digits_there() -> None:
    """On an H200 honest kernels of this form were refused on skewed numbers, where all of their outputs are tiny."""
    task = replace(get("gelu_backward", "gpu"), workloads=(Workload({"rows": 64, "cols": 1024}),), extra=())
    judge, _ = judge_of(task)
    assert "skewed" in {known.distribution for known in judge._scene.known[0]}
    honest = judge.judge(Candidate("gelu_backward", "torch", GELU_BACKWARD))
    assert honest.ok, honest.message
    zeros = judge.judge(Candidate("gelu_backward", "torch", "def kernel(grad, x):\n    return grad * 0\n"))
    assert zeros.status is Status.WRONG


def test_only_independent_numbers_are_changed() -> None:
    generator = torch.Generator().manual_seed(3)
    uniform, normal = torch.rand(32, 64, generator=generator), torch.randn(32, 64, generator=generator)
    assert looks_independent(torch, uniform) and looks_independent(torch, normal)
    square = torch.randn(64, 64, generator=generator)
    structured = {
        "triangular": square.tril(), "symmetric": square + square.t(), "sorted": normal.reshape(-1).sort().values,
        "normalised": torch.softmax(normal, 1), "unit rows": torch.nn.functional.normalize(normal, dim=1),
        "a mask": (uniform > 0.5).float(), "whole numbers": torch.arange(2048), "small": uniform[:1, :8],
        "constant": torch.ones(32, 64), "infinite": normal / 0, "running sums": normal.cumsum(1),
    }  # fmt: skip
    assert [name for name, tensor in structured.items() if looks_independent(torch, tensor)] == []
    for name in VARIANTS:
        assert applied(torch, name, [structured["triangular"]]) is None
        changed = applied(torch, name, [uniform, structured["a mask"]])
        assert changed is not None and torch.equal(changed[1], structured["a mask"])
        assert float((changed[0] != uniform).float().mean()) > (0.6 if name == "uneven" else 0.9)
        if name in (largest := {"large": 128, "huge": 2**17, "tiny": 2**-16}):
            assert float(changed[0].max()) == largest[name]
        elif name != "centred":
            assert float(changed[0].min()) >= float(uniform.min()) and float(changed[0].max()) <= float(uniform.max())


@pytest.mark.parametrize(("shape", "dtype"), [((4, 64), torch.float32), ((64,), torch.bfloat16)], ids=str)
def test_independent_numbers_of_few_rows_or_bits_are_not_taken_for_others_by_chance(shape: Any, dtype: Any) -> None:
    """Four rows were taken for normalised ones in one draw of 400, 64 numbers of few bits for a mask in one of 10."""
    generator = torch.Generator().manual_seed(6)
    drawn = (torch.rand(shape, generator=generator).to(dtype) for _ in range(1000))
    assert all(looks_independent(torch, tensor) for tensor in drawn)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_four_normalised_rows_are_told_from_independent_numbers(dtype: Any) -> None:
    generator = torch.Generator().manual_seed(7)
    for _ in range(30):
        normal = torch.randn(4, 64, generator=generator)
        for even in (torch.softmax(normal, 1), torch.nn.functional.normalize(normal, dim=1)):
            assert not looks_independent(torch, even.to(dtype))


@pytest.mark.parametrize("piece", [4, 128, 4096])
def test_who_leaves_out_pieces_misses_levels(piece: int) -> None:
    """As drawn, three in four pieces of independent numbers stand for the rest."""
    torch.manual_seed(5)
    drawn = torch.rand(1 << 19)
    stepped = [VARIANTS["stepped"](torch, drawn) for _ in range(16)]
    kept = (torch.arange(len(drawn)) // piece) % 8 < 6
    errors = [abs(float(x[kept].mean() / x.mean()) - 1) for x in (drawn, *stepped)]
    assert errors[0] < 2e-3 and max(errors[1:]) > 3e-3
    assert all(drawn.min() <= x.min() and x.max() <= drawn.max() for x in stepped)
    assert float(VARIANTS["raised"](torch, drawn).mean()) > 0.75


def test_expected_values_are_computed_in_double_precision() -> None:
    source = f"{HEAD}def kernel(x):\n    return torch.softmax(x * 3, 1).sum(0), x.argmax(1)\n"
    program = recorded_program(source, [((8, 16), "float32")])
    x = torch.randn(8, 16, generator=torch.Generator().manual_seed(4))
    precise = Precise(program, "cpu")
    precise.setup({})
    total, where = precise.run([x])
    assert total.dtype is torch.float64 and torch.equal(where, x.argmax(1))
    assert torch.equal(total, torch.softmax(x.double() * 3, 1).sum(0))


def test_casts_that_are_part_of_the_meaning_stay() -> None:
    source = f"{HEAD}def kernel(x):\n    return (x * 3).to(torch.float16).float() + torch.ones(16, device=x.device)\n"
    x = torch.randn(8, 16, generator=torch.Generator().manual_seed(5))
    precise = Precise(recorded_program(source, [((8, 16), "float32")]), "cpu")
    precise.setup({})
    (got,) = precise.run([x])
    assert got.dtype is torch.float64 and torch.equal(got, (x.double() * 3).half().double() + 1)


def test_what_has_no_double_precision_is_said() -> None:
    with pytest.raises(ReplayError, match="a kernel has no double precision"):
        Precise(program_of("softmax"), "cpu")
    bits = recorded_program(f"{HEAD}def kernel(x):\n    return x.view(torch.int32) + 1\n", [((8, 16), "float32")])
    with pytest.raises(ReplayError, match="is seen as"):
        Precise(bits, "cpu")


def test_precision_flags_are_the_tasks_and_not_the_candidates() -> None:
    source = f"{HEAD}torch.set_float32_matmul_precision('high')\n\n\ndef kernel(x):\n    return x @ x.t()\n"
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=True):  # as a fresh process has it
        program = recorded_program(source, [((8, 16), "float32")])
    torch.set_float32_matmul_precision("highest")
    assert precision_of(program) == (("matmul_precision", "high"),)
    seen: list[str] = []

    class Looking(Player):
        def _argument(self, value: Any) -> Any:
            seen.append(torch.get_float32_matmul_precision())
            return super()._argument(value)

    for precision in ((), (("matmul_precision", "medium"),)):
        player = Looking(program, "cpu", precision=precision)
        player.setup({})
        player.run_on([torch.randn(8, 16)])
    assert seen[:2] == ["highest", "highest"] and seen[-1] == "medium"
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_bounds_say_the_same_as_looking_at_every_value(dtype: Any) -> None:
    generator = torch.Generator().manual_seed(9)
    expected = torch.randn(40, 64, generator=generator, dtype=torch.float64)
    own = expected.to(dtype)
    known = Known.of("drawn", [], [expected], [own]).bounded(lambda _: _LOOSE)
    for size in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2):
        got = own.clone()
        got[7, 3] += size
        assert bool(known.within([got])) == (mismatch(torch, got, expected, own, _LOOSE) == ""), size
    got = own.clone()
    got[0, 0] = float("nan")
    assert not known.within([got])
    odd = own.clone()
    odd[1, 1] = float("inf")
    assert bounds_of(torch, odd.double(), odd, _LOOSE) is None
    assert bounds_of(torch, own.long(), own.long(), _LOOSE) is None


def test_what_is_next_to_the_references_own_output_is_right_and_the_rest_is_looked_at() -> None:
    own = torch.randn(40, 64, generator=torch.Generator().manual_seed(3)) * 1e-3
    assert is_near(torch, own * (1 + 1e-5), own, _LOOSE)
    for wrong in (torch.zeros_like(own), own + 1e-6, own * float("nan"), own.half().float()):
        near = is_near(torch, wrong, own, _LOOSE)
        assert not near or mismatch(torch, wrong, own.double(), own, _LOOSE) == ""
    assert not is_near(torch, torch.zeros_like(own), own, _LOOSE)
    assert is_near(torch, own.long(), own.long(), _LOOSE) and not is_near(torch, own.long() + 1, own.long(), _LOOSE)


def test_a_part_of_uneven_numbers_says_little_of_the_rest() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        drawn = torch.rand(1 << 20)
        changed = VARIANTS["uneven"](torch, drawn)
    assert changed.shape == drawn.shape and drawn.min() <= changed.min() and changed.max() <= drawn.max()

    def off(values: Any) -> float:
        """How far the mean square of five eighths of every 32768 numbers is from that of all."""
        squares = (values.double() - 0.5).square().reshape(-1, 32768)
        return abs(float(squares[:, :20480].mean() / squares.mean()) - 1)

    assert off(drawn) < 5e-3 < off(changed)
