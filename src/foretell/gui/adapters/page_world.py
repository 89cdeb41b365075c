"""Questions to a page that its own scripts cannot answer for it, each with a time limit.

Chromium runs a question in an isolated world of the page (`Page.createIsolatedWorld`), which shares the page's elements
and none of its objects: what a page does to `Array` or to `Element.prototype` is not there. The world is asked for
anew with each question, since a navigation ends it; while it lives, Chromium gives the same one. Other browsers know no
such world: there the page can answer anything. In either case whoever asks has to check what comes back.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

ASK_S = 3.0  # the most that one question may take
WORLD = "foretell"

T = TypeVar("T")
Messages = Generator[tuple[str, dict[str, Any]], Any, Any]


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Calls of Playwright's sync API within end after so long with its TimeoutError, whatever the page does.

    That API runs an event loop in the thread of its caller, and one task of the loop for each call. A task that its
    time limit finds is cancelled, which tells the browser's driver to forget the call.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # something that is called like a page and is none of Playwright's
        yield
        return
    earlier, late = asyncio.all_tasks(loop), False

    def stop() -> None:
        nonlocal late
        late = True
        for task in asyncio.all_tasks(loop) - earlier:
            task.cancel()

    timer = loop.call_later(seconds, stop)
    try:
        yield
    except asyncio.CancelledError:
        if not late:
            raise
        raise too_slow(seconds) from None
    finally:
        timer.cancel()


async def limited_async(call: Awaitable[T], seconds: float) -> T:
    """The same for a call of the async API."""
    try:
        return await asyncio.wait_for(call, seconds)
    except TimeoutError:
        raise too_slow(seconds) from None


def too_slow(seconds: float) -> Exception:
    """Playwright's own error for what takes too long."""
    from playwright.sync_api import TimeoutError as TooSlow

    error: Exception = TooSlow(f"no answer within {seconds:g} s")
    return error


class PageWorld:
    """The world of a page of `playwright.sync_api`. Raises Playwright's errors, its TimeoutError among them."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self._session: Any = None

    def ask(self, function: str, argument: Any = None, seconds: float = ASK_S) -> Any:
        """What a JavaScript function answers to an argument of JSON."""
        with limited(seconds):
            if not is_chromium(self.page):
                with _readable():
                    return self.page.evaluate(function, argument)
            return self._sent(_asked(function, argument, seconds))

    def send(self, messages: Messages, seconds: float) -> Any:
        """What Chromium answers to messages of its protocol, which no script of the page notices."""
        with limited(seconds):
            return self._sent(messages)

    def _sent(self, messages: Messages) -> Any:
        if self._session is None:
            self._session = self.page.context.new_cdp_session(self.page)
        try:
            wish = next(messages)
            while True:
                wish = messages.send(self._session.send(*wish))
        except StopIteration as end:
            return end.value
        except Exception:
            self._session = None  # it may have gone with the page; the next question has one of its own
            raise


class AsyncPageWorld:
    """The same for a page of `playwright.async_api`."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self._session: Any = None

    async def ask(self, function: str, argument: Any = None, seconds: float = ASK_S) -> Any:
        return await limited_async(self._ask(function, argument, seconds), seconds)

    async def _ask(self, function: str, argument: Any, seconds: float) -> Any:
        if not is_chromium(self.page):
            with _readable():
                return await self.page.evaluate(function, argument)
        return await self._sent(_asked(function, argument, seconds))

    async def send(self, messages: Messages, seconds: float) -> Any:
        """What Chromium answers to messages of its protocol, which no script of the page notices."""
        return await limited_async(self._sent(messages), seconds)

    async def _sent(self, messages: Messages) -> Any:
        if self._session is None:
            self._session = await self.page.context.new_cdp_session(self.page)
        try:
            wish = next(messages)
            while True:
                wish = messages.send(await self._session.send(*wish))
        except StopIteration as end:
            return end.value
        except Exception:
            self._session = None
            raise


def is_chromium(page: Any) -> bool:
    """Whether a page has isolated worlds that can be asked for; a browser that does not say so is taken for another."""
    browser = getattr(getattr(page, "context", None), "browser", None)
    return getattr(getattr(browser, "browser_type", None), "name", None) == "chromium"


@contextmanager
def _readable() -> Iterator[None]:
    """A page can answer with what Playwright fails to read: a date in no calendar, a thing within itself."""
    from playwright.sync_api import Error

    try:
        yield
    except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError) as error:
        raise Error(f"the answer of the page cannot be read ({type(error).__name__})") from None


def _asked(function: str, argument: Any, seconds: float) -> Messages:
    """The messages of Chromium's protocol that ask a page's main frame, and its answer."""
    from playwright.sync_api import Error

    try:
        tree = yield "Page.getFrameTree", {}
        frame = tree["frameTree"]["frame"]["id"]
        made = {"frameId": frame, "worldName": WORLD, "grantUniveralAccess": False}  # the protocol spells it so
        world = yield "Page.createIsolatedWorld", made
        answer = yield (
            "Runtime.evaluate",
            {
                "expression": f"({function})({json.dumps(argument)})",
                "contextId": world["executionContextId"],
                "returnByValue": True,
                "silent": True,
                "timeout": 1000.0 * seconds,
            },
        )
        if "exceptionDetails" not in answer:
            return answer["result"].get("value")
    except (KeyError, TypeError, AttributeError):  # an answer that is none of the protocol's
        pass
    raise Error("the question to the page failed")
