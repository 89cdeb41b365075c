"""torch's operators as C++ declarations: those that a source calls, written from torch's own list of operators.

torch's C++ interface follows from each operator's schema by fixed rules. Declaring only what a source names keeps the
headers small: torch has more than two thousand operators, a typical extension calls three.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

# Written out in tensor.h, or not C++ functions of that form.
_BY_HAND = frozenset(
    (
        "size", "sizes", "stride", "strides", "dim", "numel", "to", "item", "contiguous", "data_ptr", "empty", "zeros",
        "ones", "empty_like", "zeros_like", "ones_like", "clone", "detach", "is_contiguous", "index", "index_put_",
        "tensor", "from_blob", "cpu", "cuda", "data", "device", "dtype", "layout", "options", "requires_grad",
        "requires_grad_", "is_floating_point", "is_complex", "element_size", "storage_offset", "get_device", "is_same",
        "defined", "accessor", "type", "scalar_type", "is_cuda", "is_cpu", "is_sparse", "set_requires_grad", "reset",
        "nbytes", "itemsize", "use_count", "has_storage", "variable_data", "toType", "toString", "ndimension",
    )
)  # fmt: skip
_NOT_NAMES = frozenset(("and", "or", "not", "xor", "bool", "int", "float", "double", "char", "short", "long", "new"))
_CALLED_AS_FUNCTION = re.compile(r"::\s*(\w+)\s*\(")
_CALLED_AS_METHOD = re.compile(r"(?:\.|->)\s*(?:template\s+)?(\w+)\s*\(")
_CALLED_PLAINLY = re.compile(r"\b(\w+)\s*\(")
_SCHEMA = re.compile(r"aten::(?P<name>\w+)(?:\.(?P<overload>\w+))?\((?P<arguments>.*)\) -> (?P<returns>.*)")
_ARGUMENT = re.compile(r"(?P<type>\w+(?:\([^)]*\))?(?:\?)?(?:\[\d*\])?(?:\?)?) (?P<name>\w+)(?:=(?P<default>.+))?")
_ALIAS = re.compile(r"\([a-z!>|* -]*\)")
_OPTIONS = ("dtype", "layout", "device", "pin_memory")

_TYPES = {
    "Tensor": "const Tensor&", "Tensor?": "const std::optional<Tensor>&", "Tensor[]": "TensorList",
    "Tensor?[]": "ArrayRef<std::optional<Tensor>>", "int": "int64_t", "SymInt": "int64_t",
    "int?": "std::optional<int64_t>", "SymInt?": "std::optional<int64_t>", "int[]": "IntArrayRef",
    "SymInt[]": "IntArrayRef", "int[]?": "const OptionalIntArrayRef&", "SymInt[]?": "const OptionalIntArrayRef&",
    "float": "double", "float?": "std::optional<double>", "float[]": "ArrayRef<double>",
    "float[]?": "std::optional<ArrayRef<double>>", "bool": "bool", "bool?": "std::optional<bool>",
    "Scalar": "const Scalar&", "Scalar?": "const std::optional<Scalar>&", "str": "std::string_view",
    "str?": "std::optional<std::string_view>", "ScalarType": "ScalarType", "ScalarType?": "std::optional<ScalarType>",
    "Layout": "Layout", "Layout?": "std::optional<Layout>", "Device": "Device", "Device?": "std::optional<Device>",
    "MemoryFormat": "MemoryFormat", "MemoryFormat?": "std::optional<MemoryFormat>",
}  # fmt: skip
_RESULTS = {"Tensor": "Tensor", "Tensor[]": "std::vector<Tensor>", "bool": "bool", "int": "int64_t",
            "SymInt": "int64_t", "float": "double", "Scalar": "Scalar", "()": "void"}  # fmt: skip


@dataclass(frozen=True)
class Argument:
    """One argument of a schema: `type` without alias marks, `written` if the operator writes into it."""

    name: str
    type: str
    default: str | None
    keyword_only: bool
    written: bool


@dataclass(frozen=True)
class Operator:
    """One overload of an operator of torch."""

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        return (*(argument.type for argument in self.arguments), *self.returns)


@dataclass(frozen=True)
class Declarations:
    """C++ text: `methods` go into the class Tensor, `functions` after it."""

    methods: str
    functions: str


def declarations(source: str) -> Declarations:
    """Declarations of the operators that C++ text calls."""
    everywhere = re.search(r"\busing\s+namespace\s+(?:torch|at)\b|\busing\s+(?:torch|at)::", source)
    as_functions = set((_CALLED_PLAINLY if everywhere else _CALLED_AS_FUNCTION).findall(source))
    as_methods = set(_CALLED_AS_METHOD.findall(source))
    methods: list[str] = []
    functions: list[str] = []
    for name in sorted(as_methods - _BY_HAND - _NOT_NAMES):
        for operator in overloads(name):
            first = operator.arguments[0] if operator.arguments else None
            if first is not None and (first.name, first.type) == ("self", "Tensor") and not _outputs(operator):
                _add(methods, functions, operator, as_method=True)
    for name in sorted(as_functions - _BY_HAND - _NOT_NAMES):
        wanted = overloads(name.removesuffix("_out")) if name.endswith("_out") else overloads(name)
        for operator in wanted:
            if bool(_outputs(operator)) == (name.endswith("_out") and not overloads(name)):
                _add(methods, functions, operator, as_method=False)
    return Declarations("\n".join(methods), "\n".join(functions))


@cache
def overloads(name: str) -> tuple[Operator, ...]:
    """The overloads of an operator on tensors; none if torch has no such operator. Overloads of equal C++ types
    are given once."""
    import torch

    seen: dict[tuple[object, ...], Operator] = {}
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        operator = parse(str(schema))
        if operator is None or not any("Tensor" in kind for kind in operator.kinds):
            continue
        if not torch._C._dispatch_has_kernel(f"aten::{operator.name}.{operator.overload}".rstrip(".")):
            continue  # of TorchScript alone
        seen.setdefault(tuple((_TYPES[a.type], a.default is None) for a in operator.arguments), operator)
    return tuple(seen.values())


def parse(schema: str) -> Operator | None:
    """An operator from its schema's text; None if C++ types for it are not known here."""
    match = _SCHEMA.fullmatch(schema)
    if match is None:
        return None
    arguments: list[Argument] = []
    keyword_only = False
    for part in _split(match["arguments"]):
        if part == "*":
            keyword_only = True
            continue
        one = _ARGUMENT.fullmatch(part)
        if one is None:
            return None
        kind = re.sub(r"\[\d+\]", "[]", _ALIAS.sub("", one["type"]))
        if kind == "Generator?" and one["default"] == "None":
            continue  # torch's own generator is used
        if kind not in _TYPES:
            return None
        arguments.append(Argument(one["name"], kind, one["default"], keyword_only, "!" in one["type"]))
    returns = match["returns"]
    parts = [returns] if returns == "()" else _split(returns[1:-1] if returns.startswith("(") else returns)
    kinds = tuple(_ALIAS.sub("", part).split(" ")[0] for part in parts)
    if any(kind not in _RESULTS for kind in kinds):
        return None
    return Operator(match["name"], match["overload"] or "", tuple(arguments), kinds)


