"""torch's operators as C++ declarations."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from foretell.kernels.languages.extension.operators import declarations, overloads, parse


def test_a_schema_is_read() -> None:
    operator = parse(
        "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
    )
    assert operator is not None
    assert (operator.name, operator.overload, operator.returns) == ("sum", "dim_IntList", ("Tensor",))
    assert [(a.name, a.type, a.default, a.keyword_only) for a in operator.arguments] == [
        ("self", "Tensor", None, False),
        ("dim", "int[]?", None, False),
        ("keepdim", "bool", "False", False),
        ("dtype", "ScalarType?", "None", True),
    ]


def test_results_and_written_arguments() -> None:
    both = parse("aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
    assert both is not None and both.returns == ("Tensor", "Tensor")
    in_place = parse("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)")
    assert in_place is not None and in_place.arguments[0].written
    views = parse("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]")
    assert views is not None and views.returns == ("Tensor[]",)
    assert parse("aten::somewhere(Tensor self, Dimname dim) -> Tensor") is None


def test_only_what_is_called_is_declared() -> None:
    made = declarations("auto y = torch::softmax(x, 1); y.mul_(2); z = exp(1.0);")
    assert "softmax(" in made.functions and "mul_(" in made.methods and "exp(" not in made.functions
    assert "exp(" in declarations("using namespace torch; auto y = exp(x);").functions


def test_options_are_one_parameter() -> None:
    made = declarations("torch::full({2}, 1.0, options)")
    assert "const TensorOptions& options=TensorOptions()" in made.functions
    assert 'Value("pin_memory", options.pinned_memory_opt())' in made.functions


def test_outputs_come_first() -> None:
    made = declarations("at::add_out(out, a, b);")
    assert "Tensor& add_out(Tensor& out, const Tensor& self, const Tensor& other" in made.functions


def test_no_two_declarations_clash() -> None:
    for name in ("split", "sum", "max", "mean", "std", "clamp", "arange", "index_select", "unflatten"):
        heads = [line.split("{")[0] for line in declarations(f"torch::{name}(x)").functions.splitlines()]
        bare = [",".join(part.split("=")[0].rsplit(" ", 1)[0] for part in head.split(",")) for head in heads]
        assert len(bare) == len(set(bare)), name
    assert overloads("no_such_operator") == ()


def test_what_only_torchscript_has_is_left_out() -> None:
    assert [operator.overload for operator in overloads("copy_")] == [""]


def test_only_overloads_of_tensors_are_methods() -> None:
    methods = [line.strip() for line in declarations("x.pow(2)").methods.splitlines()]
    assert sorted(methods) == ["Tensor pow(const Scalar& exponent) const;", "Tensor pow(const Tensor& exponent) const;"]
