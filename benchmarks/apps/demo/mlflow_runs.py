"""Writes experiments with runs. `python mlflow_runs.py FOLDER`"""

import random
import sys

import mlflow


def main(folder: str) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.sqlite")
    rng = random.Random(5)
    for experiment in ("harvest forecast", "frost warning", "leaf disease"):
        found = mlflow.create_experiment(experiment, artifact_location=f"{folder}/artifacts")
        for model in ("linear", "forest", "boosting", "network"):
            with mlflow.start_run(experiment_id=found, run_name=f"{model} {rng.randrange(100)}"):
                mlflow.log_params({"model": model, "depth": rng.randrange(2, 9), "rate": rng.choice((0.1, 0.01))})
                for step in range(4):
                    mlflow.log_metric("error", 1.0 / (step + 1.0 + rng.random()), step=step)
                mlflow.log_metric("accuracy", rng.uniform(0.7, 0.95))


if __name__ == "__main__":
    main(sys.argv[1])
