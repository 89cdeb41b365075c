"""Attack the sandbox in every kind that works here, as root and as an ordinary user, and the readers of received files.

python -m benchmarks.sandbox_attacks.run --out benchmarks/results/sandbox_attacks.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.sandbox_attacks.files import file_attacks
from benchmarks.sandbox_attacks.programs import EXCESS, PROGRAMS
from foretell.kernels.limits import PROBE_LIMITS
from foretell.kernels.sandbox import ForkServer, JobFailed, Kind
from foretell.kernels.sandbox.kinds import works
from foretell.kernels.sandbox.probes.decoys import Decoys

RUN = "foretell.kernels.walls.probes.excess:run"
LIMITS = replace(PROBE_LIMITS, wall_s=20.0, memory_bytes=128 << 20, scratch_bytes=64 << 20, processes=16)
HEAD = """
import ctypes, fcntl, json, mmap, os, socket, struct, time
from foretell.kernels.walls.probes.probe import Target
T, DATAGRAMS, TOOL, OTHERS = Target(**json.loads({target!r})), {datagrams!r}, {tool!r}, {others!r}
libc, breach = ctypes.CDLL(None), False
"""
HERE = "benchmarks.sandbox_attacks.run"


def in_kind(name: str) -> str:
    """All attacks by code in the sandbox of one kind, as JSON: [class, attack, breached]."""
    os.environ["FAKE_SECRET"] = "of the caller"
    rows: list[tuple[str, str, bool]] = []
    with tempfile.TemporaryDirectory(prefix="attacks-") as folder, Decoys() as decoys:
        readable, others = Path(folder, "readable"), Path(folder, "others")
        readable.mkdir()
        (others / "kept").mkdir(parents=True)
        (others / "kept" / "secret").write_text("of another candidate")
        tool = readable / "tool"
        tool.write_text("as it was")
        tool.chmod(0o644)
        os.environ["FORETELL_READABLE"] = str(readable)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listener.bind(f"{folder}/service")
        server = ForkServer(("json", "foretell.kernels.walls.probes.excess"), readable=(others,), kind=Kind(name))
        head = HEAD.format(
            target=json.dumps(decoys.target.to_dict()),
            datagrams=f"{folder}/service",
            tool=str(tool),
            others=str(others),
        )
        for attack, (group, program) in PROGRAMS.items():
            rows.append((group, attack, _answer(server, f"{head}{program}\nanswer = str(bool(breach))") == "True"))
        for attack, program in EXCESS.items():
            text = f"{head}{program}\ntime.sleep(1)\nanswer = 'True'"
            rows.append(("limits", attack, _answer(server, text) == "True"))
        for place in ("cache/kept", "cache"):
            rows.append(("read", f"a link in the place of {place}", _stolen(server, place, others)))
        server.close()
        rows.append(("all of these", "damage to decoys, files or processes left", bool(decoys.damage())))
        changed = tool.stat().st_mode & 0o777 != 0o644 or bool(os.listxattr(tool))
        rows.append(("all of these", "change of the readable file", changed))
        listener.close()
    return json.dumps(rows)


def _answer(server: ForkServer, program: str) -> str:
    try:
        return server.call(RUN, program.encode(), LIMITS).decode()
    except JobFailed:
        return "held"


def _stolen(server: ForkServer, place: str, others: Path) -> bool:
    target = others / "kept" if place == "cache/kept" else others
    move = "os.rename('cache', 'old')" if place == "cache" else "pass"
    program = f"import os\n{move}\nos.symlink({str(target)!r}, {place!r})\nanswer = ''"
    return bool(server.submit(RUN, program.encode(), LIMITS, keep=["kept"]).result().files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--without-readers", action="store_true", help="Only attacks by code in the sandbox.")
    asked = parser.parse_args()
    out = asked.out
    from tests.kernels.sandbox import ordinary

    started, rows = time.time(), []
    for kind in (kind for kind in Kind if works(kind)):
        for user in ("root", "ordinary") if os.getuid() == 0 else ("ordinary",):
            here = user == "root" or os.getuid() != 0
            found = in_kind(kind.value) if here else ordinary.call(f"{HERE}:in_kind", kind.value)
            rows += [[kind.value, user, *row] for row in json.loads(found)]
            print(kind, user, Counter("breached" if row[2] else "held" for row in json.loads(found)), flush=True)
    user = "root" if os.getuid() == 0 else "ordinary"
    rows += [["reader", user, *row] for row in ([] if asked.without_readers else file_attacks())]
    about: dict[str, Any] = {
        "machine": platform.machine(), "kernel": platform.release(), "python": platform.python_version(),
        "seconds": round(time.time() - started, 1), "columns": ["kind", "user", "class", "attack", "breached"],
    }  # fmt: skip
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    out.write_text(f'{json.dumps(about)[:-1]},\n "rows": [\n  {lines}\n]}}\n')
    print(page(rows))


def page(rows: list[list[Any]]) -> str:
    """The table of the page: breaches of attacks by class, for each kind and user."""
    columns = list(dict.fromkeys((row[0], row[1]) for row in rows))
    classes = list(dict.fromkeys(row[2] for row in rows))
    lines = [
        "| class | " + " | ".join(f"{kind}, {user}" for kind, user in columns) + " |",
        "| --- |" + " --- |" * len(columns),
    ]
    for group in classes:
        cells = []
        for column in columns:
            found = [row[4] for row in rows if (row[0], row[1]) == column and row[2] == group]
            cells.append(f"{sum(found)} of {len(found)}" if found else "")
        lines.append(f"| {group} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