def _split(text: str) -> list[str]:
    """Parts between commas that are outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()] if text.strip() else []


def _outputs(operator: Operator) -> tuple[Argument, ...]:
    return tuple(a for a in operator.arguments if a.written and a.keyword_only)


def _add(methods: list[str], functions: list[str], operator: Operator, as_method: bool) -> None:
    outputs = _outputs(operator)
    in_place = not outputs and bool(operator.arguments) and operator.arguments[0].written
    rest = [a for a in operator.arguments if a not in outputs]
    if as_method:
        rest = rest[1:]
    parameters = [f"Tensor& {a.name}" for a in outputs]
    values: list[str] = []
    names = [a.name for a in rest]
    packed = all(name in names for name in _OPTIONS)
    try:
        for argument in rest:
            if packed and argument.name in _OPTIONS:
                if argument.name == "dtype":
                    parameters.append("const TensorOptions& options=TensorOptions()")
                value = f"options.{'pinned_memory' if argument.name == 'pin_memory' else argument.name}_opt()"
            else:
                parameters.append(_parameter(argument))
                value = _word(argument)
            values.append(f'foretell::Value("{argument.name}", {value})' if argument.keyword_only else value)
    except ValueError:
        return
    values += [f'foretell::Value("{a.name}", {a.name})' for a in outputs]
    if as_method:
        values.insert(0, "*this")
    if len(operator.returns) > 1:
        result = f"std::tuple<{', '.join(_RESULTS[kind] for kind in operator.returns)}>"
    else:
        result = _RESULTS[operator.returns[0]] if operator.returns else "void"
    call = f'foretell::call("{operator.name}", "{operator.overload}", values, {len(values)})'
    body = (
        f"const foretell::Value values[] = {{{', '.join(values)}}}; "
        if values
        else "const foretell::Value* values = nullptr; "
    )
    if in_place or (outputs and len(operator.returns) == 1):
        target = "const_cast<Tensor&>(*this)" if as_method else (outputs[0].name if outputs else rest[0].name)
        result, body = "Tensor&", f"{body}foretell::drop({call}); return {target};"
    else:
        body += f"return foretell::Result<{result}>::take({call});"
    name = f"{operator.name}_out" if outputs else operator.name
    if as_method:
        methods.append(f"  {result} {name}({', '.join(parameters)}) const;")
        bare = ", ".join(parameter.split("=")[0] for parameter in parameters)
        functions.append(f"inline {result} Tensor::{name}({bare}) const {{ {body} }}")
    else:
        functions.append(f"inline {result} {name}({', '.join(parameters)}) {{ {body} }}")


def _parameter(argument: Argument) -> str:
    kind = "Tensor&" if argument.written else _TYPES[argument.type]
    if argument.default is None:
        return f"{kind} {_word(argument)}"
    return f"{kind} {_word(argument)}={_default(argument)}"


def _word(argument: Argument) -> str:
    """The parameter's name in C++, where `std` is taken."""
    return f"{argument.name}_" if argument.name == "std" else argument.name


def _default(argument: Argument) -> str:
    text = argument.default or ""
    if text == "None":
        return "{}" if "OptionalIntArrayRef" in _TYPES[argument.type] else "std::nullopt"
    if text in ("True", "False"):
        return text.lower()
    if text.startswith("["):
        return "{" + text[1:-1] + "}"
    if re.fullmatch(r"-?\d+(?:\.\d*)?(?:e-?\d+)?|\"\w*\"", text):
        return text
    raise ValueError(f"no C++ for the default {text}")
