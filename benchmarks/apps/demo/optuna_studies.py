"""Writes studies with trials. `python optuna_studies.py FILE`"""

import sys

import optuna


def main(path: str) -> None:
    for number, name in enumerate(("pruning plan", "watering times", "jam recipe")):
        sampler = optuna.samplers.RandomSampler(seed=number)
        study = optuna.create_study(storage=f"sqlite:///{path}", study_name=name, sampler=sampler)
        study.optimize(lambda t: t.suggest_float("x", -3, 3) ** 2 + t.suggest_int("n", 1, 9), n_trials=12)


if __name__ == "__main__":
    main(sys.argv[1])
