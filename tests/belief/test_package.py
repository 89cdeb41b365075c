import subprocess
import sys

import foretell.belief


def test_every_public_name_exists_once() -> None:
    names = foretell.belief.__all__
    assert all(hasattr(foretell.belief, name) for name in names)
    assert len(set(names)) == len(names)


def test_only_numpy_is_needed() -> None:
    heavy = ("scipy", "sklearn", "pandas", "torch", "hypothesis", "scoringrules")
    code = f"import sys, foretell.belief; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
