"""The embedded critic: learns from recorded proposals, judges new ones, and describes what it sees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")
pytest.importorskip("sklearn")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.critic import EmbeddedCritic, RulesCritic
from foretell.gui.critic_model import BadCriticModel, Chances, CriticModel, humbled, never_done
from foretell.gui.dataset import DatasetError, Row, read_rows, save_image, write_rows
from foretell.gui.described import describe
from foretell.gui.history import History, Step
from foretell.gui.judgement import ErrorClass, Judgement, Pictures, sound
from foretell.gui.observation import Observation, Proposal
from foretell.gui.parse.faults import Reason
from foretell.gui.train_critic import Effort, family, train
from tests.gui.drawn import CANCEL, GOAL, SUBMIT, form, middle

QUICK = Effort(trees=30, members=1, error_trees=10, folds=4)
SAID = "click the button 'Submit'"


def at(x: float, y: float, intent: str | None = SAID) -> Proposal:
    return Proposal((Action(Kind.CLICK, point=Point(x, y)),), intent)


def rows(folder: Path) -> list[Row]:
    """Hits on Submit, misses beside it, and clicks on Cancel, in eight tasks."""
    rng = np.random.default_rng(0)
    save_image(folder / "form.png", form())
    found = []
    for number in range(240):
        x, y = middle(SUBMIT)
        error = (None, ErrorClass.GROUNDING, ErrorClass.SEMANTIC)[number % 3]
        if error is ErrorClass.GROUNDING:
            x += float(rng.choice([-1, 1])) * rng.uniform(100, 140)
        elif error is ErrorClass.SEMANTIC:
            x, y = middle(CANCEL)
        proposal = at(x + rng.uniform(-20, 20) * (error is None), y + rng.uniform(-8, 8))
        task = f"task-{number % 8}-easy"
        step = Step(Action(Kind.WAIT), "elsewhere", True, "wait")
        history = History(steps=(step,), count=1) if number % 2 else History()
        found.append(
            Row(str(number), task, number, 0, "train", GOAL, "form.png", history, proposal, error is not None, error)
        )
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("recorded")
    write_rows(place, rows(place))
    return place


@pytest.fixture(scope="module")
def critic(folder: Path) -> EmbeddedCritic:
    model = train(describe(folder, read_rows(folder)), seed=1, effort=QUICK)
    model.save(folder / "model.npz")
    return EmbeddedCritic(CriticModel.load(folder / "model.npz"))


def test_rows_are_read_as_they_were_written(folder: Path, tmp_path: Path) -> None:
    assert list(read_rows(folder)) == rows(tmp_path)


def test_lines_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="does not exist"):
        list(read_rows(tmp_path))
    write_rows(tmp_path, rows(tmp_path)[:1])
    with (tmp_path / "proposals.jsonl").open("a") as file:
        file.write('{"id": "x"}\n')
    with pytest.raises(DatasetError, match="line 2"):
        list(read_rows(tmp_path))
    with pytest.raises(DatasetError, match="error class"):
        Row("a", "t", 0, 0, "train", "g", "i", History(), Proposal(()), bad=True)


def test_it_tells_hits_from_misses_and_from_other_buttons(critic: EmbeddedCritic) -> None:
    seen, (x, y) = Observation(GOAL, form()), middle(SUBMIT)
    hit, miss, other = (
        critic.judge(seen, one, History()) for one in (at(x + 5, y), at(x + 120, y), at(*middle(CANCEL)))
    )
    assert hit.p_bad < 0.3 < 0.7 < min(miss.p_bad, other.p_bad)
    assert miss.error is ErrorClass.GROUNDING and other.error is ErrorClass.SEMANTIC
    assert 0 < critic.model.threshold(0.05).value < 1 and critic.model.threshold(0.05).n_good == 80


def test_it_describes_what_it_sees(critic: EmbeddedCritic) -> None:
    judgement = critic.judge(Observation(GOAL, form()), at(*middle(CANCEL)), History())
    assert "Under the mark is a button that says 'Cancel'." in judgement.explanation
    assert "stated intent are closer to a button that says 'Submit'" in judgement.explanation
    assert "should" not in judgement.explanation and "try" not in judgement.explanation
    assert "crop" in judgement.images and judgement.evidence["at.intent_quoted"] < 0.6
    secret = Proposal((Action(Kind.TYPE, text="hunter2-Xq"),))
    assert "hunter2" not in critic.judge(Observation(GOAL, form()), secret, History()).explanation


def test_pictures_are_drawn_once_and_only_if_looked_at() -> None:
    drawn: list[str] = []

    def draw() -> dict[str, np.ndarray]:
        drawn.append("screen")
        return {"screen": form()}

    judgement = sound(Judgement(0.5, None, "", images=Pictures(draw)))
    assert not drawn
    assert list(judgement.images) == ["screen"] and np.array_equal(judgement.images["screen"], form())
    assert len(drawn) == 1


def test_it_judges_without_an_intent_and_what_cannot_be_read(critic: EmbeddedCritic) -> None:
    seen = Observation(GOAL, form())
    silent = critic.judge(seen, at(*middle(SUBMIT), intent=None), History())
    assert 0 <= silent.p_bad < 0.5
    for proposal in (Proposal((), fault="no JSON in it"), Proposal(()), at(float("nan"), 5), at(5, float("inf"))):
        broken = critic.judge(seen, proposal, History())
        assert broken.p_bad > 0.9 and broken.error is ErrorClass.FORMULATION
    # Sound, but of a kind that there is no action for: not the agent's doing.
    assert critic.judge(seen, Proposal((), fault=f"{Reason.UNSUPPORTED}: key_down"), History()).p_bad < 0.5


def test_the_rules_alone() -> None:
    seen = Observation(GOAL, form())
    fine, out = (RulesCritic().judge(seen, one, History()) for one in (at(*middle(SUBMIT)), at(5000, 5)))
    assert fine.p_bad < 0.5 < out.p_bad and out.error is ErrorClass.FORMULATION


def test_training_twice_gives_the_same_model(folder: Path) -> None:
    shown = describe(folder, list(read_rows(folder))[::4])
    one, two = (train(shown, seed=3, effort=QUICK) for _ in range(2))
    assert np.array_equal(one.scores(shown.table), two.scores(shown.table)) and one.stated == two.stated


def test_files_that_are_no_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadCriticModel, match="train one"):
        CriticModel.load(tmp_path / "absent.npz")
    (tmp_path / "broken.npz").write_bytes(b"PK not really")
    np.savez(tmp_path / "other.npz", head=np.zeros(3))
    for name in ("broken.npz", "other.npz"):
        with pytest.raises(BadCriticModel, match="no critic's model"):
            CriticModel.load(tmp_path / name)
    with pytest.raises(BadCriticModel, match="no threshold"):
        CriticModel((), (), {}).threshold(0.02)


def test_what_nobody_did_in_training_is_not_doubted(critic: EmbeddedCritic) -> None:
    assert "key.left" in critic.model.unseen and "is_drag" in critic.model.unseen
    assert CriticModel.load().unseen != critic.model.unseen  # the shipped one has seen more
    seen = Observation(GOAL, form())
    for keys in (("left",), ("ctrl", "c")):
        assert critic.judge(seen, Proposal((Action(Kind.KEY, keys=keys),), "press it"), History()).p_bad <= 0.6
    names, table = ("is_drag", "key.left", "steps"), np.array([[1.0, np.nan, 3.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert never_done(names, table[:1]) == ("key.left",)
    assert humbled(np.array([3.0, 3.0, 3.0]), names, table, ("key.left",)).tolist() == [3.0, 0.0, 3.0]
    assert humbled(np.array([-2.0]), names, table[1:2], ("key.left",)).tolist() == [-2.0]


def test_chances_rise_with_the_score() -> None:
    p = Chances(0.8, 1.2, -0.3).apply(np.linspace(-40, 40, 200))
    assert (np.diff(p) >= 0).all() and 0 <= p[0] < 1e-6 and 1 - 1e-6 < p[-1] <= 1


def test_variants_of_a_task_are_one_family() -> None:
    assert family("click-tab-2-easy") == family("click-tab-2-hard") == "click-tab" != family("click-test")
