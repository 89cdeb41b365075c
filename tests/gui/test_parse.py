"""Every tool-call form gives the same actions, coordinates land on the same pixels, and a fault is a value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.parse import (
    BadProposal,
    Form,
    Reason,
    Scale,
    parse,
    read,
)
from foretell.gui.parse.keys import combination, is_known

SIZE = (480, 630)


def one(said: object, scale: Scale = Scale.PIXELS, form: Form | None = None) -> Action:
    proposal = parse(said, form, scale, SIZE)
    assert len(proposal.actions) == 1
    return proposal.actions[0]


def qwen(**arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': 'computer_use', 'arguments': arguments})}\n</tool_call>"


def openai(**action: Any) -> dict[str, Any]:
    return {"type": "computer_call", "call_id": "c1", "action": action, "status": "completed"}


def anthropic(**given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t1", "name": "computer", "input": given}


def function(**parameters: str) -> str:
    inside = "\n".join(f"<parameter={name}>\n{value}\n</parameter>" for name, value in parameters.items())
    return f"<tool_call>\n<function=computer_use>\n{inside}\n</function>\n</tool_call>"


def completion(content: str | None, *arguments: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {"id": "1", "type": "function", "function": {"name": "computer_use", "arguments": json.dumps(one)}}
        for one in arguments
    ]
    message = {"role": "assistant", "content": content, "refusal": None, "tool_calls": calls or None}
    return {"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": message}]}


CLICK = Action(Kind.CLICK, Point(120, 60))
DRAG = Action(Kind.DRAG, Point(10, 20), Point(30, 40))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (qwen(action="left_click", coordinate=[120, 60]), CLICK),
        ('{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [120, 60]}}', CLICK),
        ('{"name": "mobile_use", "arguments": "{\\"action\\": \\"click\\", \\"coordinate\\": [120, 60]}"}', CLICK),
        ({"action": "left_click", "coordinate": [120, 60]}, CLICK),
        ('```json\n{"action_type": "click", "x": 120, "y": 60}\n```', CLICK),
        (
            "<tool_call><function=computer_use>\n<parameter=action>\nleft_click\n</parameter>\n"
            "<parameter=coordinate>\n[120, 60]\n</parameter></function></tool_call>",
            CLICK,
        ),
        (openai(type="click", x=120, y=60, button="left"), CLICK),
        (json.dumps(openai(type="click", x=120, y=60)), CLICK),
        (anthropic(action="left_click", coordinate=[120, 60]), CLICK),
        ({"role": "assistant", "content": [anthropic(action="left_click", coordinate=[120, 60])]}, CLICK),
        ("pyautogui.click(120, 60)", CLICK),
        ("click(x=120, y=60)", CLICK),
        ("await page.mouse.click(120, 60)", CLICK),
        ("mouse_click(120, 60)", CLICK),
        ("Thought: the button.\nAction: click(start_box='(120,60)')", CLICK),
        ("click(start_box='<|box_start|>(110,50,130,70)<|box_end|>')", CLICK),
        ("click(point='<point>120 60</point>')", CLICK),
        (qwen(action="type", text="a 'b'\n"), Action(Kind.TYPE, text="a 'b'\n")),
        ("pyautogui.write('hello', interval=0.1)", Action(Kind.TYPE, text="hello")),
        ("type(content='hello')", Action(Kind.TYPE, text="hello")),
        (qwen(action="key", keys=["ctrl", "a"]), Action(Kind.KEY, keys=("ctrl", "a"))),
        (openai(type="keypress", keys=["CTRL", "A"]), Action(Kind.KEY, keys=("ctrl", "a"))),
        (anthropic(action="key", text="Return"), Action(Kind.KEY, keys=("enter",))),
        ("pyautogui.hotkey('ctrl', 'a')", Action(Kind.KEY, keys=("ctrl", "a"))),
        ("hotkey(key='ctrl a')", Action(Kind.KEY, keys=("ctrl", "a"))),
        (qwen(action="scroll", pixels=-300), Action(Kind.SCROLL, dy=300.0)),
        (qwen(action="hscroll", pixels=300), Action(Kind.SCROLL, dx=300.0)),
        (openai(type="scroll", x=1, y=2, scroll_x=0, scroll_y=300), Action(Kind.SCROLL, Point(1, 2), dy=300.0)),
        (
            anthropic(action="scroll", coordinate=[1, 2], scroll_direction="up", scroll_amount=3),
            Action(Kind.SCROLL, Point(1, 2), dy=-300.0),
        ),
        ("pyautogui.scroll(-3)", Action(Kind.SCROLL, dy=300.0)),
        ("scroll(0, 300)", Action(Kind.SCROLL, dy=300.0)),
        ("scroll(start_box='(1,2)', direction='left')", Action(Kind.SCROLL, Point(1, 2), dx=-500.0)),
        (openai(type="drag", path=[{"x": 10, "y": 20}, {"x": 15, "y": 20}, {"x": 30, "y": 40}]), DRAG),
        (anthropic(action="left_click_drag", start_coordinate=[10, 20], coordinate=[30, 40]), DRAG),
        (qwen(action="swipe", coordinate=[10, 20], coordinate2=[30, 40]), DRAG),
        ("drag(start_box='(10,20)', end_box='(30,40)')", DRAG),
        ("mouse_drag_and_drop(10, 20, 30, 40)", DRAG),
        (openai(type="click", x=1, y=2, button="wheel"), Action(Kind.MIDDLE_CLICK, Point(1, 2))),
        ("pyautogui.click(1, 2, clicks=2)", Action(Kind.DOUBLE_CLICK, Point(1, 2))),
        ("right_single(start_box='(1,2)')", Action(Kind.RIGHT_CLICK, Point(1, 2))),
        (
            anthropic(action="left_click", coordinate=[1, 2], text="shift"),
            Action(Kind.CLICK, Point(1, 2), keys=("shift",)),
        ),
        (
            anthropic(action="scroll", coordinate=[1, 2], scroll_direction="up", scroll_amount=3, text="ctrl"),
            Action(Kind.SCROLL, Point(1, 2), keys=("ctrl",), dy=-300.0),
        ),
        (
            openai(type="drag", path=[{"x": 10, "y": 20}, {"x": 30, "y": 40}], keys=["ALT", "SHIFT"]),
            Action(Kind.DRAG, Point(10, 20), Point(30, 40), keys=("alt", "shift")),
        ),
        (anthropic(action="hold_key", text="a", duration=2), Action(Kind.KEY, keys=("a",), seconds=2.0)),
        (function(action="type", text="2024"), Action(Kind.TYPE, text="2024")),
        (function(action="type", text="true"), Action(Kind.TYPE, text="true")),
        (function(action="type", text="[1, 2]"), Action(Kind.TYPE, text="[1, 2]")),
        (function(action="left_click", coordinate="[120, 60]"), CLICK),
        (function(action="key", keys="5"), Action(Kind.KEY, keys=("5",))),
        (function(action="wait", time="2"), Action(Kind.WAIT, seconds=2.0)),
        (completion("I click.", {"action": "left_click", "coordinate": [120, 60]}), CLICK),
        (completion(qwen(action="left_click", coordinate=[120, 60])), CLICK),
        (completion("pyautogui.click(120, 60)"), CLICK),
        (json.dumps(completion(qwen(action="left_click", coordinate=[120, 60]))), CLICK),
        ({"role": "assistant", "content": qwen(action="left_click", coordinate=[120, 60])}, CLICK),
        (
            {
                "role": "assistant",
                "content": [{"type": "text", "text": qwen(action="left_click", coordinate=[120, 60])}],
            },
            CLICK,
        ),
        ({"message": {"role": "assistant", "content": "click(x=120, y=60)"}, "done": True}, CLICK),
        ("long_press(start_box='(1,2)', time='')", Action(Kind.LONG_PRESS, Point(1, 2))),
        (qwen(action="left_click", coordinate=["120", "60.0"]), CLICK),
        ({"action": "left_click", "x": "120", "y": " 60"}, CLICK),
        (qwen(action="long_press", coordinate=[1, 2], time=2), Action(Kind.LONG_PRESS, Point(1, 2), seconds=2.0)),
        (qwen(action="system_button", button="Back"), Action(Kind.BACK)),
        (anthropic(action="screenshot"), Action(Kind.WAIT)),
        ("import time\ntime.sleep(2)", Action(Kind.WAIT, seconds=2.0)),
        (qwen(action="terminate", status="failure"), Action(Kind.TERMINATE, success=False)),
        ("DONE", Action(Kind.TERMINATE, success=True)),
        ("finished(content='42')", Action(Kind.TERMINATE, text="42", success=True)),
        ("terminate('success')", Action(Kind.TERMINATE, success=True)),
        (qwen(action="answer", text="42"), Action(Kind.ANSWER, text="42")),
        (
            [{"type": "message", "content": [{"type": "output_text", "text": "It is 42."}]}],
            Action(Kind.ANSWER, text="It is 42."),
        ),
        ("page.goto('https://a.example')", Action(Kind.NAVIGATE, text="https://a.example")),
    ],
)
def test_forms(said: object, expected: Action) -> None:
    assert one(said) == expected


@pytest.mark.parametrize(
    ("said", "intent"),
    [
        ('Thought: x.\nAction: "Click the Submit button"\n' + qwen(action="wait", time=1), "Click the Submit button"),
        ("<think>Scroll?</think>I will wait a little.\n" + qwen(action="wait", time=1), "I will wait a little."),
        ("Thought: It loads. Wait for it.\nAction: wait()", "Wait for it."),
        ("```python\n# wait for the page\ntime.sleep(1)\n```", "wait for the page"),
        (
            [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Waiting"}]}, openai(type="wait")],
            "Waiting",
        ),
        ([{"type": "text", "text": "Let me wait."}, anthropic(action="wait", duration=1)], "Let me wait."),
        ({"content": "Action: wait", "tool_calls": [{"function": {"name": "wait", "arguments": "{}"}}]}, "wait"),
        (qwen(action="wait", time=1), None),
    ],
)
def test_intent(said: object, intent: str | None) -> None:
    proposal = parse(said, None, Scale.PIXELS, SIZE)
    assert proposal.intent == intent
    assert [action.kind for action in proposal.actions] == [Kind.WAIT]


@pytest.mark.parametrize(
    ("begin", "end"), [("<think>", "</think>"), ("<Thinking>\n", "\n</Thinking>\n"), ("", "</think>")]
)
@pytest.mark.parametrize(
    ("thought", "said"),
    [
        ("I try this:\nclick(9, 9)\n", "\nclick(120, 60)"),
        ("```python\nclick(9, 9)\n```", "\nclick(120, 60)"),
        (qwen(action="left_click", coordinate=[9, 9]), qwen(action="left_click", coordinate=[120, 60])),
        ('{"action": "left_click", "coordinate": [9, 9]}', '{"action": "left_click", "coordinate": [120, 60]}'),
        ("Action: click(9, 9)", '[{"action": "left_click", "coordinate": [120, 60]}]'),
    ],
)
def test_thoughts_hold_no_calls(begin: str, end: str, thought: str, said: str) -> None:
    assert one(begin + thought + end + said) == CLICK
    assert one({"role": "assistant", "content": begin + thought + end + said}) == CLICK
    assert read(begin + thought + end + "That is all.", None, Scale.PIXELS, SIZE).fault
    proposal = read(begin + thought + end + f"Press Go.\n{said.strip()}", None, Scale.PIXELS, SIZE)
    assert proposal.intent == "Press Go."


def test_a_thought_that_never_ends_is_no_proposal_and_none_is_answered() -> None:
    assert read("<think>\nclick(9, 9)", None, Scale.PIXELS, SIZE).fault
    message = [{"type": "text", "text": "<think>click(9, 9)</think>It is 42."}]
    assert one(message) == Action(Kind.ANSWER, text="It is 42.")
    assert one('{"action": "type", "text": "</think>"}') == Action(Kind.TYPE, text="</think>")


def test_several_calls_keep_their_order_and_share_the_pointer() -> None:
    code = "pyautogui.moveTo(10, 20)\npyautogui.dragTo(30, 40)\npyautogui.press(['tab', 'enter'])"
    actions = parse(code, None, Scale.PIXELS, SIZE).actions
    assert actions == (Action(Kind.MOVE, Point(10, 20)), DRAG, *(Action(Kind.KEY, keys=(k,)) for k in ("tab", "enter")))
    two = qwen(action="left_click", coordinate=[1, 2]) + qwen(action="type", text="a")
    assert [action.kind for action in parse(two, None, Scale.PIXELS, SIZE).actions] == [Kind.CLICK, Kind.TYPE]
    with pytest.raises(BadProposal) as caught:
        parse(two, None, Scale.PIXELS, SIZE, max_calls=1)
    assert caught.value.reason is Reason.SEVERAL


def test_a_point_left_out_is_where_the_cursor_is() -> None:
    proposal = parse(anthropic(action="left_click"), None, Scale.PIXELS, SIZE, cursor=Point(7, 8))
    assert proposal.actions == (Action(Kind.CLICK, Point(7, 8)),)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", Reason.UNREADABLE),
        ("I would click on the button now.", Reason.UNREADABLE),
        ("<tool_call>{'action': 'click'}</tool_call>", Reason.UNREADABLE),
        ("click(x=1, y=", Reason.UNREADABLE),
        (qwen(action="left_click"), Reason.MISSING),
        (qwen(action="left_click_drag", coordinate=[1, 2]), Reason.MISSING),
        (qwen(action="type"), Reason.MISSING),
        (qwen(action="key", keys=[]), Reason.MISSING),
        (qwen(action="scroll"), Reason.MISSING),
        (qwen(coordinate=[1, 2]), Reason.MISSING),
        (openai(type="click", x=1), Reason.MISSING),
        (openai(type="click", x="", y="2"), Reason.WRONG_TYPE),
        (openai(type="click", x="1_0", y="2"), Reason.WRONG_TYPE),
        (completion(None), Reason.UNREADABLE),
        (completion("I would click on the button now."), Reason.UNREADABLE),
        ({"choices": []}, Reason.MISSING),
        (qwen(action="clik", coordinate=[1, 2]), Reason.UNKNOWN_KIND),
        ("explode(1, 2)", Reason.UNKNOWN_KIND),
        (qwen(action="left_click", coordinate=["a", 2]), Reason.WRONG_TYPE),
        (qwen(action="left_click", coordinate=[1, 2, 3]), Reason.WRONG_TYPE),
        (qwen(action="left_click", coordinate=[1, float("nan")]), Reason.WRONG_TYPE),
        (qwen(action="left_click", coordinate=[True, 2]), Reason.WRONG_TYPE),
        (qwen(action="type", text=5), Reason.WRONG_TYPE),
        (openai(type="click", x=1, y=2, button="fourth"), Reason.WRONG_TYPE),
        (anthropic(action="scroll", coordinate=[1, 2], scroll_direction="sideways"), Reason.WRONG_TYPE),
        ([1, 2], Reason.WRONG_TYPE),
        (None, Reason.WRONG_TYPE),
        ("click(x=a, y=b)", Reason.UNSUPPORTED),
        ("for i in range(3):\n    click(x=1, y=i)", Reason.UNSUPPORTED),
        ("click(x=__import__('os').getpid(), y=1)", Reason.UNSUPPORTED),
        ("pyautogui.mouseDown()", Reason.UNSUPPORTED),
    ],
)
def test_faults_are_typed_and_values(said: object, reason: Reason) -> None:
    with pytest.raises(BadProposal) as caught:
        parse(said, None, Scale.PIXELS, SIZE)
    assert caught.value.reason is reason
    proposal = read(said, None, Scale.PIXELS, SIZE)
    assert proposal.actions == ()
    assert proposal.fault == str(caught.value)
    assert proposal.raw == (said if isinstance(said, str) else json.dumps(said))


def test_a_fault_never_shows_what_was_to_be_typed() -> None:
    for said in (qwen(action="type", text=["hunter2"]), "type(hunter2)", '<tool_call>{"text": hunter2</tool_call>'):
        assert "hunter2" not in (read(said, None, Scale.PIXELS, SIZE).fault or "")


def test_the_form_asked_for_is_the_only_one_read() -> None:
    assert read("click(x=1, y=2)", Form.QWEN, Scale.PIXELS, SIZE).fault
    assert read(qwen(action="left_click", coordinate=[1, 2]), Form.PYTHON, Scale.PIXELS, SIZE).fault
    assert one(openai(type="wait"), form=Form.OPENAI).kind is Kind.WAIT


class _Dumps:
    def __init__(self, value: object) -> None:
        self._value = value

    def model_dump(self) -> object:
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


def test_objects_of_client_libraries() -> None:
    assert one([_Dumps(openai(type="click", x=120, y=60))]) == CLICK
    assert read(_Dumps(RuntimeError("no")), None, Scale.PIXELS, SIZE).fault


@pytest.mark.parametrize(
    ("written", "scale", "point"),
    [
        ([240, 315], Scale.PIXELS, Point(240, 315)),
        ([0.5, 0.5], Scale.UNIT, Point(240, 315)),
        ([500, 500], Scale.THOUSANDTHS, Point(240, 315)),
        ([0.5, 0.5], Scale.AUTO, Point(240, 315)),
        ([1200, 3], Scale.AUTO, Point(1200, 3)),
        ([1000, 0], Scale.THOUSANDTHS, Point(479.5, 0)),
        ([1100, 0], Scale.THOUSANDTHS, Point(528, 0)),
    ],
)
def test_scales(written: list[float], scale: Scale, point: Point) -> None:
    assert one(qwen(action="left_click", coordinate=written), scale).point == point


def test_auto_refuses_to_guess_but_knows_forms_that_are_always_in_pixels() -> None:
    fault = read(qwen(action="left_click", coordinate=[500, 500]), None, Scale.AUTO, SIZE).fault
    assert fault is not None
    assert fault.startswith(Reason.AMBIGUOUS)
    assert one(openai(type="click", x=50, y=50), Scale.AUTO).point == Point(50, 50)
    assert one("pyautogui.click(50, 50)", Scale.AUTO).point == Point(50, 50)


CALL = qwen(action="left_click", coordinate=[500, 250])


@pytest.mark.parametrize("scale", [Scale.AUTO, Scale.UNIT, Scale.THOUSANDTHS])
@pytest.mark.parametrize("said", [CALL, "click(500, 250)", qwen(action="left_click", coordinate=[0.5, 0.25])])
def test_without_the_size_only_pixels_are_read(said: str, scale: Scale) -> None:
    assert (read(said, scale=scale).fault or "").startswith(Reason.AMBIGUOUS)
    assert not read(qwen(action="wait", time=1), scale=scale).fault


def test_pixels_need_no_size() -> None:
    assert read(CALL, scale=Scale.PIXELS).actions[0].point == Point(500, 250)
    assert read(openai(type="click", x=500, y=250)).actions[0].point == Point(500, 250)
    assert read("pyautogui.click(500, 250)").actions[0].point == Point(500, 250)


@pytest.mark.parametrize(
    ("said", "scale", "point"),
    [
        (CALL, Scale.PIXELS, Point(1000, 500)),
        (anthropic(action="left_click", coordinate=[500, 250]), Scale.AUTO, Point(1000, 500)),
        (CALL, Scale.THOUSANDTHS, Point(1280, 360)),
        ("click(0.5, 0.25)", Scale.AUTO, Point(1280, 360)),
        (qwen(action="left_click", coordinate=[1280, 0]), Scale.AUTO, Point(2560, 0)),
    ],
)
def test_pixels_of_a_picture_that_was_made_smaller(said: object, scale: Scale, point: Point) -> None:
    proposal = read(said, None, scale, (2560, 1440), seen=(1280, 720))
    assert proposal.actions == (Action(Kind.CLICK, point),)


def test_the_cursor_is_on_the_screen_whatever_was_seen() -> None:
    said = anthropic(action="left_click_drag", coordinate=[10, 20])
    proposal = read(said, size=(200, 300), seen=(100, 100), cursor=Point(7, 8))
    assert proposal.actions == (Action(Kind.DRAG, Point(7, 8), Point(20, 60)),)


def test_what_was_seen_needs_both_sizes() -> None:
    for size, seen in ((None, (1280, 720)), ((2560, 1440), (0, 0))):
        assert (read(CALL, scale=Scale.PIXELS, size=size, seen=seen).fault or "").startswith(Reason.AMBIGUOUS)
    assert (read(CALL, size=(2560, 1440), seen=(1280, 720)).fault or "").startswith(Reason.AMBIGUOUS)


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        ("volume_up", ("volumeup",)),
        ("KEYCODE_VOLUME_DOWN", ("volumedown",)),
        ("KEYCODE_DEL", ("backspace",)),
        ("camera", ("camera",)),
        ("KP_0", ("kp_0",)),
        ("Numpad7", ("kp_7",)),
        ("ctrl+question", ("ctrl", "?")),
        ("BracketLeft", ("[",)),
        ("ctrl+shift+T", ("ctrl", "shift", "t")),
        ("Control-C", ("ctrl", "c")),
        ("ctrl++", ("ctrl", "plus")),
        ("+", ("plus",)),
        ("-", ("minus",)),
        ("Page_Down", ("pagedown",)),
    ],
)
def test_key_combinations(written: str, keys: tuple[str, ...]) -> None:
    assert combination(written) == keys
    assert all(map(is_known, keys))


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["click", "tool_use", "computer_call"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "name",
                    "action",
                    "actions",
                    "arguments",
                    "input",
                    "coordinate",
                    "x",
                    "y",
                    "content",
                    "output",
                    "tool_calls",
                    "keys",
                    "choices",
                    "message",
                    "role",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_JSON | st.text() | st.text(alphabet="click(){}[]<>tool_call/=\"',:1.\n# "), st.none() | st.sampled_from(Form))
def test_read_never_raises(said: object, form: Form | None) -> None:
    proposal = read(said, form, Scale.AUTO, SIZE)
    assert bool(proposal.actions) != bool(proposal.fault)
