"""Real applications as the yardstick of the GUI guard: installed, started on loopback, walked through, and labelled.

    python -m benchmarks.apps.install FOLDER                  # applications into FOLDER
    python -m benchmarks.apps.collect FOLDER DATA             # labelled proposals into DATA/dev and DATA/heldout
    python -m benchmarks.apps.check DATA                      # validates them; writes results/apps_data.json
    python -m benchmarks.apps.evaluate DATA/dev               # the critic on them; writes results/apps_evaluation.json

The applications are divided into development and held-out ones by a draw that was made before any of them was started
(`split`). Held-out applications are validated by `check` alone: nobody looks at their screens or proposals.
"""
