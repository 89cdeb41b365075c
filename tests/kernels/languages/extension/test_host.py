"""A C++ extension against this package's headers, on real CPU tensors: it computes what torch computes."""

from __future__ import annotations

from types import ModuleType

import pytest

torch = pytest.importorskip("torch")


def test_loops_over_memory(host_extension: ModuleType) -> None:
    a, b = torch.randn(5, 7), torch.randn(7, 5).t()
    assert torch.equal(host_extension.add(a, b), a + b)
    assert torch.allclose(host_extension.add(b=b.double(), a=a.double(), alpha=-2), a.double() - 2 * b.double())
    assert host_extension.add.__doc__ == "a + alpha b" and host_extension.__doc__ == "for tests"


def test_operators_of_torch(host_extension: ModuleType) -> None:
    x = torch.randn(4, 6)
    values, indices, column, part, first = host_extension.pieces(x)
    expected = x.max(1, keepdim=True)
    assert torch.equal(values, expected.values) and torch.equal(indices, expected.indices)
    assert torch.equal(column, x.sum(0)) and torch.equal(part, x.flatten()[1:3]) and torch.equal(first, x[:, 0])
    image, weight = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)
    for bias in (None, torch.randn(4)):
        y = torch.relu(torch.nn.functional.conv2d(image, weight, bias, 2, 1)) * 0.5
        wanted = torch.cat((y.softmax(1), y.clamp(0.1, 0.9)), 1).permute(0, 2, 3, 1)
        assert torch.allclose(host_extension.library(image, weight, bias, 2), wanted, atol=1e-6)


def test_values_of_every_kind(host_extension: ModuleType) -> None:
    x = torch.arange(6.0).view(2, 3)
    mean, total, width = host_extension.facts(x)
    assert mean.dtype is torch.float64 and (float(mean), total, width) == (2.5, 15.0, 3)
    assert host_extension.corner(x) == 5.0
    assert torch.equal(host_extension.made([2, 3]), torch.full((2, 3), 7))
    assert torch.equal(host_extension.made((2,), like=x, ones=True), torch.ones(2))
    assert host_extension.text("ab", 3) == "ababab" and host_extension.text(1.5) == 3.0
    host_extension.scale_(x, 2)
    assert torch.equal(x, torch.arange(6.0).view(2, 3) * 2)


def test_pointers_are_taken_as_pybind11_takes_them(host_extension: ModuleType) -> None:
    assert host_extension.takes(None, None, "A") == 70.0 and host_extension.takes(None, 2.5, "A") == 67.5
    with pytest.raises(TypeError):
        host_extension.takes(7, None, "A")


def test_halves_round_as_torch_rounds(host_extension: ModuleType) -> None:
    values = [0.0, -1.0, 1 / 3, 65504.0, 65519.0, 65520.0, 1e-7, 6e-8, 2e-8, -3.1e-5, 1e9, float("inf")]
    assert torch.equal(host_extension.halves(values), torch.tensor(values).half())
    assert host_extension.halves([float("nan")]).isnan().all()


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        (0, RuntimeError, "told 0"),
        (1, ValueError, "an argument"),
        (2, IndexError, "an index"),
        (3, RuntimeError, "mat1"),
        (4, RuntimeError, "expected scalar type Double but found Float"),
    ],
)
def test_errors_become_python_errors(host_extension: ModuleType, how: int, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        host_extension.fails(how)


@pytest.mark.parametrize("arguments", [(), (1, 2), (torch.ones(2),), ("text", torch.ones(2))])
def test_arguments_that_do_not_fit_are_refused(host_extension: ModuleType, arguments: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        host_extension.add(*arguments)
    with pytest.raises(RuntimeError, match=r"shapes differ: \[2\] and \[3\]"):
        host_extension.add(torch.ones(2), torch.ones(3))


def test_fake_tensors_and_dispatch_modes_see_its_calls(host_extension: ModuleType) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    calls: list[str] = []

    class Seen(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            calls.append(func.overloadpacket.__name__)
            return func(*args, **(kwargs or {}))

    with FakeTensorMode(), Seen():
        y = host_extension.library(torch.empty(2, 3, 8, 8), torch.empty(4, 3, 3, 3), None, 2)
    assert y.shape == (2, 4, 4, 8)
    assert {"convolution", "relu", "_softmax", "clamp", "cat"} <= set(calls)


def test_tensors_are_given_back(host_extension: ModuleType) -> None:
    import gc
    import weakref

    x = torch.randn(3, 3)
    y = host_extension.add(x, x)
    held = [weakref.ref(x), weakref.ref(y)]
    del x, y
    gc.collect()
    assert all(reference() is None for reference in held)
