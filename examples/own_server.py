"""Your own language-model server as the proposer: any function that takes a prompt and returns an answer will do.

    python examples/own_server.py http://localhost:8000/v1 MODEL [TASK]

For an OpenAI-compatible server the name alone is enough, with budgets, retries and a cache (docs/lm.md):

    foretell search softmax --proposer openai:MODEL@http://localhost:8000/v1
"""

from __future__ import annotations

import sys

import httpx

import foretell as ft


class Server:
    """Asks a chat server for one program per prompt."""

    def __init__(self, url: str, model: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=600)
        self._model = model

    def __call__(self, prompt: str) -> str:
        question = {"model": self._model, "messages": [{"role": "user", "content": prompt}], "temperature": 0.8}
        answer = self._client.post("chat/completions", json=question).raise_for_status().json()
        return str(answer["choices"][0]["message"]["content"])


def search(url: str, model: str, task: str = "softmax", measurements: int = 16) -> ft.Run:
    """Search with that server; each answer is one block of code, or a diff of the program it was shown."""
    run = ft.search(task, proposer=Server(url, model), measurements=measurements, candidates=4 * measurements)
    print(run)
    if run.best is not None:
        print(run.best.source)
    return run


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    search(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "softmax")
